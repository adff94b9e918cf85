"""Every experiment of the multi-winner paper, in its quick form on made-up records."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from ballotine.metrics import MultiLabelScores
from ballotine.privacy import conversion
from ballotine.voting.multilabel.ballots import UNCLIPPED, LabelTallies
from ballotine.voting.multilabel.binary import BinaryVoting
from ballotine_reproduction import find
from ballotine_reproduction.experiment import Experiment, Setting
from ballotine_reproduction.multiwinner import EXPERIMENTS, dependencies
from ballotine_reproduction.multiwinner.accounts import (
    LOSS,
    SIGMAS,
    binary,
    largest_noise,
    mean_scores,
)
from ballotine_reproduction.multiwinner.affordable import ORDERS, repeatable
from ballotine_reproduction.multiwinner.elections import LabelElection, elections
from ballotine_reproduction.multiwinner.sets import MADE_UP, Family
from ballotine_reproduction.multiwinner.votes import worst_cost

NAMES = {f"table{n}" for n in (4, 5, 6, 8, 10)} | {f"figure{n}" for n in (1, 3, 4, *range(7, 16))}


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Setting:
    return Setting(quick=True, cache=tmp_path_factory.mktemp("votes"))


@pytest.fixture(scope="module")
def held(setting: Setting) -> list[LabelElection]:
    return elections(MADE_UP, setting)


def number(cell: object) -> float:
    found = re.match(r"[\d.]+", str(cell))
    assert found is not None
    return float(found[0])


def test_every_table_and_figure_has_a_command() -> None:
    assert {experiment.name for experiment in EXPERIMENTS} == NAMES | {"answered"}
    assert {experiment.paper for experiment in EXPERIMENTS} == {"multiwinner"}


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_every_experiment_runs(experiment: Experiment, setting: Setting) -> None:
    table = experiment.run(setting)
    assert table.rows
    facts = json.loads(json.dumps(table.to_dict(), allow_nan=False))
    if experiment.name not in {"figure3", "figure4"}:
        assert "mean little" in facts["notes"][0]
    if experiment.name.startswith("figure"):
        assert table.figures
    for figure in table.figures.values():
        assert any(np.isfinite(np.asarray(line.y, dtype=float)).any() for line in figure.data)
    for row in facts["rows"]:
        if "strict" in row and "fixed" in row:
            # Exact costs never exceed the data-independent ones.
            assert number(row["strict"]) <= number(row["fixed"]) + 1
    if "strict" in table.columns:
        assert any(
            note.startswith("strict:") and "may use and print" in note for note in table.notes
        )


def test_agreeing_teachers_favour_binary_voting(setting: Setting) -> None:
    rows = {row[:2]: row for row in find("multiwinner", "figure4").run(setting).rows}
    # With equal gaps, Powerset voting pays for all the other sets: the paper's observation.
    assert number(rows[20, "Powerset"][2]) < number(rows[20, "Binary"][2])


def test_random_labels_favour_powerset_voting(setting: Setting) -> None:
    rows = {row[:2]: row for row in find("multiwinner", "figure3").run(setting).rows}
    for column in (2, 3, 4):
        assert number(rows[20, "Powerset"][column]) > number(rows[20, "Binary"][column])
    # The paper's account of random votes is its data-independent claim.
    assert number(rows[20, "Binary"][2]) == 12


def lowered(scores: MultiLabelScores, loss: float) -> MultiLabelScores:
    return MultiLabelScores(
        scores.acc - loss, scores.bac - loss, scores.auc - loss, scores.map - loss
    )


@pytest.mark.parametrize("loss", [0.0, 0.1])
def test_the_noise_found_is_the_largest_that_keeps_to_the_target(
    held: list[LabelElection], loss: float
) -> None:
    votes = [binary(election) for election in held]
    target = lowered(mean_scores(held, votes, None), loss)
    enough = lowered(target, LOSS)
    good = []
    for sigma in SIGMAS:
        reached = mean_scores(held, votes, sigma)
        if all(getattr(reached, name) >= getattr(enough, name) for name in ("acc", "bac", "map")):
            good.append(sigma)
    assert largest_noise(held, votes, target) == max(good)
    # Nothing is good enough for a target above all answers.
    assert largest_noise(held, votes, lowered(target, -1.0)) == SIGMAS[0]


def test_queries_with_dependencies_are_counted_one_by_one(held: list[LabelElection]) -> None:
    (family,) = MADE_UP.families
    chosen = [election.of_labels(family.labels) for election in held]
    saving = dependencies.ways(chosen, family)[-1]
    bit, all_five = (worst_cost(BinaryVoting(dependencies.SIGMA), k) for k in (1, 5))
    best = int(np.argmax(_allowance() / all_five))
    for election, found in zip(chosen, saving.strict, strict=True):
        mechanism = BinaryVoting(dependencies.SIGMA)
        tallies = LabelTallies.from_ballots(election.ballots(), UNCLIPPED)
        roots = mechanism.release(tallies, election.noise())[:, 0]
        left, queries = float(_allowance()[best]), 0
        for root in roots:
            if left < all_five[best] - 1e-12:
                break
            left -= float((all_five if root else bit)[best])
            queries += 1
        assert found == queries


def test_asking_everything_counts_as_planned(held: list[LabelElection]) -> None:
    family = Family(0, (1, 2, 3, 4))
    chosen = [election.of_labels(family.labels) for election in held]
    everything, noisier, _, saving = dependencies.ways(chosen, family)
    mechanism = BinaryVoting(dependencies.SIGMA)
    expected = repeatable(worst_cost(mechanism, 5), dependencies.BUDGET)
    assert set(everything.strict) == {expected}
    assert saving.labels < everything.labels == noisier.labels == 5
    assert min(saving.strict) >= expected
    assert min(noisier.strict) >= np.mean(saving.strict)
    slightly_less = BinaryVoting(noisier.sigma - dependencies.NOISE_STEP)
    assert repeatable(worst_cost(slightly_less, 5), dependencies.BUDGET) < np.mean(saving.strict)


def test_how_far_a_dependency_holds() -> None:
    truth = np.array([[0, 0], [0, 1], [0, 0], [1, 1]])
    election = LabelElection(0, np.zeros((4, 1, 2), dtype=np.float32), truth, ("root", "leaf"))
    said = dependencies.truth(election)
    assert "Where root is absent" in said
    assert "leaf 66.67%" in said
    assert "50%" in said


def _allowance() -> np.ndarray:
    budget = dependencies.BUDGET
    return conversion.allowance(ORDERS, budget.epsilon, budget.delta)
