"""Means with intervals, and the sentences that stand below every table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student_t

from ballotine.metrics import MultiLabelScores, score
from ballotine.privacy.guarantee import Budget
from ballotine_reproduction.multiwinner.elections import (
    QUICK_SEEDS,
    QUICK_TEACHERS,
    TEACHERS,
    LabelElection,
)
from ballotine_reproduction.multiwinner.votes import Votes
from ballotine_reproduction.table import Setting

METRICS = ("ACC", "BAC", "AUC", "mAP")


@dataclass(frozen=True)
class Spread:
    """The mean of a few repetitions and half the width of its 95 % interval."""

    mean: float
    half: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Student's t interval; none for a single value."""
        drawn = np.asarray([value for value in values if not np.isnan(value)], dtype=np.float64)
        if drawn.size == 0:
            return cls(float("nan"), 0.0)
        if drawn.size == 1:
            return cls(float(drawn[0]), 0.0)
        reach = float(student_t.ppf(0.975, drawn.size - 1))
        return cls(float(drawn.mean()), reach * float(drawn.std(ddof=1)) / drawn.size**0.5)

    def text(self, digits: int = 0) -> str:
        """Mean ± half, the second left out where it rounds to nothing."""
        if np.isnan(self.mean):
            return "–"
        half = f"{self.half:.{digits}f}"
        shown = f"{self.mean:.{digits}f}"
        return shown if float(half) == 0 else f"{shown} ± {half}"


def counted(values: Sequence[int], pool: int) -> str:
    """Numbers of answered queries; the pool may end before the budget does."""
    text = Spread.of(values).text()
    ended = sum(value >= pool for value in values)
    if ended == len(values):
        return f"{text} (all)"
    return f"{text} (all in {ended} of {len(values)})" if ended else text


def judged(scores: Sequence[MultiLabelScores]) -> tuple[str, ...]:
    """ACC, BAC, AUC and mAP over the repetitions."""
    rows = [(each.acc, each.bac, each.auc, each.map) for each in scores]
    return tuple(Spread.of(column).text(3) for column in zip(*rows, strict=True))


def judge(election: LabelElection, votes: Votes, sigma: float | None) -> MultiLabelScores:
    """How good the answers to an election's queries are; without noise if there is no σ."""
    answers = votes.noiseless() if sigma is None else votes.answers(sigma, election.noise())
    return score(election.truth, answers)


def notes(setting: Setting, budget: Budget | None, *more: str) -> tuple[str, ...]:
    """What to know when reading a table."""
    said = []
    if setting.quick:
        said.append(
            "Quick: records made up by scikit-learn's make_multilabel_classification, "
            f"{QUICK_TEACHERS} teachers, at most {QUICK_SEEDS} seeds. These numbers mean little."
        )
    else:
        said.append(
            f"{TEACHERS} teachers (per-label logistic regression, balanced) on disjoint shares of "
            f"the training rows; the test rows are the pool. Mean ± 95 % interval over "
            f"{setting.seeds} seeds of partition, order of the queries and noise."
        )
    if budget is not None:
        said.append(f"Budget {budget}.")
    return (*said, *more)


PAPER = (
    "paper: stop when the paper's data-dependent ε is spent (one-directional Theorem 6 per label "
    "or set, never above its data-independent claim, ατ²/σ² for τ voting; classic conversion). "
    "The claim for τ voting is false and the stop leaks: never to be released."
)
STRICT = (
    "strict: stop on data-independent, true costs (one-bit and three-cell suprema, improved "
    "conversion). The only number that a real run may use and print."
)
FIXED = (
    "fixed: what exact two-sided costs would have allowed (under clipping, a bound of them). It "
    "depends on the private votes: the number of queries must be fixed beforehand, and the ε "
    "sanitised before anybody sees it."
)
ACCOUNTS = (PAPER, STRICT, FIXED)
POOL = "(all): the pool ended before the budget."
JUDGED = (
    "ACC, BAC, AUC, mAP: means over labels, on the released bits of all queries of the pool. "
    "AUC of bits is BAC, in the paper too."
)
TUNED = (
    "σ is the largest that keeps ACC, BAC and mAP within 0.03 of Binary voting without noise (the "
    "smallest of the grid, 0.5, if none does). It was found with the pool's true labels: a real "
    "run must choose it beforehand."
)
PRINTED = "printed: what the paper has at this place, on {sets}; a reference for the shape alone."
