"""Comparing a card or a receipt with its ledger, the files beside it and its signature."""

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
    """The result of a successful check.

    Attributes:
        name: what was checked, "card" or "receipt".
        ledger: what was verified in the ledger.
        held: what was found to be true, one line each.
        warnings: what could not be checked, and why.
    """

    name: str
    ledger: Verified
    held: tuple[str, ...]
    warnings: tuple[str, ...]


def check_statement(path: Path, ledger: Ledger, key: str | None = None) -> Checked:
    """Raise unless a card or a receipt agrees with its ledger, files and signature.

    Args:
        path: card.json, or a receipt.
        ledger: the ledger it names.
        key: the fingerprint of the key that must have signed it, as `read_fingerprint` returns it.

    Raises:
        CardMismatchError: something differs; the message says what.
        LedgerTamperedError: the ledger was changed, or is older than the statement.
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
    """The line about the numbers."""
    epsilon, delta = (statement.number("guarantee", key) for key in ("epsilon", "delta"))
    spending, kind = replay.spending, statement.text("guarantee", "kind")
    return (
        f"ε = {epsilon:g}, δ = {delta:g} ({kind}), {spending.recorded:,} queries, "
        f"{spending.answered:,} of them answered: the {statement.name} agrees with the ledger"
    )
