"""Warnings about a large δ and about budgets that correlate with classes."""

from __future__ import annotations

import numpy as np

from ballotine.pipeline.procedure import Procedure
from ballotine.types import IntArray
from ballotine.voting.individual import budget_class_association


class DeltaWarning(UserWarning):
    """δ is so large that it would allow publishing a whole record."""


class BiasWarning(UserWarning):
    """Budgets correlate with classes. The warning itself depends on private labels."""


def delta_warning(delta: float, n_records: int) -> str | None:
    """Return a warning if δ is 1/n or more, or None."""
    if delta * n_records < 1:
        return None
    return (
        f"δ = {delta:g} is not below 1/n for n = {n_records} private records: a mechanism that "
        "publishes one random record in full would satisfy it; choose δ well below 1/n"
    )


def bias_warning(procedure: Procedure, codes: IntArray) -> str | None:
    """Return a warning if budgets correlate with classes or with a label, or None.

    For the holder only: whether there is one depends on private labels.
    """
    scheme = procedure.request.individual
    if scheme is None:
        return None
    budgets = np.array([epsilon for _, epsilon in scheme.pairs])[procedure.numbers]
    columns = codes.reshape(len(codes), -1).T  # one per label, or one for the class
    known = [(budgets[column >= 0], column[column >= 0]) for column in columns]
    found = (budget_class_association(*pair) for pair in known if len(pair[0]))
    return next((text for text in found if text is not None), None)
