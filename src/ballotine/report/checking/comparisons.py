"""Numbers that should agree: the sentence when they do not."""

from __future__ import annotations

import math

from ballotine.errors import CardMismatchError
from ballotine.report.checking.statement import Statement
from ballotine.text import printable

LEDGER = "the ledger"
_TINY = 1e-9  # printed ε are rounded upwards up to this


def same(statement: Statement, what: str, said: float, true: float, who: str = LEDGER) -> None:
    """A number that is given as it is."""
    if not math.isclose(said, true, rel_tol=1e-12):
        _differs(statement, what, said, true, who)


def not_less(statement: Statement, what: str, said: float, true: float) -> None:
    """An ε may be stated larger than it is: that is not false."""
    if not said >= true - _TINY:
        _differs(statement, what, said, true, LEDGER)


def not_more(statement: Statement, what: str, said: int, true: int) -> None:
    """The count of one run, beside that of all runs."""
    if said > true:
        _differs(statement, what, said, true, LEDGER)


def same_word(statement: Statement, what: str, said: object, true: str) -> None:
    """A name out of a short list."""
    if said != true:
        raise CardMismatchError(
            f"the {statement.name} says {what} '{printable(said)}', and the ledger says '{true}': "
            f"do not rely on this {statement.name}"
        )


def _differs(statement: Statement, what: str, said: float, true: float, who: str) -> None:
    raise CardMismatchError(
        f"the {statement.name} says {what} = {said:.10g}, and {who} says {true:.10g}: do not rely "
        f"on this {statement.name}"
    )
