"""Answer saved votes through a ledger, in Python or by ``ballotine vote``.

The file is read in chunks, so memory does not grow with the number of queries. A query is a row
of a file: the same file always gets the same answers, and another file gets new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ballotine.data.ballots import VoteFile
from ballotine.errors import DataError, ParameterError
from ballotine.ledger import Anchor, Ledger, Mode
from ballotine.noise import NoiseSource
from ballotine.privacy.guarantee import Guarantee
from ballotine.types import IntArray, Matrix
from ballotine.voting.answers import Answers
from ballotine.voting.mechanism import Mechanism
from ballotine.voting.multilabel.ballots import cast_labels
from ballotine.voting.promise import guarantee_of
from ballotine.voting.publication import require_publishable
from ballotine.voting.rules import Rules
from ballotine.voting.session import Session, whole_numbers
from ballotine.voting.tally import MAX_CLASSES, Tallies

CHUNK = 8192
TEACHERS = (
    "every ballot comes from a teacher that saw its own private records only, each record one "
    "teacher (or as the plan of individual budgets says); all votes in this ledger come from "
    "teachers of one data set, and a record is in the same group in all of them"
)
SETTINGS = "the settings were chosen without looking at the private data or the votes"
FROM_VOTES = "the number of classes was read from the votes"
LIKE_TALLIES = (
    "{} looks like counts, not ballots: {}. If it holds counts, one column per class, use "
    "--tallies; if each column holds a teacher's class numbers, use --ballots"
)


@dataclass(frozen=True)
class SavedVotes:
    """A file of votes and how to read it.

    Attributes:
        file: from `ballotine.data.ballots.open_votes`.
        classes: the number of classes, or labels.
        tallies: whether the file holds counts instead of ballots.
        queries: read only this many rows; None for all.
        thresholds: what a label's probability must exceed, if ballots are probabilities.
        classes_from_votes: whether the number of classes was read from the file. Such votes are
            for the holder only, because answers may not depend on that number.
        ballots: whether the user confirms that these are ballots, even if they look like counts.
    """

    file: VoteFile
    classes: int
    tallies: bool = False
    queries: int | None = None
    thresholds: float | None = None
    classes_from_votes: bool = False
    ballots: bool = False

    @classmethod
    def of(
        cls,
        file: VoteFile,
        mechanism: Mechanism,
        classes: int | None = None,
        *,
        tallies: bool = False,
        queries: int | None = None,
        thresholds: float | None = None,
        ballots: bool = False,
    ) -> SavedVotes:
        """Find the number of classes or labels, from public knowledge if it is given."""
        several = file.labels is not None
        if mechanism.task.several != several:
            wanted = "two axes" if several else "(queries, teachers, labels)"
            raise DataError(f"{mechanism.name} needs votes of shape {wanted}: {file.path}")
        if tallies and (several or classes not in (None, file.columns)):
            raise ParameterError("tallies have one column per class, and no labels")
        if tallies and ballots:
            raise ParameterError("a file holds either tallies or ballots: choose one")
        known = file.columns if tallies else (file.labels or classes)
        if known is not None:
            return cls(file, known, tallies, queries, thresholds, ballots=ballots)
        most = max(int(rows.max()) for rows in file.chunks(queries))
        if most >= MAX_CLASSES:
            raise DataError(f"{file.path} holds ballots for more than {MAX_CLASSES} classes")
        return cls(file, max(2, 1 + most), tallies, queries, thresholds, True, ballots)

    @property
    def number(self) -> int:
        """The number of queries."""
        return self.file.queries if self.queries is None else min(self.queries, self.file.queries)

    @property
    def teachers(self) -> int:
        """The number of teachers; for tallies, the sum of the first row."""
        if not self.tallies:
            return self.file.columns
        first = next(self.file.chunks(1))
        return round(float(first.sum()))

    @property
    def identity(self) -> bytes:
        """The content of the votes: the file's digest, and how it is read.

        Plain ballots are identified by the file alone, as in older ledgers.
        """
        reading = (self.tallies, self.file.labels, self.thresholds)
        how = b"" if reading == (False, None, None) else b"\0read as " + repr(reading).encode()
        return self.file.digest() + how

    def chunks(self) -> Iterator[Tallies | IntArray]:
        """Yield the votes chunk by chunk, validated."""
        for rows in self.file.chunks(self.queries):
            yield self._read(rows)

    def check(self, *, published: bool = False) -> None:
        """Read everything once, so that invalid rows are found before anything is charged.

        Args:
            published: whether the cost of the answers will be published, as in fixed mode.
        """
        if self.classes_from_votes:
            raise ParameterError(
                "the number of classes must be public knowledge and may not be read from the "
                "votes: give it with --classes"
            )
        sums: set[int] = set()
        rows = 0
        # If only one row is asked, a second one shows whether rows have the same sum.
        alone = self.queries == 1 and not self.tallies
        read = replace(self, queries=2) if alone else self
        for chunk in read.chunks():
            if isinstance(chunk, Tallies):
                if published:
                    require_publishable(chunk, self.teachers)
                continue
            if chunk.ndim != 2:
                continue
            sums.update(np.unique(chunk.sum(axis=1))[:2].tolist())
            rows += len(chunk)
        if rows > 1 and len(sums) == 1 and not self.ballots:
            reason = "all rows have the same sum"
            raise DataError(LIKE_TALLIES.format(self.file.path, reason))

    def _read(self, rows: Matrix) -> Tallies | IntArray:
        if self.tallies:
            return Tallies(rows.astype(np.float64))
        if self.thresholds is not None:
            return cast_labels(rows, self.thresholds)  # type: ignore[return-value]
        if rows.dtype.kind == "f" and np.any(rows != np.round(rows)):
            raise DataError(
                f"{self.file.path} holds fractions, but ballots are whole numbers (for "
                "probabilities of labels, give the threshold that turns them into 0/1)"
            )
        most = 1 if self.file.labels is not None else self.classes - 1
        if float(rows.max()) > most:
            if self.file.labels is not None:
                raise DataError(f"{self.file.path} holds numbers above 1; labels are 0 or 1")
            reason = f"it holds numbers above {most}, but there are {self.classes} classes"
            raise DataError(LIKE_TALLIES.format(self.file.path, reason))
        return whole_numbers(rows.astype(np.int64) if rows.dtype.kind == "f" else rows)


class _CurrentChunk:
    """The voters of the chunk that is being answered; rows are positions in the file."""

    def __init__(self, identity: bytes, teachers: int) -> None:
        self.identity = identity
        self._teachers = teachers
        self._start = 0
        self._chunk: Tallies | IntArray = np.zeros((0, teachers), dtype=np.int64)

    def __len__(self) -> int:
        return self._teachers

    def load(self, start: int, chunk: Tallies | IntArray) -> None:
        """Move on to the next chunk."""
        self._start, self._chunk = start, chunk

    def ballots(self, rows: Matrix) -> Tallies | IntArray:
        """Return the votes at these positions."""
        some = rows - self._start
        if isinstance(self._chunk, Tallies):
            return Tallies(self._chunk.unlock(reason="answering some of the queries")[some])
        ballots: IntArray = self._chunk[some]
        return ballots


def vote(
    votes: SavedVotes,
    rules: Rules,
    ledger: str | Path | None,
    noise: NoiseSource,
    advance: Callable[[int], None] = lambda _: None,
    *,
    groups: bytes = b"",
) -> tuple[Answers, Guarantee, Anchor]:
    """Answer saved votes until they or the budget end; repeated queries cost nothing.

    Args:
        votes: the file and how to read it.
        rules: how votes are counted and charged, and when to stop.
        ledger: the data set's ledger; None for one in memory.
        noise: secure, or seeded for experiments.
        advance: called with the number of queries that are done, for progress bars.
        groups: which teacher belongs to which group. If that changes, records may have changed
            their groups too, and every query is charged at the worst case.

    Returns:
        The answers, the guarantee of everything in the ledger, and the ledger's anchor then.
    """
    if rules.mode is Mode.FIXED and rules.queries != votes.number:
        raise ParameterError(
            f"{rules.queries} queries were fixed beforehand, but the file has {votes.number}; give "
            "the number of rows. Nothing was charged"
        )
    votes.check(published=rules.mode is Mode.FIXED)
    with Ledger.open(ledger, rules.promise()) as book:
        content = votes.identity
        # A seeded run must be repeatable with a new ledger; a real one must not be guessable.
        name = noise.words("saved votes", content, 4) if noise.seeded else book.keyed(content)
        current = _CurrentChunk(name, rules.plan.teachers if votes.tallies else votes.teachers)
        session = Session.open(
            rules,
            current,
            book,
            noise,
            groups=book.keyed(b"groups\0" + groups).hex() if rules.plan.individual else "",
            pool=_keys(0, votes.number) if rules.mode is Mode.FIXED else None,
            chunk=CHUNK,
        )
        parts = [
            session.answer(rows, _keys_of(rows), advance).labels for rows in _rows(votes, current)
        ]
        answers = Answers(np.concatenate(parts), session.names)
        if not answers.asked.any():
            raise session.refusal()
        if rules.mode is Mode.FIXED:
            session.publish(_rows(votes, current), _keys_of)
        with book.snapshot():  # others may write: guarantee and anchor must be of one moment
            guarantee = guarantee_of(book, noise, usual=(TEACHERS, SETTINGS))
            return answers, guarantee, book.head()


def _rows(votes: SavedVotes, current: _CurrentChunk) -> Iterator[IntArray]:
    """Yield the positions of the file's rows chunk by chunk, loading each chunk first."""
    start = 0
    for chunk in votes.chunks():
        current.load(start, chunk)
        yield np.arange(start, start + len(chunk))
        start += len(chunk)


def _keys_of(rows: Matrix) -> list[bytes]:
    return _keys(int(rows[0]), len(rows))


def _keys(start: int, number: int) -> list[bytes]:
    return [row.to_bytes(8, "big") for row in range(start, start + number)]
