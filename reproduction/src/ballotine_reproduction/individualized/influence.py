"""Figure 3: how the ratio of two groups' costs follows the ratio of their influence (MNIST)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from ballotine.privacy.conversion import Method as Conversion
from ballotine.types import BoolArray, FloatArray, IntArray
from ballotine.voting.individual import Vanishing
from ballotine.voting.individual.convert import epsilons
from ballotine.voting.individual.setting import scaled
from ballotine_reproduction.charts import Line, chart
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.individualized import sets
from ballotine_reproduction.individualized.accounting import (
    FIXED_ORDERS,
    PAPER_ORDERS,
    REASON,
    attendance,
    exact_costs,
    paper_costs,
)
from ballotine_reproduction.individualized.elections import (
    DELTA,
    GroupElection,
    SegmentVotes,
    named,
    upsampling,
    weighting,
)
from ballotine_reproduction.individualized.ensembles import fresh
from ballotine_reproduction.individualized.layout import QUARTERS
from ballotine_reproduction.individualized.two_groups import MNIST_NOTES
from ballotine_reproduction.summary import interval, notes
from ballotine_reproduction.table import Row, Table

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_VOTINGS = 4000
POINTS = 40
EARLY = 500
RATIOS = {"upsampling": range(2, 5), "weighting": range(2, 10), "vanishing": range(2, 10)}
DRAWN = (2, 3, 4, 9)
_SHOWN = (
    "cells: ε of the more influential half over ε of the other, mean ± 95 % interval over seeds"
)
_PAPER = (
    "paper: what its Figure 3 and Appendix C say the ratio approaches: that of the "
    "sensitivities for upsampling and weighting, its square root for vanishing, where it is the "
    "ratio of participations"
)
_ACCOUNTS = (
    "paper's accounting is data-dependent and may not be shown for private votes; strict is "
    "data-independent and may; exact needs sanitising, and with ten classes it cannot be computed "
    "for records that several teachers saw"
)


@dataclass
class Ratios:
    """ε ratios of one method and influence ratio, one array (or number) per seed."""

    marks: IntArray
    paper: list[FloatArray] = field(default_factory=list)
    strict: list[float] = field(default_factory=list)
    exact: list[float] = field(default_factory=list)

    def add(self, election: GroupElection, answers: IntArray) -> None:
        """Add the ratios of one voting."""
        plan, last = election.plan, self.marks[-1:]

        def tight(election: GroupElection, place: int) -> FloatArray:
            group = plan.groups[place]
            costs = plan.mechanism.costs(
                election.tallies, answers, FIXED_ORDERS, "tight", group.reach
            )
            return costs.unlock(reason=REASON)

        self.paper.append(
            _ratio(
                election,
                self.marks,
                lambda e, g: paper_costs(e, plan.groups[g].reach, answers),
                PAPER_ORDERS,
                "classic",
            )
        )
        self.strict.append(_ratio(election, last, tight, FIXED_ORDERS, "improved").item())
        if any(group.reach.teachers > 1 for group in plan.groups):
            return
        self.exact.append(
            _ratio(
                election,
                last,
                lambda e, g: exact_costs(e, plan.groups[g].reach, slice(0, int(last[0]))),
                FIXED_ORDERS,
                "improved",
            ).item()
        )


def figure3(setting: Setting) -> Table:
    """Ratios of costs for ratios of influence, over 4,000 votings."""
    pool = sets.mnist(setting)
    found: dict[tuple[str, int], Ratios] = {}
    for seed, ensemble in enumerate(fresh(setting, pool, QUARTERS).ensembles):
        queries = min(MOST_VOTINGS, len(ensemble.truth))
        marks = np.unique(np.linspace(queries / POINTS, queries, POINTS).astype(np.int64))
        asked = _first(ensemble.shuffled(seed), queries)
        keys = _keys(3 if setting.quick else len(RATIOS["weighting"]))
        with setting.progress.stage(f"votes, seed {seed}", len(keys)) as advance:
            for name, ratio in keys:
                election = METHODS[name](asked, ratio)
                found.setdefault((name, ratio), Ratios(marks)).add(election, election.answers(seed))
                advance(1)
    columns = (
        "method",
        "ratio of influence",
        "paper approaches",
        f"ours after {EARLY}",
        f"ours after {int(marks[-1]):,}",
        f"strict after {int(marks[-1]):,}",
        f"exact after {int(marks[-1]):,}",
    )
    rows = tuple(_row(name, ratio, ratios) for (name, ratio), ratios in found.items())
    title = f"Figure 3: ratio of two groups' costs by ratio of their influence ({pool.name})"
    remarks = notes(pool.notes, (_SHOWN, _PAPER, _ACCOUNTS), MNIST_NOTES)
    return Table(title, columns, rows, remarks, {"ratios": _chart(found, pool.name)})


def _weighted(ensemble: SegmentVotes, ratio: int) -> GroupElection:
    return weighting(ensemble, _halves(float(ratio)))


def _upsampled(ensemble: SegmentVotes, ratio: int) -> GroupElection:
    return upsampling(ensemble, _halves(float(ratio)))


def _vanishing(ensemble: SegmentVotes, ratio: int) -> GroupElection:
    """Half of the teachers always vote, the others on one query in ``ratio``."""
    budgets = _halves(sqrt(ratio))
    mechanism = ensemble.mechanism
    plan = ensemble.plan(Vanishing(named(budgets), rule="quadratic"), budgets, mechanism)
    fitting = scaled(mechanism, plan.voters / plan.teachers)
    return ensemble.elect(replace(plan, mechanism=fitting), ensemble.base(budgets))


METHODS: dict[str, Callable[[SegmentVotes, int], GroupElection]] = {
    "upsampling": _upsampled,
    "weighting": _weighted,
    "vanishing": _vanishing,
}


def _halves(higher: float) -> FloatArray:
    """Budgets for the quarters: the first two have the higher one."""
    return np.array([higher, higher, 1.0, 1.0])


def _keys(most: int) -> list[tuple[str, int]]:
    """Methods, each with its first ratios."""
    return [(name, ratio) for name, ratios in RATIOS.items() for ratio in ratios[:most]]


def _first(ensemble: SegmentVotes, queries: int) -> SegmentVotes:
    return replace(ensemble, ballots=ensemble.ballots[:queries], truth=ensemble.truth[:queries])


def _ratio(
    election: GroupElection,
    marks: IntArray,
    costs: Callable[[GroupElection, int], FloatArray],
    orders: FloatArray,
    method: Conversion,
) -> FloatArray:
    """ε of the group with more influence over that of the other, at these numbers of queries."""
    low, high = (
        _epsilons_at(costs(election, place), attendance(election, group), marks, orders, method)
        for place, group in sorted(enumerate(election.plan.groups), key=lambda g: g[1].epsilon)
    )
    return high / low


def _epsilons_at(
    costs: FloatArray,
    attends: BoolArray | None,
    marks: IntArray,
    orders: FloatArray,
    method: Conversion,
) -> FloatArray:
    """ε at these numbers of queries, of the most affected teacher where they take turns."""
    if attends is None:
        return epsilons(orders, np.cumsum(costs, axis=0)[marks - 1], DELTA, method)
    turns = attends.astype(np.float64)
    totals = (turns[:mark].T @ costs[:mark] for mark in marks)
    return np.array([epsilons(orders, total, DELTA, method).max() for total in totals])


def _row(name: str, ratio: int, found: Ratios) -> Row:
    expected = sqrt(ratio) if name == "vanishing" else float(ratio)
    early = int(np.argmin(np.abs(found.marks - EARLY)))
    return (
        name,
        ratio,
        expected,
        interval([float(curve[early]) for curve in found.paper], 2),
        interval([float(curve[-1]) for curve in found.paper], 2),
        interval(found.strict, 2),
        interval(found.exact, 2) if found.exact else None,
    )


def _chart(found: dict[tuple[str, int], Ratios], name_of_set: str) -> go.Figure:
    dashes = {"upsampling": "dot", "weighting": "solid", "vanishing": "dash"}
    lines = [
        Line(
            f"{name}, {ratio} to 1",
            ratios.marks.tolist(),
            np.mean(ratios.paper, axis=0).tolist(),
            colour=ratio - 2,
            dash=dashes[name],
        )
        for (name, ratio), ratios in found.items()
        if ratio in DRAWN
    ]
    title = f"Ratio of the two halves' ε, paper's accounting ({name_of_set})"
    return chart({title: lines}, "queries", "ε of the more influential half over ε of the other")
