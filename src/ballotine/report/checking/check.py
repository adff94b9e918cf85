"""Holding a card or a receipt against its ledger, the files beside it and its signature."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ballotine.ledger import Ledger, Verified, verify
from ballotine.report.checking.files import compare_files
from ballotine.report.checking.ledger_at_anchor import LedgerAtAnchor
from ballotine.report.checking.numbers import compare_card, compare_guarantee
from ballotine.report.checking.signature import compare_signature
from ballotine.report.checking.statement import Statement


@dataclass(frozen=True)
class Checked:
    """What was found to hold.

    Attributes:
        name: what was checked: card or receipt.
        ledger: what was looked at in the ledger.
        held: in words, one line each.
        warnings: what could not be checked, and why.
    """

    name: str
    ledger: Verified
    held: tuple[str, ...]
    warnings: tuple[str, ...]


def check_statement(path: Path, ledger: Ledger, key: str | None = None) -> Checked:
    """Raise unless a card or a receipt says what its ledger, files and signature say.

    Args:
        path: card.json, or a receipt.
        ledger: the ledger it names.
        key: the fingerprint of the key that must have signed it, in the usual form.

    Raises:
        CardMismatchError: something differs; the message says what.
        LedgerTamperedError: the ledger is not whole, or older than the statement.
        DataError: the statement, or a file beside it, cannot be read.
    """
    statement = Statement.read(path)
    signed, doubts = compare_signature(statement, key)
    anchor = statement.anchor()
    with ledger.snapshot():
        found = verify(ledger, anchor)
        replay = LedgerAtAnchor.until(ledger, anchor.seq)
    compare_guarantee(statement, replay.spending)
    if not statement.is_receipt:
        doubts += compare_card(statement, replay)
    files, missing = compare_files(statement, replay)
    held = (_numbers(statement, replay), *files, *signed)
    return Checked(statement.name, found, held, (*doubts, *missing))


def _numbers(statement: Statement, replay: LedgerAtAnchor) -> str:
    """The line that says what holds."""
    epsilon, delta = (statement.number("guarantee", key) for key in ("epsilon", "delta"))
    spending, kind = replay.spending, statement.text("guarantee", "kind")
    return (
        f"ε = {epsilon:g}, δ = {delta:g} ({kind}), {spending.recorded:,} queries, "
        f"{spending.answered:,} of them answered: the {statement.name} says what the ledger says"
    )
