"""Answering votes that somebody saved, through a ledger: in Python or by ``ballotine vote``.

The file is read in chunks, so memory does not grow with the number of queries. A query is
a row of a file: the same file always gets the same answers, another file new ones.
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
from ballotine.voting.tally import MOST_CLASSES, Tallies

CHUNK = 8192
TEACHERS = (
    "every ballot comes from a teacher that saw its own private records only, each record one "
    "teacher (or as the plan of individual budgets says); all votes in this ledger come from "
    "teachers of one data set, and a record is in the same group in all of them"
)
SETTINGS = "the settings were chosen without looking at the private data or the votes"
FROM_VOTES = "the number of classes was read from the votes"
LIKE_TALLIES = (
    "{} looks like counts, not like ballots: {}. If it holds counts, one column per class, say "
    "so with --tallies; if every column is a teacher's class numbers, say --ballots"
)


@dataclass(frozen=True)
class SavedVotes:
    """A file of votes and how to read it.

    Attributes:
        file: from `ballotine.data.ballots.open_votes`.
        classes: how many classes (or labels) are voted on.
        tallies: the file holds counts, not ballots.
        queries: only the first so many rows; None for all.
        thresholds: what a label's probability must exceed, when ballots are probabilities.
        classes_from_votes: the number of classes was read from the file: for the holder's eyes,
            because what is answered may not depend on it.
        ballots: somebody vouches that these are ballots, even if they look like counts.
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
        """Settle what the votes are about, from public knowledge where it is given."""
        several = file.labels is not None
        if mechanism.task.several != several:
            wanted = "two axes" if several else "(queries, teachers, labels)"
            raise DataError(f"{mechanism.name} needs votes of shape {wanted}: {file.path}")
        if tallies and (several or classes not in (None, file.columns)):
            raise ParameterError("tallies have one column per class, and no labels")
        if tallies and ballots:
            raise ParameterError("a file holds tallies or ballots: say one of them")
        known = file.columns if tallies else (file.labels or classes)
        if known is not None:
            return cls(file, known, tallies, queries, thresholds, ballots=ballots)
        most = max(int(rows.max()) for rows in file.chunks(queries))
        if most >= MOST_CLASSES:
            raise DataError(f"{file.path} holds ballots for more than {MOST_CLASSES} classes")
        return cls(file, max(2, 1 + most), tallies, queries, thresholds, True, ballots)

    @property
    def number(self) -> int:
        """How many queries there are."""
        return self.file.queries if self.queries is None else min(self.queries, self.file.queries)

    @property
    def teachers(self) -> int:
        """How many teachers voted; of tallies, their sum."""
        if not self.tallies:
            return self.file.columns
        first = next(self.file.chunks(1))
        return round(float(first.sum()))

    @property
    def identity(self) -> bytes:
        """The votes' content: the file, and how it is read where that is not as plain ballots.

        Plain ballots go by their file alone, as in older ledgers.
        """
        reading = (self.tallies, self.file.labels, self.thresholds)
        how = b"" if reading == (False, None, None) else b"\0read as " + repr(reading).encode()
        return self.file.digest() + how

    def chunks(self) -> Iterator[Tallies | IntArray]:
        """The votes, some rows at a time, each of them checked."""
        for rows in self.file.chunks(self.queries):
            yield self._read(rows)

    def check(self, *, published: bool = False) -> None:
        """Read everything once: what is wrong with a row is found before anything is paid.

        Args:
            published: what the answers cost will be published, as in fixed mode.
        """
        if self.classes_from_votes:
            raise ParameterError(
                "the number of classes is public knowledge and not to be read from the votes: "
                "state it with --classes"
            )
        sums: set[int] = set()
        rows = 0
        # Whoever asks one row of many still shows whether rows have the same sum.
        alone = self.queries == 1 and not self.tallies
        shown = replace(self, queries=2) if alone else self
        for chunk in shown.chunks():
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
                f"{self.file.path} holds fractions; ballots are whole numbers (for labels, give "
                "the threshold that turns probabilities into 0/1)"
            )
        most = 1 if self.file.labels is not None else self.classes - 1
        if float(rows.max()) > most:
            if self.file.labels is not None:
                raise DataError(f"{self.file.path} holds numbers above 1; labels are 0 or 1")
            reason = f"it holds numbers above {most}, and there are {self.classes} classes"
            raise DataError(LIKE_TALLIES.format(self.file.path, reason))
        return whole_numbers(rows.astype(np.int64) if rows.dtype.kind == "f" else rows)


class _Shown:
    """The part of a file that is being answered; rows are positions in the file."""

    def __init__(self, identity: bytes, teachers: int) -> None:
        self.identity = identity
        self._teachers = teachers
        self._start = 0
        self._chunk: Tallies | IntArray = np.zeros((0, teachers), dtype=np.int64)

    def __len__(self) -> int:
        return self._teachers

    def show(self, start: int, chunk: Tallies | IntArray) -> None:
        """Move on to the next part."""
        self._start, self._chunk = start, chunk

    def ballots(self, rows: Matrix) -> Tallies | IntArray:
        """The votes at these positions."""
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
    """Answer saved votes until they or the budget end; what was answered before costs nothing.

    Args:
        votes: the file and how to read it.
        rules: how votes are counted, charged and stopped.
        ledger: the data set's ledger; None for one in memory.
        noise: secure, or seeded for experiments.
        advance: is told how many more queries are settled, for progress bars.
        groups: which teacher belongs to which group; when that changes, nobody can tell whether
            records changed theirs, and every query is charged at the worst.

    Returns:
        The answers, the guarantee of everything in the ledger, and where the ledger stood then.
    """
    if rules.mode is Mode.FIXED and rules.queries != votes.number:
        raise ParameterError(
            f"{rules.queries} queries were decided on, and the file has {votes.number}; state as "
            "many as there are, nothing was charged"
        )
    votes.check(published=rules.mode is Mode.FIXED)
    with Ledger.open(ledger, rules.promise()) as book:
        content = votes.identity
        # A seeded run must be repeatable with a new ledger; a real one must not be guessable.
        name = noise.words("saved votes", content, 4) if noise.seeded else book.keyed(content)
        shown = _Shown(name, rules.plan.teachers if votes.tallies else votes.teachers)
        session = Session.open(
            rules,
            shown,
            book,
            noise,
            groups=book.keyed(b"groups\0" + groups).hex() if rules.plan.individual else "",
            pool=_keys(0, votes.number) if rules.mode is Mode.FIXED else None,
            chunk=CHUNK,
        )
        parts = [
            session.answer(rows, _keys_of(rows), advance).labels for rows in _shown(votes, shown)
        ]
        answers = Answers(np.concatenate(parts), session.names)
        if not answers.asked.any():
            raise session.refusal()
        if rules.mode is Mode.FIXED:
            session.publish(_shown(votes, shown), _keys_of)
        with book.snapshot():  # others may write: guarantee and anchor are of one moment
            guarantee = guarantee_of(book, noise, usual=(TEACHERS, SETTINGS))
            return answers, guarantee, book.head()


def _shown(votes: SavedVotes, shown: _Shown) -> Iterator[IntArray]:
    """Positions of the file's rows, chunk by chunk, each shown before it is handed out."""
    start = 0
    for chunk in votes.chunks():
        shown.show(start, chunk)
        yield np.arange(start, start + len(chunk))
        start += len(chunk)


def _keys_of(rows: Matrix) -> list[bytes]:
    return _keys(int(rows[0]), len(rows))


def _keys(start: int, number: int) -> list[bytes]:
    return [row.to_bytes(8, "big") for row in range(start, start + number)]
