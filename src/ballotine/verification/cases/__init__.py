"""All claims that are verified, one file per mechanism."""

from __future__ import annotations

from ballotine.verification.case import AnyCase
from ballotine.verification.cases import (
    check,
    confident,
    conversion,
    duplicates,
    envelope,
    gnmax,
    label_checks,
    lnmax,
    multilabel,
    multilabel_false,
    powerset,
    theorem6,
    vanishing,
    weights,
)

_TOLD = (
    *gnmax.CASES,
    *theorem6.CASES,
    *check.CASES,
    *confident.CASES,
    *weights.CASES,
    *duplicates.CASES,
    *vanishing.CASES,
    *lnmax.CASES,
    *multilabel.CASES,
    *label_checks.CASES,
    *multilabel_false.CASES,
    *powerset.CASES,
    *envelope.CASES,
    *conversion.CASES,
)
MECHANISMS: tuple[str, ...] = tuple(dict.fromkeys(case.mechanism for case in _TOLD))
"""The mechanisms that cases are about, in the order of the table."""

CASES: tuple[AnyCase, ...] = tuple(
    sorted(_TOLD, key=lambda case: (MECHANISMS.index(case.mechanism), case.expected == "false"))
)
"""All cases by mechanism; the false claims of each come last."""
