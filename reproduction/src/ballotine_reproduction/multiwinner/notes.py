"""The notes below the tables."""

from __future__ import annotations

from ballotine.privacy.guarantee import Budget
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.multiwinner.elections import QUICK_SEEDS, QUICK_TEACHERS, TEACHERS

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
    "fixed: what exact two-sided costs would have allowed (under clipping, an upper bound on "
    "them). It depends on the private votes: the number of queries must be fixed beforehand, and "
    "the ε sanitised before anybody sees it."
)
ACCOUNTS = (PAPER, STRICT, FIXED)
POOL = "(all): the pool ended before the budget."
JUDGED = (
    "ACC, BAC, AUC, mAP: means over labels, on the released bits of all queries of the pool. "
    "AUC of bits is BAC, in the paper too."
)
JUDGED_WITHOUT_NOISE = JUDGED.replace("released bits", "bits without noise")
TUNED = (
    "σ is the largest that keeps ACC, BAC and mAP within 0.03 of Binary voting without noise (the "
    "smallest of the grid, 0.5, if none does). It was found with the pool's true labels: a real "
    "run must choose it beforehand."
)


def printed(sets: str) -> str:
    """Where the printed numbers come from."""
    return f"printed: the paper's number in this place, on {sets}; comparable in shape only."


def about(setting: Setting, budget: Budget | None, *more: str) -> tuple[str, ...]:
    """How the numbers of a table were obtained, followed by these notes."""
    if setting.quick:
        first = (
            "Quick: records made up by scikit-learn's make_multilabel_classification, "
            f"{QUICK_TEACHERS} teachers, at most {QUICK_SEEDS} seeds. These numbers mean little."
        )
    else:
        first = (
            f"{TEACHERS} teachers (per-label logistic regression, balanced) on disjoint shares of "
            f"the training rows; the test rows are the pool. Mean ± 95 % interval over "
            f"{setting.seeds} seeds of partition, order of the queries and noise."
        )
    return (first, *([] if budget is None else [f"Budget {budget}."]), *more)
