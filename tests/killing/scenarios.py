"""The worlds in which processes are killed, by name."""

from __future__ import annotations

from tests.killing.worlds import (
    CHECKED,
    CONFIDENT,
    PRIVATE_ROUNDS,
    SEVERAL,
    Scenario,
    furnish_run,
    furnish_votes,
    groups_of,
    run_in,
    vote_on,
)

GROUPS = "groups = { few = 3.0, many = 5.0 }"
ONE_BY_ONE = '[individual]\nmethod = "{}"\ncolumn = "who"'
LABEL_BITS = 'mechanism = "binary"\nsigma = 14.0\nthreshold = 4.0\nsigma_threshold = 16.0'

_CLASSES = ("--classes", "3")
# One budget ends inside the pool, the other does not: then the worst case is what is printed.
_BUDGET, _PLENTY = ("--epsilon", "5"), ("--epsilon", "30")

_ALL = (
    Scenario(
        "vote-strict",
        furnish_votes,
        (vote_on("votes.npy", 160, *CONFIDENT, *_CLASSES, *_BUDGET),),
    ),
    Scenario(
        "vote-fixed",
        furnish_votes,
        (
            vote_on(
                "votes.npy", 60, "-m", "gnmax", "--sigma", "9", *_CLASSES,
                "--mode", "fixed", "--queries", "60",
            ),
        ),
    ),
    Scenario(
        "vote-weighting",
        furnish_votes,
        (vote_on("votes.npy", 160, *CONFIDENT, *_CLASSES, *groups_of("weighting")),),
    ),
    Scenario(
        "vote-vanishing",
        furnish_votes,
        (vote_on("votes.npy", 160, *CONFIDENT, *_CLASSES, *groups_of("vanishing")),),
    ),
    Scenario(
        "vote-binary",
        furnish_votes,
        (
            vote_on(
                "labels.npy", 60, "-m", "binary", "--sigma", "14", "--threshold", "4",
                "--sigma-threshold", "16", *_PLENTY,
            ),
        ),
    ),
    Scenario(
        "vote-powerset",
        furnish_votes,
        (vote_on("labels.npy", 60, "-m", "powerset", "--tau", "2", "--sigma", "9", *_BUDGET),),
    ),
    Scenario(
        "vote-two-at-once",
        furnish_votes,
        (
            vote_on("votes.npy", 160, *CONFIDENT, *_CLASSES, *_BUDGET),
            vote_on("votes.npy", 160, *CONFIDENT, *_CLASSES, *_BUDGET, out="others"),
        ),
    ),
    Scenario("run-strict", furnish_run(budget="epsilon = 30.0"), (run_in(),)),
    Scenario(
        "run-fixed",
        furnish_run(voting='mechanism = "gnmax"\nsigma = 9.0', budget='mode = "fixed"'),
        (run_in(),),
    ),
    Scenario(
        "run-weighting",
        furnish_run(budget=GROUPS, more=ONE_BY_ONE.format("weighting")),
        (run_in(),),
    ),
    Scenario(
        "run-vanishing",
        furnish_run(budget=GROUPS, more=ONE_BY_ONE.format("vanishing")),
        (run_in(),),
    ),
    Scenario("run-labels", furnish_run(target=SEVERAL, voting=LABEL_BITS), (run_in(),)),
    Scenario(
        "run-rounds",
        furnish_run(
            teacher="neural-network",
            options='{ network = "linear" }',
            voting=CHECKED,
            more=PRIVATE_ROUNDS,
        ),
        (run_in(),),
    ),
    # Two runs deal the records anew: two ensembles, whose costs add up.
    Scenario("run-two-at-once", furnish_run(budget="epsilon = 8.0"), (run_in(), run_in("other"))),
)  # fmt: skip

SCENARIOS = {scenario.name: scenario for scenario in _ALL}
