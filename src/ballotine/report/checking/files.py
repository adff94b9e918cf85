"""The files beside a card or a receipt: are they those it names, and what the ledger recorded?"""

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

NOT_HERE = "{} is not beside the {}: it was not compared"
_LONGEST = 255  # bytes of a file's name


def compare_files(
    statement: Statement, replay: LedgerAtAnchor
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Checksums of answers and student, and the answers against those in the ledger.

    Returns:
        What held, and what could not be compared.
    """
    held, missing = [], []
    for part in ("answers", "student"):
        if statement.optional(part) is None:
            continue
        path = _beside(statement, part)
        if not path.is_file():
            missing.append(NOT_HERE.format(path.name, statement.name))
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
            "SHA-256 is another"
        )


def _compare_answers(statement: Statement, path: Path, replay: LedgerAtAnchor) -> list[str]:
    """As far as a ledger can tell: no answer occurs more often than it was recorded."""
    if not statement.is_receipt and is_old(statement, replay.spending):
        return [OLD]
    found = read_answers(path, _classes(statement))
    for answer, times in found.answers.items():
        if times > replay.answers[answer]:
            raise CardMismatchError(
                f"{path.name} holds answers that the ledger did not record: one of them "
                f"{times} times, and the ledger has it {replay.answers[answer]} times"
            )
    _compare_counts(statement, found)
    if not statement.is_receipt:
        _compare_released(statement, found)
    return []


def _compare_counts(statement: Statement, found: AnswersInFile) -> None:
    file = "its file of answers"
    same(statement, "asked", statement.count("queries", "asked"), found.asked, file)
    same(statement, "answered", statement.count("queries", "answered"), found.answered, file)
    if statement.is_receipt:
        same(statement, "queries", statement.count("queries", "pool"), found.pool, file)
    else:
        said = statement.count("queries", "repeated")
        same(statement, "repeated rows", said, found.repeated, file)


def _compare_released(card: Statement, found: AnswersInFile) -> None:
    """How often each class, or each label, was released."""
    names = [str(name) for name in _classes(card) or ()]
    by_class, by_label = (card.optional("answers", key) for key in ("by_class", "by_label"))
    if (by_label or by_class) != (found.by_label(names) if by_label else found.by_class(names)):
        raise CardMismatchError(
            "the card says that other answers were released than its file of answers holds: do "
            "not rely on this card"
        )


def _classes(statement: Statement) -> list[object] | None:
    """What the classes of a run are called; a vote's answers are numbers already."""
    if statement.is_receipt:
        return None
    classes = statement.optional("data", "classes")
    if not isinstance(classes, list):
        raise DataError(f"{statement.path} is not whole: look at its part 'data.classes'")
    return classes


def _beside(statement: Statement, part: str) -> Path:
    """A file that the statement names: beside it, and nowhere else."""
    name = statement.text(part, "file")
    odd = not name.isprintable() or "\\" in name or name in ("", "..")
    if odd or Path(name).name != name or len(os.fsencode(name)) > _LONGEST:
        raise DataError(f"{statement.path} names a file that is not beside it: '{part}'")
    return statement.path.with_name(name)
