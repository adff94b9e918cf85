"""Tables 6, 10 and 11: what happens when budgets depend on the class (Adult, upsampling).

Only records of the rare class (high income) may have the higher budget. They are then taught
more often, so teachers see more of them, and answers and student lean towards their class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import log

import numpy as np

from ballotine.models import seeded_clone
from ballotine.types import IntArray
from ballotine.voting.individual import Plan, Upsampling
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.individualized import sets
from ballotine_reproduction.individualized.accounting import WAYS
from ballotine_reproduction.individualized.ballots import cast_ballots
from ballotine_reproduction.individualized.elections import DELTA, GroupElection
from ballotine_reproduction.individualized.reported import BIAS_SHARES, HIGHER, LOW, Split
from ballotine_reproduction.individualized.sets import QUICK_SEEDS, TEACHERS, SplitSet
from ballotine_reproduction.individualized.tallied import VOTINGS, votings_of
from ballotine_reproduction.teaching import Ballots

ASKED = 3000
RARE = 1
ByClass = tuple[float, float]


@dataclass
class Measured:
    """The results of one budget split, seed by seed.

    Attributes:
        teachers: mean accuracy of the teachers on test rows of each class.
        votes: accuracy of the released labels of each class, by way of counting.
        students: accuracy of the student on test rows of each class, by way of counting.
        labels: how many labels, by way of counting.
    """

    teachers: list[ByClass] = field(default_factory=list)
    votes: dict[str, list[ByClass]] = field(default_factory=lambda: {way: [] for way in WAYS})
    students: dict[str, list[ByClass]] = field(default_factory=lambda: {way: [] for way in WAYS})
    labels: dict[str, list[float]] = field(default_factory=lambda: {way: [] for way in WAYS})


@dataclass(frozen=True, eq=False)
class SplitPanel:
    """Teachers of one split and seed: their plan, and their ballots on public and test rows."""

    pool: SplitSet
    plan: Plan
    public: IntArray
    test: IntArray
    on_public: Ballots
    on_test: Ballots


def measure(
    setting: Setting, students: bool = False
) -> tuple[SplitSet, dict[Split | None, Measured]]:
    """Measure every split of the tables; None is the baseline without higher budgets."""
    pool = sets.adult(setting)
    shares = BIAS_SHARES[1::2] if setting.quick else BIAS_SHARES
    higher = HIGHER[1:2] if setting.quick else HIGHER
    splits: list[Split | None] = [None, *((high, share) for high in higher for share in shares)]
    found: dict[Split | None, Measured] = {split: Measured() for split in splits}
    for seed in setting.seed_range(QUICK_SEEDS):
        for split in splits:
            panel = _panel(setting, pool, split, seed)
            _add(found[split], panel, seed, votings_of(setting), students)
    return pool, found


def groups_of(y: IntArray, share: int, seed: int) -> IntArray:
    """1 for ``share`` percent of the rare class's records, chosen at random; 0 for all others."""
    rare = np.flatnonzero(y == RARE)
    chosen = np.random.default_rng([seed, 5]).permutation(rare)[: round(share * rare.size / 100)]
    groups = np.zeros(len(y), dtype=np.int64)
    groups[chosen] = 1
    return groups


def by_class(guesses: IntArray | Ballots, truth: IntArray) -> ByClass:
    """Accuracy on each of the two classes, in percent; NaN for one without rows."""
    right = np.asarray(guesses) == (truth[:, None] if np.ndim(guesses) == 2 else truth)
    low, high = (
        float(100 * right[truth == label].mean()) if np.any(truth == label) else float("nan")
        for label in (0, RARE)
    )
    return low, high


def _panel(setting: Setting, pool: SplitSet, split: Split | None, seed: int) -> SplitPanel:
    private, public, test = pool.split(seed)
    public = public[:ASKED]
    if split is None:
        groups, budgets = np.zeros(private.size, dtype=np.int64), {"low": LOW}
    else:
        high, share = split
        groups = groups_of(pool.y[private], share, seed)
        budgets = {"low": LOW, "high": log(high)}
    records = {name: int((groups == number).sum()) for number, name in enumerate(budgets)}
    scheme = Upsampling(budgets, rule="proportional")
    plan = scheme.plan(records, TEACHERS, pool.mechanism, pool.classes, DELTA)
    deal = plan.deal(groups, f"{split} {seed}".encode())
    shares = [private[share] for share in deal.shares]
    ballots = cast_ballots(setting, pool, shares, np.concatenate([public, test]), seed)
    return SplitPanel(pool, plan, public, test, ballots[: public.size], ballots[public.size :])


def _add(found: Measured, panel: SplitPanel, seed: int, votings: int, students: bool) -> None:
    found.teachers.append(by_class(panel.on_test, panel.pool.y[panel.test]))
    labels: dict[str, list[int]] = {way: [] for way in WAYS}
    votes: dict[str, list[ByClass]] = {way: [] for way in WAYS}
    grades: dict[str, list[ByClass]] = {way: [] for way in WAYS}
    for voting in range(votings):
        for way, rows, answers in _labelled(panel, VOTINGS * seed + voting, voting == 0):
            labels[way].append(rows.size)
            votes[way].append(by_class(answers, panel.pool.y[rows]))
            if students:
                grades[way].append(_grade(panel, rows, answers, seed))
    for way in WAYS:
        found.labels[way].append(float(np.mean(labels[way])))
        found.votes[way].append(_mean(votes[way]))
        if students:
            found.students[way].append(_mean(grades[way]))


def _labelled(panel: SplitPanel, own: int, exact: bool) -> Iterator[tuple[str, IntArray, IntArray]]:
    """The rows that get a label, and their labels, for each way of counting."""
    order = np.random.default_rng([own, 4]).permutation(panel.public.size)
    tallies = panel.plan.tally(panel.on_public[order].astype(np.int64), panel.pool.classes)
    election = GroupElection(panel.plan, tallies)
    answers = election.answers(own)
    for way, count in WAYS.items():
        if way == "fixed" and not exact:
            continue
        used = np.flatnonzero(answers[: count(election, answers).queries] >= 0)
        yield way, panel.public[order[used]], answers[used]


def _grade(panel: SplitPanel, rows: IntArray, labels: IntArray, seed: int) -> ByClass:
    """The accuracy by class of a student that learns these labels."""
    pool = panel.pool
    if rows.size == 0:
        return float("nan"), float("nan")
    student = seeded_clone(pool.estimator, seed).fit(pool.X[rows], labels)
    return by_class(student.predict(pool.X[panel.test]), pool.y[panel.test])


def _mean(values: list[ByClass]) -> ByClass:
    """The mean of each class over the votings that had rows of it."""
    low, high = (
        float(np.mean(known))
        if (known := [v[label] for v in values if v[label] == v[label]])
        else float("nan")
        for label in (0, RARE)
    )
    return low, high
