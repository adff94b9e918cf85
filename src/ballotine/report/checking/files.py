"""Checking the files beside a card or a receipt against its checksums and the ledger."""

from __future__ import annotations

import os
from pathlib import Path

from ballotine.errors import CardMismatchError, DataError
from ballotine.files import sha256_of
from ballotine.report.checking.answers import AnswersInFile, read_answers
from ballotine.report.checking.comparisons import same
from ballotine.report.checking.ledger_at_anchor import LedgerAtAnchor
from ballotine.report.checking.numbers import OLD, is_old
from ballotine.report.checking.statement import Statement

MISSING = "{} is not beside the {}, so it was not checked"
_LONGEST = 255  # bytes in a file name


def compare_files(
    statement: Statement, replay: LedgerAtAnchor
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Check the checksums of answers and student, and the answers against the ledger.

    Returns:
        What was found to be true, and what could not be checked.
    """
    held, missing = [], []
    for part in ("answers", "student"):
        if statement.optional(part) is None:
            continue
        path = _beside(statement, part)
        if not path.is_file():
            missing.append(MISSING.format(path.name, statement.name))
            continue
        _compare_digest(statement, part, path)
        held.append(f"{path.name} is the file of the {statement.name}")
        if part == "answers":
            missing += _compare_answers(statement, path, replay)
    return tuple(held), tuple(missing)


def _compare_digest(statement: Statement, part: str, path: Path) -> None:
    try:
        true = sha256_of(path)
    except OSError as problem:
        raise DataError(f"{path} cannot be read ({problem.strerror})") from problem
    if statement.text(part, "sha256").lower() != true:
        raise CardMismatchError(
            f"{path.name} is not the {part} file that the {statement.name} was made for: its "
            "SHA-256 differs"
        )


def _compare_answers(statement: Statement, path: Path, replay: LedgerAtAnchor) -> list[str]:
    """Check that no answer occurs more often than it was recorded in the ledger."""
    if not statement.is_receipt and is_old(statement, replay.spending):
        return [OLD]
    found = read_answers(path, _classes(statement))
    for answer, times in found.answers.items():
        if times > replay.answers[answer]:
            raise CardMismatchError(
                f"{path.name} contains answers that the ledger did not record: one of them occurs "
                f"{times} times, but {replay.answers[answer]} times in the ledger"
            )
    _compare_counts(statement, found)
    if not statement.is_receipt:
        _compare_released(statement, found)
    return []


def _compare_counts(statement: Statement, found: AnswersInFile) -> None:
    file = "its answers file"
    same(statement, "asked", statement.count("queries", "asked"), found.asked, file)
    same(statement, "answered", statement.count("queries", "answered"), found.answered, file)
    if statement.is_receipt:
        same(statement, "queries", statement.count("queries", "pool"), found.pool, file)
    else:
        said = statement.count("queries", "repeated")
        same(statement, "repeated rows", said, found.repeated, file)


def _compare_released(card: Statement, found: AnswersInFile) -> None:
    """Compare how often each class, or each label, was released."""
    names = [str(name) for name in _classes(card) or ()]
    by_class, by_label = (card.optional("answers", key) for key in ("by_class", "by_label"))
    if (by_label or by_class) != (found.by_label(names) if by_label else found.by_class(names)):
        raise CardMismatchError(
            "the card says that other answers were released than its answers file contains: do "
            "not rely on this card"
        )


def _classes(statement: Statement) -> list[object] | None:
    """The class names of a run; None for a vote, whose answers are numbers."""
    if statement.is_receipt:
        return None
    classes = statement.optional("data", "classes")
    if not isinstance(classes, list):
        raise DataError(f"{statement.path} is incomplete: see its part 'data.classes'")
    return classes


def _beside(statement: Statement, part: str) -> Path:
    """The path of a file that the statement names, which must be in the same folder."""
    name = statement.text(part, "file")
    odd = not name.isprintable() or "\\" in name or name in ("", "..")
    if odd or Path(name).name != name or len(os.fsencode(name)) > _LONGEST:
        raise DataError(f"the '{part}' file that {statement.path} names is not in the same folder")
    return statement.path.with_name(name)
