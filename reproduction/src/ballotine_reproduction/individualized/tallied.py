"""What the cells of a table count over seeds, and the notes that go with every table."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ballotine.types import FloatArray
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.individualized.accounting import WAYS, Count
from ballotine_reproduction.individualized.elections import Method, SegmentVotes
from ballotine_reproduction.summary import interval

VOTINGS = 5
"""Votings of each ensemble, every time in another order and with other noise."""

COLUMNS = ("paper", "ours, paper's accounting", "strict", "fixed, exact")

_PAPER = (
    "paper's accounting: stop on the data-dependent cost (Theorem 6 in one direction, classic "
    "conversion, orders 2 to 50). Not releasable: where it stops tells about private votes, and "
    "it bounds one of two directions only"
)
_STRICT = (
    "strict: stop on the tight data-independent cost. The only number of labels that may be "
    "released under these budgets"
)
_FIXED = (
    "fixed, exact: the labels among as many queries as the exact two-sided cost allows. A real "
    "run fixes the number of queries beforehand and sanitises the ε before showing it; this "
    "column shows what is to be gained at most"
)
_INTERVALS = "ours, strict, fixed: mean ± 95 % interval over seeds (Student's t)"
_AT_LEAST = "≥: the public pool ended before the budgets did"
NOTES = (_INTERVALS, _PAPER, _STRICT, _FIXED, _AT_LEAST)
"""What to know when reading any of the tables."""


@dataclass
class Tallied:
    """The results of one cell of a table over seeds, for each way of counting."""

    labels: dict[str, list[float]] = field(default_factory=lambda: {way: [] for way in WAYS})
    accuracy: list[float] = field(default_factory=list)
    exhausted: set[str] = field(default_factory=set)

    def add(
        self,
        ensemble: SegmentVotes,
        method: Method,
        budgets: FloatArray,
        seed: int,
        votings: int,
    ) -> None:
        """Vote several times with the ensemble of that seed, and keep the mean."""
        counts: dict[str, list[Count]] = {way: [] for way in WAYS}
        right: list[float] = []
        for voting in range(votings):
            own = VOTINGS * seed + voting
            asked = ensemble.shuffled(own)
            election = method(asked, budgets)
            answers = election.answers(own)
            for way, count in WAYS.items():
                # Exact costs take longest and vary least: one order of asking is enough.
                if way != "fixed" or voting == 0:
                    counts[way].append(count(election, answers))
            used = np.flatnonzero(answers[: counts["paper"][-1].queries] >= 0)
            if used.size:
                right.append(float((answers[used] == asked.truth[used]).mean()))
        for way, found in counts.items():
            self.labels[way].append(float(np.mean([count.labels for count in found])))
            if any(count.exhausted for count in found):
                self.exhausted.add(way)
        if right:
            self.accuracy.append(float(np.mean(right)))

    def cells(self) -> tuple[str, ...]:
        """One cell per way of counting."""
        return tuple(
            ("≥ " if way in self.exhausted else "") + interval(labels)
            for way, labels in self.labels.items()
        )


def votings_of(setting: Setting) -> int:
    """How often each ensemble votes."""
    return 1 if setting.quick else VOTINGS
