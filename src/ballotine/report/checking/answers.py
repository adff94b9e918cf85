"""Counting the answers in a file, for comparison with a ledger.

A ledger knows queries only by their hashes, so the comparison is of how often each answer occurs.
Files are not trusted: they are read in pieces and never unpickled.
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ballotine.errors import DataError
from ballotine.ledger.answers import Answer, as_answers
from ballotine.types import ABSTAIN, UNASKED, IntArray

_PIECE = 65_536
_FOREIGN = (
    *(OSError, ValueError, KeyError, TypeError, EOFError, RuntimeError, OverflowError),
    *(zipfile.BadZipFile, struct.error, pa.ArrowException),
)
"""The errors that libraries raise for damaged files."""
_MARKS = {"present": 1, "absent": 0, "abstained": ABSTAIN}
_STATUS = ("answered", "abstained", "unasked")


@dataclass
class AnswersInFile:
    """Counts of the answers in a file.

    Attributes:
        pool: the number of rows.
        repeated: the number of rows that repeat an asked one.
        answers: how often each answer was given to a query, abstentions included.
    """

    pool: int = 0
    repeated: int = 0
    answers: Counter[Answer] = field(default_factory=Counter)

    @property
    def asked(self) -> int:
        """The number of queries that were asked."""
        return self.answers.total()

    @property
    def answered(self) -> int:
        """The number of queries that were answered, for at least one label."""
        return sum(times for answer, times in self.answers.items() if _given(answer))

    def by_class(self, names: Sequence[str]) -> dict[str, int]:
        """How often each class was released."""
        return {name: self.answers[place] for place, name in enumerate(names)}

    def by_label(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """How often each label was present, absent and abstained on."""
        return [
            {"label": name} | {key: self._marked(place, mark) for key, mark in _MARKS.items()}
            for place, name in enumerate(names)
        ]

    def _marked(self, place: int, mark: int) -> int:
        rows = ((row, times) for row, times in self.answers.items() if isinstance(row, tuple))
        return sum(times for row, times in rows if row[place] == mark)


def read_answers(path: Path, classes: Sequence[Any] | None) -> AnswersInFile:
    """Count the answers of a vote (.npz), or of a run (.parquet) with these class names.

    Raises:
        DataError: the file cannot be read as answers.
    """
    try:
        return _of_vote(path) if classes is None else _of_run(path, classes)
    except _FOREIGN as problem:
        raise DataError(f"{path} is not a readable answers file") from problem


def _of_vote(path: Path) -> AnswersInFile:
    with zipfile.ZipFile(path) as archive:
        member = archive.getinfo("answers.npy")
        # We write it uncompressed, so it cannot expand beyond the size of the file.
        if member.compress_type != zipfile.ZIP_STORED:
            raise ValueError("compressed")
        labels = _array(archive.read(member))
    first = labels if labels.ndim == 1 else labels[:, 0]
    return AnswersInFile(len(labels), 0, Counter(as_answers(labels[first != UNASKED])))


def _array(content: bytes) -> IntArray:
    """Read an array of answers, without trusting the shape in its header."""
    stream = io.BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("unknown array format")
    shape, columns_first, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype != np.int64 or columns_first or len(shape) not in (1, 2) or min(shape) < 1:
        raise ValueError("not answers")
    labels: IntArray = np.frombuffer(content, dtype, offset=stream.tell()).reshape(shape)
    return labels


def _of_run(path: Path, classes: Sequence[Any]) -> AnswersInFile:
    with pq.ParquetFile(path) as file:
        read = _labels(file.schema_arrow.names, classes)
        found = AnswersInFile()
        for piece in file.iter_batches(_PIECE):
            for status, repeats, answer in read(piece):
                found.pool += 1
                if status == "unasked":
                    continue
                if repeats is not None:
                    found.repeated += 1
                else:
                    found.answers[answer] += 1
    return found


def _labels(names: list[str], classes: Sequence[Any]) -> Any:
    """A function that reads status, repeated row and answer of each row of a piece."""
    several = "answer" not in names
    columns = [f"answer:{name}" for name in classes] if several else ["answer"]
    # Class names are compared as text: an array turns them all into text if one of them is.
    number = {str(name): place for place, name in enumerate(classes)}
    if len(number) != len(classes):
        raise ValueError("a class occurs twice")

    def read(piece: pa.RecordBatch) -> Iterator[tuple[str, int | None, Answer]]:
        columns_read = [piece.column(name).to_pylist() for name in ("status", "repeats", *columns)]
        for status, repeats, *given in zip(*columns_read, strict=True):
            if status not in _STATUS:
                raise ValueError("unknown status")
            if several:
                answer: Answer = tuple(ABSTAIN if mark is None else int(mark) for mark in given)
            else:
                answer = ABSTAIN if given[0] is None else number[str(given[0])]
            if status != "unasked" and _given(answer) != (status == "answered"):
                raise ValueError("status and answer disagree")
            yield status, repeats, answer

    return read


def _given(answer: Answer) -> bool:
    return any(mark > ABSTAIN for mark in (answer if isinstance(answer, tuple) else (answer,)))
