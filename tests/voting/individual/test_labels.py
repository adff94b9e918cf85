"""Several labels and individual budgets: no record pays more than its group is charged.

The oracle clips, weighs and counts ballots on its own and knows the law of all answers. The
teachers of one record cast every combination of ballots, those of the others random ones.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import norm

from ballotine.errors import DataError, ParameterError
from ballotine.ledger.charge import cost_of
from ballotine.oracle import gaussian
from ballotine.privacy.events import (
    LabelBits,
    LabelChecks,
    WeightedLabelBits,
    WeightedLabelChecks,
    from_json,
)
from ballotine.privacy.reach import Reach
from ballotine.voting import BinaryVoting, ClippedVoting, Dependencies, Mechanism, PowersetVoting
from ballotine.voting.individual import (
    GroupPlan,
    Plan,
    Scheme,
    Upsampling,
    Vanishing,
    Weighting,
    group_costs,
)
from ballotine.voting.multilabel.label_voting import LabelVoting
from tests.privacy.ballot_oracle import ballots as every_ballot
from tests.privacy.ballot_oracle import clip, divergence, margin, output_law

Array = npt.NDArray[np.float64]
ORDERS = np.array([1.5, 4.0, 16.0])
BUDGETS = {"strict": 1.0, "mild": 2.0, "easy": 3.0}
RECORDS = {"strict": 50, "mild": 40, "easy": 30}
LABELS, TEACHERS = 2, 12
SCHEMES = [
    Upsampling(BUDGETS, rule="proportional"),
    Weighting(BUDGETS),
    Weighting(BUDGETS, "proportional"),
    Vanishing(BUDGETS, "quadratic"),
]
VOTING = [
    BinaryVoting(5.0),
    BinaryVoting(7.0, variant="one-against-complement"),
    BinaryVoting(4.0, variant="one-against-half"),
    ClippedVoting(5.0, 1.2),
    ClippedVoting(5.0, 0.8, "l1"),
]
CHECKED = [
    BinaryVoting(5.0, 8.0, 6.0),
    ClippedVoting(5.0, 1.2, threshold=8.0, sigma_threshold=6.0),
    BinaryVoting(5.0, 8.0, 6.0, dependencies=Dependencies((None, 0))),
]


def planned(scheme: Scheme, mechanism: Mechanism) -> Plan:
    return scheme.plan(RECORDS, TEACHERS, mechanism, LABELS, 1e-5)


def voters(plan: Plan, group: GroupPlan) -> tuple[list[int], Array]:
    """The teachers of one record of the group, and what all teachers weigh on the first query."""
    weights = np.zeros(plan.teachers)
    for each in plan.groups:
        weights[list(each.teachers)[: each.voters]] = each.reach.weight
    return list(group.teachers[: group.reach.teachers]), weights


def situations(plan: Plan, group: GroupPlan, tau: float | None, name: Any) -> list[Array]:
    """Counts of both labels, one row for each combination of ballots of one record's teachers."""
    draw = np.random.default_rng(8)
    own, weights = voters(plan, group)
    rest = [teacher for teacher in range(plan.teachers) if teacher not in own]
    single = every_ballot(LABELS, tau, name)
    moves = np.array([sum(some) for some in itertools.product(single, repeat=len(own))])
    found = []
    for _ in range(150):
        cast = draw.random((len(rest), LABELS)) < draw.random(LABELS)
        base = sum(w * clip(b, tau, name) for w, b in zip(weights[rest], cast, strict=True))
        found.append(base + group.reach.weight * moves)
    return found


def worst(laws: list[Array]) -> Array:
    """The largest divergence between any two laws of one situation, at each order."""
    each = [divergence(p[:, None], p[None, :], ORDERS).max(axis=(1, 2)) for p in laws]
    return np.max(each, axis=0)


def checks_law(counts: Array, votes: float, mechanism: LabelVoting) -> Array:
    """Log-probabilities of which labels pass their check."""
    assert mechanism.check is not None
    larger = np.maximum(counts, votes - counts)
    return output_law((larger - mechanism.check.threshold) / mechanism.check.sigma)


def whole_law(counts: Array, votes: float, mechanism: LabelVoting) -> Array:
    """Log-probabilities of all answers: each label abstains, is absent, or is present."""
    assert mechanism.check is not None
    position = margin(counts, votes, mechanism.sigma, mechanism.variant)
    check = (np.maximum(counts, votes - counts) - mechanism.check.threshold) / mechanism.check.sigma
    passes = norm.logcdf(check)
    each = [norm.logsf(check), passes + norm.logsf(position), passes + norm.logcdf(position)]
    laws: dict[tuple[int, ...], Any] = {}
    for said in itertools.product((-1, 0, 1), repeat=LABELS):
        log_p = sum(each[mark + 1][:, label] for label, mark in enumerate(said))
        answer = said
        if mechanism.dependencies is not None:
            answer = tuple(mechanism.dependencies.infer(np.array([said]))[0].tolist())
        laws[answer] = np.logaddexp(laws.get(answer, -np.inf), log_p)
    return np.stack(list(laws.values()), axis=-1)


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@pytest.mark.parametrize("mechanism", VOTING, ids=lambda m: m.describe()[:90])
def test_bits_are_charged_what_they_cost_and_not_much_more(
    mechanism: LabelVoting, scheme: Scheme
) -> None:
    plan = planned(scheme, mechanism)
    answering = plan.mechanism
    assert isinstance(answering, LabelVoting)
    tau, name = answering.clipping.tau, answering.clipping.norm
    shares = dict(plan.charge(LABELS).by_group)
    for group in plan.groups:
        truth = worst(
            [
                output_law(margin(counts, plan.votes, answering.sigma, answering.variant))
                for counts in situations(plan, group, tau, name)
            ]
        )
        charged = cost_of(shares[group.name].events, ORDERS)
        assert np.all(truth <= charged * (1 + 1e-9))
        assert np.any(truth > 0.95 * charged), "a charge that is 5 % smaller would be false"


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@pytest.mark.parametrize("mechanism", CHECKED, ids=lambda m: m.describe()[:90])
def test_checks_are_charged_what_they_cost(mechanism: LabelVoting, scheme: Scheme) -> None:
    plan = planned(scheme, mechanism)
    answering = plan.mechanism
    assert isinstance(answering, LabelVoting)
    tau, name = answering.clipping.tau, answering.clipping.norm
    shares = dict(plan.charge(LABELS).by_group)
    for group in plan.groups:
        checks, bits = shares[group.name].events
        counted = situations(plan, group, tau, name)
        passed = worst([checks_law(counts, plan.votes, answering) for counts in counted])
        assert np.all(passed <= checks.cost(ORDERS) * (1 + 1e-9))
        assert np.any(passed > 0.95 * checks.cost(ORDERS))
        told = worst([whole_law(counts, plan.votes, answering) for counts in counted])
        assert np.all(told <= cost_of((checks, bits), ORDERS) * (1 + 1e-9))
        assert np.any(told > bits.cost(ORDERS) * 0.5)


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
def test_sets_of_labels_are_charged_what_they_cost(scheme: Scheme) -> None:
    plan = planned(scheme, PowersetVoting(3.0))
    shares, sets = dict(plan.charge(LABELS).by_group), 2**LABELS
    draw = np.random.default_rng(5)
    for group in plan.groups:
        own, weights = voters(plan, group)
        moves = [
            np.bincount(some, minlength=sets)
            for some in itertools.combinations_with_replacement(range(sets), len(own))
        ]
        laws = []
        for _ in range(20):
            cast = draw.choice(sets, plan.teachers, p=draw.dirichlet(np.ones(sets)))
            weights[own] = 0.0
            base = np.bincount(cast, weights, minlength=sets)
            counts = [tuple((base + group.reach.weight * move).tolist()) for move in moves]
            sigma = plan.mechanism.sigma  # type: ignore[attr-defined]
            laws.append(np.array([gaussian.argmax_law(one, sigma) for one in counts]))
        truth, charged = worst(laws), cost_of(shares[group.name].events, ORDERS)
        assert np.all(truth <= charged * (1 + 1e-9))
        assert np.any(truth > 0.5 * charged)


@pytest.mark.parametrize("scheme", SCHEMES[1:], ids=repr)
def test_exact_costs_of_sets_hold_for_every_group(scheme: Scheme) -> None:
    plan, sets = planned(scheme, PowersetVoting(3.0)), 2**LABELS
    draw, turns = np.random.default_rng(6), np.zeros(1, dtype=np.int64)
    for _ in range(12):
        cast = (draw.random((1, plan.teachers, LABELS)) < draw.random(LABELS)).astype(np.int64)
        numbers = cast[0] @ 2 ** np.arange(LABELS)
        tallies = plan.tally(cast, LABELS, turns)
        answers = np.ones((1, LABELS), dtype=np.int64)
        claims = group_costs(plan, tallies, answers, ORDERS, "exact", turns)
        for group in plan.groups:
            (own,), weights = voters(plan, group)
            laws = []
            for other in (int(numbers[own]), *range(sets)):
                changed = np.where(np.arange(plan.teachers) == own, other, numbers)
                counts = np.bincount(changed, weights, minlength=sets)
                laws.append(gaussian.argmax_law(tuple(counts.tolist()), 3.0))
            law = np.array(laws)
            there, back = divergence(law[:1], law, ORDERS), divergence(law, law[:1], ORDERS)
            truth = np.maximum(there, back).max(axis=1)
            claimed = claims[group.name].unlock(reason="test")[0]
            assert np.all(truth <= claimed * (1 + 1e-9) + 1e-12)


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@pytest.mark.parametrize(
    "mechanism", [VOTING[0], VOTING[3], CHECKED[0], CHECKED[1]], ids=lambda m: m.describe()[:90]
)
def test_data_dependent_costs_hold_for_every_group(mechanism: LabelVoting, scheme: Scheme) -> None:
    """Of one random query at a time, whose actual ballots are one of the two neighbours."""
    plan = planned(scheme, mechanism)
    answering = plan.mechanism
    assert isinstance(answering, LabelVoting)
    tau, name = answering.clipping.tau, answering.clipping.norm
    single = every_ballot(LABELS, tau, name)
    draw = np.random.default_rng(2)
    for _ in range(12):
        cast = (draw.random((1, plan.teachers, LABELS)) < draw.random(LABELS)).astype(np.int64)
        tallies = plan.tally(cast, LABELS, np.zeros(1, dtype=np.int64))
        answers = np.ones((1, LABELS), dtype=np.int64)
        claims = [group_costs(plan, tallies, answers, ORDERS, "published", np.zeros(1, np.int64))]
        if not isinstance(scheme, Upsampling):
            claims.append(
                group_costs(plan, tallies, answers, ORDERS, "exact", np.zeros(1, np.int64))
            )
        for group in plan.groups:
            own, weights = voters(plan, group)
            before = sum(w * clip(b, tau, name) for w, b in zip(weights, cast[0], strict=True))
            actual = sum(clip(cast[0, teacher], tau, name) for teacher in own)
            moves = np.array([sum(some) for some in itertools.product(single, repeat=len(own))])
            after = before + group.reach.weight * (moves - actual)
            counts = np.vstack((before, after))
            law = (
                output_law(margin(counts, plan.votes, answering.sigma, answering.variant))
                if answering.check is None
                else whole_law(counts, plan.votes, answering)
            )
            there, back = divergence(law[:1], law, ORDERS), divergence(law, law[:1], ORDERS)
            truth = np.maximum(there, back).max(axis=1)
            for claim in claims:
                claimed = claim[group.name].unlock(reason="test")[0]
                assert np.all(truth <= claimed * (1 + 1e-9) + 1e-12)


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@pytest.mark.parametrize("mechanism", [VOTING[0], VOTING[3], VOTING[4]], ids=lambda m: m.name)
def test_ballots_are_clipped_weighed_and_counted(scheme: Scheme, mechanism: LabelVoting) -> None:
    plan = planned(scheme, mechanism)
    draw, queries = np.random.default_rng(3), 9
    cast = (draw.random((queries, plan.teachers, LABELS)) < 0.5).astype(np.uint8)
    turns = np.arange(queries)
    found: Any = plan.tally(cast, LABELS, turns)  # type: ignore[arg-type]
    assert found.teachers == pytest.approx(plan.votes)
    clipping, expected = mechanism.clipping, np.zeros((queries, LABELS))
    for teachers in {group.teachers for group in plan.groups}:  # with upsampling, all together
        group = next(each for each in plan.groups if each.teachers == teachers)
        votes = plan.votes_at(group.name, turns, queries)
        for query, place in zip(*np.nonzero(votes), strict=True):
            one = clip(cast[query, teachers[place]], clipping.tau, clipping.norm)
            expected[query] += group.reach.weight * one
    assert found.unlock(reason="test") == pytest.approx(expected)


def test_sets_are_weighed_and_counted() -> None:
    plan = planned(Weighting(BUDGETS), PowersetVoting(3.0, tau=1))
    cast = (np.random.default_rng(1).random((7, TEACHERS, 3)) < 0.4).astype(np.int64)
    tallies: Any = plan.tally(cast, 3)
    counts, sets = tallies.unlock(reason="test"), tallies.unlock_sets(reason="test")
    for query in range(7):
        expected: Counter[tuple[int, ...]] = Counter()
        for group in plan.groups:
            for teacher in group.teachers:
                named = np.flatnonzero(cast[query, teacher])[:1].tolist()
                expected[tuple(named)] += group.reach.weight  # type: ignore[assignment]
        listed = {
            tuple(np.flatnonzero(np.unpackbits(one, count=3)).tolist()): count
            for one, count in zip(sets[query], counts[query], strict=True)
            if count > 0
        }
        assert listed == pytest.approx(dict(expected))


def test_teachers_that_sit_out_are_not_listed() -> None:
    plan = planned(Vanishing(BUDGETS, "quartic"), PowersetVoting(3.0))
    cast = np.zeros((1, TEACHERS, 2), dtype=np.int64)
    votes = plan.votes_at("strict", np.zeros(1, np.int64), 1)[0]
    silent = [
        t for t, voting in zip(plan.group("strict").teachers, votes, strict=True) if not voting
    ]
    cast[0, silent] = 1
    tallies = plan.tally(cast, 2, np.zeros(1, np.int64))
    assert sorted(tallies.unlock(reason="test")[0].tolist())[-2:] == [0.0, float(plan.voters)]


def test_events_say_how_far_a_record_reaches() -> None:
    mechanism = ClippedVoting(4.0, 1.2, threshold=5.0, sigma_threshold=6.0)
    assert mechanism.events(3) == (
        LabelChecks(6.0, 3, 1.2),
        LabelBits(4.0, 3, 1.2),
    )
    heavy = mechanism.events(3, Reach(1.5, 2))
    assert heavy == (
        WeightedLabelChecks(6.0, 3, 1.2, sensitivity=3.0),
        WeightedLabelBits(4.0, 3, 1.2, sensitivity=3.0),
    )
    for event in heavy:
        assert from_json(event.to_json()) == event
    for some, plain in zip(heavy, mechanism.events(3), strict=True):
        assert some.covers(type(some)(**{**vars(some), "labels": 2}))
        assert not some.covers(plain)
        assert not plain.covers(some)
        louder = type(plain)(**{**vars(plain), "sigma": plain.sigma / 3.0})  # type: ignore[attr-defined]
        assert some.cost(ORDERS) == pytest.approx(louder.cost(ORDERS), rel=1e-6)
    answers = np.array([[1, -1, 0], [-1, -1, -1]])
    assert mechanism.realised(answers, 3, Reach(1.5, 2)) == {
        heavy[0]: 2,
        WeightedLabelBits(4.0, 2, 1.2, sensitivity=3.0): 1,
    }
    tight = mechanism.costs(
        mechanism.tally(np.ones((2, 4, 3), dtype=np.int64), 3), answers, ORDERS, "tight", Reach(3.0)
    ).unlock(reason="test")
    assert tight[1] == pytest.approx(heavy[0].cost(ORDERS))
    for sensitivity in (0.0, -1.0, float("nan")):
        with pytest.raises(ParameterError):
            WeightedLabelBits(4.0, 3, sensitivity=sensitivity)
        with pytest.raises(ParameterError):
            WeightedLabelChecks(4.0, 3, sensitivity=sensitivity)


def test_what_has_no_cost_is_refused() -> None:
    binary, powerset = BinaryVoting(4.0), PowersetVoting(4.0)
    cast, answers = np.ones((1, 4, 2), dtype=np.int64), np.ones((1, 2), dtype=np.int64)
    for mechanism, bounds, reach in (
        (binary, "exact", Reach(teachers=2)),
        (powerset, "exact", Reach(teachers=2)),
        (powerset, "published", Reach(2.0)),
    ):
        with pytest.raises(ParameterError, match="tight"):
            mechanism.costs(mechanism.tally(cast, 2), answers, ORDERS, bounds, reach)  # type: ignore[arg-type]
    plan = planned(Weighting(BUDGETS), binary)
    for wrong in (cast[:, :, 0], np.full((1, TEACHERS, LABELS), 2), np.ones((1, TEACHERS, 3), int)):
        with pytest.raises(DataError):
            plan.tally(wrong, LABELS)
