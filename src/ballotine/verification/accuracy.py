"""Cases for exact costs, which must be close to the true cost and not only above it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from ballotine.oracle.truth import Truth
from ballotine.types import FloatArray
from ballotine.verification.case import Case, Configuration, Effort, Points

RELATIVE, ABSOLUTE = 1e-9, 1e-11
REACHED = 0.99999
"""The ratio of true cost to exact cost that some configuration must reach."""


def exact_cases(
    name: str,
    statement: str,
    source: str,
    configurations: Callable[[Effort], Iterable[Configuration]],
    claim: Callable[[Configuration, Points], FloatArray],
    truth: Callable[[Configuration, Points], Truth],
) -> tuple[Case[Configuration], Case[Configuration]]:
    """Return two cases: the exact cost is never below the true cost, and hardly above it."""
    case = Case(name, statement, source, "holds", REACHED, configurations, claim, truth)
    return case, accuracy(case)


def accuracy(case: Case[Configuration]) -> Case[Configuration]:
    """Return the converse case: the shipped cost is at most true · (1 + 1e-9) + 1e-11."""

    def ceiling(configuration: Configuration, points: Points) -> FloatArray:
        true = case.truth(configuration, points)
        highest: FloatArray = (true.values + true.error) * (1.0 + RELATIVE) + ABSOLUTE
        return highest

    def shipped(configuration: Configuration, points: Points) -> Truth:
        values = case.claim(configuration, points)
        return Truth(values, np.zeros(values.size), ("",) * values.size)

    return replace(
        case,
        name=f"{case.name}-accuracy",
        statement="the exact cost exceeds the true one by at most 1e-9 of it and 1e-11",
        reaches=0.9,
        claim=ceiling,
        truth=shipped,
    )
