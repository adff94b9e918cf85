"""Comparing what a card or a receipt states with the truth, and the errors if they differ."""

from __future__ import annotations

import math

from ballotine.errors import CardMismatchError
from ballotine.report.checking.statement import Statement
from ballotine.text import printable

LEDGER = "the ledger"
_TINY = 1e-9  # tolerance of ε: printed values are rounded up beyond this


def same(statement: Statement, what: str, said: float, true: float, who: str = LEDGER) -> None:
    """Require an unrounded number to be equal."""
    if not math.isclose(said, true, rel_tol=1e-12):
        _differs(statement, what, said, true, who)


def not_less(statement: Statement, what: str, said: float, true: float) -> None:
    """Require a stated ε not to be too small; a larger one is still true."""
    if not said >= true - _TINY:
        _differs(statement, what, said, true, LEDGER)


def not_more(statement: Statement, what: str, said: int, true: int) -> None:
    """Require the count of one run not to exceed that of all runs."""
    if said > true:
        _differs(statement, what, said, true, LEDGER)


def same_word(statement: Statement, what: str, said: object, true: str) -> None:
    """Require a stated word to be equal."""
    if said != true:
        raise CardMismatchError(
            f"the {statement.name} says {what} '{printable(said)}', but the ledger says '{true}': "
            f"do not rely on this {statement.name}"
        )


def _differs(statement: Statement, what: str, said: float, true: float, who: str) -> None:
    raise CardMismatchError(
        f"the {statement.name} says {what} = {said:.10g}, but {who} says {true:.10g}: do not rely "
        f"on this {statement.name}"
    )
