"""Means and deviations over seeds, and sentences that stand below more than one table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

RELATION = (
    "DP-SGD's ε is for one record replaced, as PATE's is: steps are accounted with both gradients "
    "in the worst place, not with Opacus' accountant, whose neighbour has one record more or "
    "fewer. ε, add or remove: what that would say about the same training"
)
EXPERIMENT = (
    "an experiment: noise is seeded, and {chosen} on one more seed (another split of the same "
    "rows) with labels that nobody has in a real run; that is not accounted"
)
STRICT = "strict: the number of queries that true data-independent costs allow; may be released"
EXACT = (
    "exact: the number that exact two-sided costs of these votes would have allowed. It depends "
    "on private votes: a real run would have to fix it beforehand and sanitise its ε"
)


def spread(values: Sequence[float], digits: int = 3) -> str:
    """Mean ± standard deviation over seeds, the second left out where there is one value."""
    known = [value for value in values if not np.isnan(value)]
    if not known:
        return "–"
    mean = f"{np.mean(known):.{digits}f}"
    return mean if len(known) < 2 else f"{mean} ± {np.std(known, ddof=1):.{digits}f}"
