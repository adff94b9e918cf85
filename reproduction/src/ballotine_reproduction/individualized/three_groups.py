"""Table 1: three groups with ε = 1, 2 and 3 (MNIST)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ballotine.types import FloatArray, IntArray
from ballotine.voting.individual.convert import epsilons
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.individualized import reported, sets
from ballotine_reproduction.individualized.accounting import (
    PAPER_ORDERS,
    Count,
    paper,
    paper_costs,
)
from ballotine_reproduction.individualized.elections import (
    DELTA,
    GroupElection,
    Method,
    SegmentVotes,
    balanced_weighting,
    name_of,
    standard,
    upsampling,
    vanishing,
    weighted,
    weighting,
)
from ballotine_reproduction.individualized.ensembles import Source, fresh_and_saved
from ballotine_reproduction.individualized.layout import THIRDS
from ballotine_reproduction.individualized.tallied import (
    COLUMNS,
    NOTES,
    VOTINGS,
    Tallied,
    votings_of,
)
from ballotine_reproduction.individualized.two_groups import METHOD_NOTES, MNIST_NOTES
from ballotine_reproduction.summary import interval, notes
from ballotine_reproduction.table import Row, Table

SPLITS: dict[str, FloatArray] = {
    "34/43/23": np.array([3.0, 3.0, 2.0, 2.0, 1.0]),
    "54/37/9": np.array([3.0, 2.0, 2.0, 1.0, 1.0]),
}
"""A budget for each segment of `THIRDS`, by the shares of ε = 1, 2 and 3."""

PRINTED_WEIGHTS = "weights of Algorithm 2"
BY_RANK = "the same, charged by rank (false)"
_ALGORITHM_2 = (
    "weights of Algorithm 2: proportional to budget times group size, as printed, mean 1; the "
    "budgets then do not end together"
)
_NO_SVHN = "SVHN, the paper's second half of this table, is not among the named sets"


@dataclass
class ByRank:
    """Labels when the smallest weight is charged to the smallest budget, whoever has it."""

    labels: list[float] = field(default_factory=list)
    strictest: list[float] = field(default_factory=list)

    def add(self, ensemble: SegmentVotes, budgets: FloatArray, seed: int, votings: int) -> None:
        """Vote, and record the ε that the group with ε = 1 has then spent."""
        counts, spent = [], []
        for voting in range(votings):
            own = VOTINGS * seed + voting
            election = printed_weights(ensemble.shuffled(own), budgets)
            answers = election.answers(own)
            count = paper(charged_by_rank(election), answers)
            counts.append(count)
            spent.append(_spent(election, answers, count))
        self.labels.append(float(np.mean([count.labels for count in counts])))
        self.strictest.append(float(np.mean(spent)))


def table1(setting: Setting) -> Table:
    """Labels and their accuracy for three groups on MNIST."""
    pool = sets.mnist(setting)
    found, extra = fresh_and_saved(setting, pool, THIRDS)
    rows: list[Row] = []
    remarks: list[str] = []
    for source in found:
        cells, ranks = _vote(setting, source)
        for (split, name), cell in cells.items():
            rows.append(_row(source.teachers, split, name, cell))
            if name == PRINTED_WEIGHTS:
                labels = interval(ranks[split].labels)
                where = (split, source.teachers, BY_RANK, *_printed(split, "weighting"))
                rows.append((*where[:4], labels, None, None, where[4], None))
                remarks.append(_rank_note(source.teachers, split, ranks[split]))
    columns = (
        "% with ε = 1/2/3",
        "teachers",
        "method",
        *COLUMNS,
        "paper: accuracy",
        "ours: accuracy",
    )
    title = f"Table 1: three groups with ε = 1, 2, 3 ({pool.name})"
    words = notes(pool.notes, NOTES, METHOD_NOTES, (_ALGORITHM_2,), remarks, extra, MNIST_NOTES)
    return Table(title, columns, rows, (*words, _NO_SVHN))


def printed_weights(ensemble: SegmentVotes, budgets: FloatArray) -> GroupElection:
    """Weights proportional to budget times group size, mean 1: Algorithm 2's proportions."""
    own = budgets[ensemble.segment[ensemble.layer == 0]]
    levels, sizes = np.unique(own, return_counts=True)
    products = levels * sizes
    weights = products * own.size / (products @ sizes)
    named = {name_of(e): float(w) for e, w in zip(levels, weights, strict=True)}
    return weighted(ensemble, budgets, named)


def charged_by_rank(election: GroupElection) -> GroupElection:
    """The same votes, the k-th smallest weight wrongly charged to the k-th smallest budget."""
    groups = sorted(election.plan.groups, key=lambda group: group.epsilon)
    reaches = sorted((group.reach for group in groups), key=lambda reach: reach.weight)
    wrong = tuple(replace(g, reach=r) for g, r in zip(groups, reaches, strict=True))
    return GroupElection(replace(election.plan, groups=wrong), election.tallies)


METHODS: dict[str, Method] = {
    "standard": standard,
    "upsampling": upsampling,
    "weighting": weighting,
    "weighting, balanced": balanced_weighting,
    "vanishing": vanishing,
    PRINTED_WEIGHTS: printed_weights,
}


def _vote(
    setting: Setting, source: Source
) -> tuple[dict[tuple[str, str], Tallied], dict[str, ByRank]]:
    cells: dict[tuple[str, str], Tallied] = {}
    ranks = {split: ByRank() for split in SPLITS}
    votings = votings_of(setting)
    methods = {name: m for name, m in METHODS.items() if source.shared or name != "upsampling"}
    for seed, ensemble in enumerate(source.ensembles):
        stage = f"{source.teachers}: votes, seed {seed}"
        with setting.progress.stage(stage, len(SPLITS) * len(methods)) as advance:
            for split, budgets in SPLITS.items():
                for name, method in methods.items():
                    cell = cells.setdefault((split, name), Tallied())
                    cell.add(ensemble, method, budgets, seed, votings)
                    advance(1)
                ranks[split].add(ensemble, budgets, seed, votings)
    return cells, ranks


def _row(teachers: str, split: str, name: str, cell: Tallied) -> Row:
    labels, accuracy = _printed(split, name)
    ours = interval([100 * share for share in cell.accuracy], 1)
    return (split, teachers, name, labels, *cell.cells(), accuracy, ours)


def _printed(split: str, name: str) -> tuple[int | None, float | None]:
    found = reported.TABLE1.get((split, name))
    return (None, None) if found is None else (int(found[0]), found[1])


def _spent(election: GroupElection, answers: IntArray, count: Count) -> float:
    """The ε of the strictest group after these queries, as the paper counts it."""
    reach = election.plan.reach(name_of(1.0))
    total = paper_costs(election, reach, answers)[: count.queries].sum(axis=0, keepdims=True)
    return float(epsilons(PAPER_ORDERS, total, DELTA, "classic")[0])


def _rank_note(teachers: str, split: str, found: ByRank) -> str:
    return (
        f"charged by rank, {split} ({teachers}): the group that was promised ε = 1 has spent "
        f"ε = {interval(found.strictest, 2)} by the paper's own accounting"
    )
