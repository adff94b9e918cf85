"""Answering votes that somebody saved, through a ledger: in Python or by ``ballotine vote``.

The file is read in chunks, so memory does not grow with the number of queries. A query is
a row of a file: the same file always gets the same answers, another file new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ballotine.data.ballots import VoteFile
from ballotine.errors import DataError, ParameterError
from ballotine.ledger import Ledger, Mode, Terms
from ballotine.noise import NoiseSource
from ballotine.privacy.conversion import Method
from ballotine.privacy.guarantee import Budget, Guarantee
from ballotine.types import IntArray, Table
from ballotine.voting.answering import Answerer, Answers, query_ids
from ballotine.voting.individual import IndividualPlan
from ballotine.voting.labels import cast_labels
from ballotine.voting.mechanism import Bounds, Mechanism
from ballotine.voting.paper import PaperAnswerer
from ballotine.voting.promise import guarantee_of
from ballotine.voting.publication import fixed_terms, places_of, plan_publication, publish
from ballotine.voting.tally import MOST_CLASSES, Tallies

CHUNK = 8192
TEACHERS = (
    "every ballot comes from a teacher that saw its own private records only, each record one "
    "teacher (or as the plan of individual budgets says); all votes in this ledger come from "
    "teachers of one data set"
)
SETTINGS = "the settings were chosen without looking at the private data or the votes"
FROM_VOTES = "the number of classes was read from the votes"


@dataclass(frozen=True)
class SavedVotes:
    """A file of votes and how to read it.

    Attributes:
        file: from `ballotine.data.ballots.open_votes`.
        classes: how many classes (or labels) are voted on.
        tallies: the file holds counts, not ballots.
        queries: only the first so many rows; None for all.
        thresholds: what a label's probability must exceed, when ballots are probabilities.
        classes_from_votes: the number of classes was read from the file.
    """

    file: VoteFile
    classes: int
    tallies: bool = False
    queries: int | None = None
    thresholds: float | None = None
    classes_from_votes: bool = False

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
    ) -> SavedVotes:
        """Settle what the votes are about, from public knowledge where it is given."""
        if mechanism.multilabel != (file.labels is not None):
            wanted = "(queries, teachers, labels)" if mechanism.multilabel else "two axes"
            raise DataError(f"{mechanism.name} needs votes of shape {wanted}: {file.path}")
        if tallies and (mechanism.multilabel or classes not in (None, file.columns)):
            raise ParameterError("tallies have one column per class, and no labels")
        known = file.columns if tallies else (file.labels or classes)
        if known is not None:
            return cls(file, known, tallies, queries, thresholds)
        most = max(int(rows.max()) for rows in file.chunks(queries))
        if most >= MOST_CLASSES:
            raise DataError(f"{file.path} holds ballots for more than {MOST_CLASSES} classes")
        return cls(file, max(2, 1 + most), tallies, queries, thresholds, True)

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

    def chunks(self) -> Iterator[Tallies | IntArray]:
        """The votes, some rows at a time."""
        for rows in self.file.chunks(self.queries):
            yield self._read(rows)

    def _read(self, rows: Table) -> Tallies | IntArray:
        if self.tallies:
            return Tallies(rows.astype(np.float64))
        if self.thresholds is not None:
            return cast_labels(rows, self.thresholds)  # type: ignore[return-value]
        if rows.dtype.kind == "f" and np.any(rows != np.round(rows)):
            raise DataError(
                f"{self.file.path} holds fractions; ballots are whole numbers (for labels, give "
                "the threshold that turns probabilities into 0/1)"
            )
        return rows if rows.dtype.kind in "iu" else rows.astype(np.int64)


@dataclass(frozen=True)
class Rule:
    """How saved votes are answered.

    Attributes:
        mechanism: what turns tallies into answers; with a plan, the plan's.
        mode: when answering stops.
        budget: the promise to everyone; None in fixed mode and with a plan.
        delta: the δ of the promise.
        plan: individual budgets.
        bounds: the analysis that stops the paper mode.
        conversion: the conversion that stops the paper mode.
    """

    mechanism: Mechanism
    mode: Mode
    delta: float
    budget: Budget | None = None
    plan: IndividualPlan | None = None
    bounds: Bounds = "published"
    conversion: Method = "classic"

    def __post_init__(self) -> None:
        if self.mode is Mode.FIXED and (self.plan is not None or self.budget is not None):
            raise ParameterError(
                "the fixed mode promises no ε beforehand: leave the budget's ε away; individual "
                "budgets need the strict mode"
            )
        if self.budget is not None and self.plan is not None:
            raise ParameterError("give one ε for everyone, or one per group, not both")

    def terms(self, votes: SavedVotes, ledger: Path | None) -> Terms:
        """What the ledger promises; a fixed ledger that exists has promised already."""
        if self.mode is Mode.FIXED:
            if ledger is not None and ledger.is_file() and ledger.stat().st_size:
                with Ledger.existing(ledger) as known:
                    return known.terms
            plan, _ = plan_publication(
                self.mechanism, votes.teachers, votes.classes, votes.number, self.delta
            )
            return fixed_terms(self.mechanism, plan, votes.number, self.delta)
        if self.plan is not None:
            return Terms(Terms.of(self.plan.budgets).budgets, self.mode)
        if self.budget is None:
            raise ParameterError(f"the {self.mode} mode needs a budget's ε, or one per group")
        return Terms(Terms.of(self.budget).budgets, self.mode)


def vote(
    votes: SavedVotes,
    rule: Rule,
    ledger: str | Path | None,
    noise: NoiseSource,
    advance: Callable[[int], None] = lambda _: None,
) -> tuple[Answers, Guarantee]:
    """Answer saved votes until they or the budget end; what was answered before costs nothing.

    Args:
        votes: the file and how to read it.
        rule: mechanism, mode and budget.
        ledger: the data set's ledger; None for one in memory.
        noise: secure, or seeded for experiments.
        advance: is told how many more queries are settled, for progress bars.
    """
    where = None if ledger is None else Path(ledger)
    with Ledger.open(where, rule.terms(votes, where)) as book:
        answers = _answered(votes, rule, book, noise, advance)
        if not answers.asked.any():
            raise book.refusal(_door(rule, book, noise, votes.classes).charge())
        if rule.mode is Mode.FIXED and book.spending().statement is None:
            places = [places_of(_tallied(rule, chunk, votes.classes)) for chunk in votes.chunks()]
            publish(book, rule.mechanism, np.concatenate(places), noise)
        conditional = (FROM_VOTES,) if votes.classes_from_votes else ()
        guarantee = guarantee_of(book, noise, conditional=conditional, usual=(TEACHERS, SETTINGS))
    return answers, guarantee


def _answered(
    votes: SavedVotes,
    rule: Rule,
    book: Ledger,
    noise: NoiseSource,
    advance: Callable[[int], None],
) -> Answers:
    digest = votes.file.digest()
    # A seeded run must be repeatable with a new ledger; a real one must not be guessable.
    name = noise.words("saved votes", digest, 4) if noise.seeded else book.keyed(digest)
    door = _door(rule, book, noise, votes.classes)
    parts, start = [], 0
    for chunk in votes.chunks():
        keys = [row.to_bytes(8, "big") for row in range(start, start + len(chunk))]
        ids = query_ids(keys, name, rule.mechanism, rule.plan)
        parts.append(door.answer(ids, _picker(chunk), advance).labels)
        start += len(chunk)
    return Answers(np.concatenate(parts), np.arange(votes.classes))


def _door(rule: Rule, book: Ledger, noise: NoiseSource, classes: int) -> Answerer | PaperAnswerer:
    names = np.arange(classes)
    if rule.mode is Mode.PAPER:
        return PaperAnswerer(
            rule.mechanism,
            book,
            noise,
            names,
            plan=rule.plan,
            bounds=rule.bounds,
            conversion=rule.conversion,
        )
    return Answerer(rule.mechanism, book, noise, names, chunk=CHUNK, plan=rule.plan)


def _picker(chunk: Tallies | IntArray) -> Callable[[IntArray], Tallies | IntArray]:
    """The rows that are wanted, of tallies or of ballots."""

    def pick(rows: IntArray) -> Tallies | IntArray:
        if isinstance(chunk, Tallies):
            return Tallies(chunk.unlock(reason="answering some of the queries")[rows])
        return chunk[rows]

    return pick


def _tallied(rule: Rule, chunk: Tallies | IntArray, classes: int) -> Tallies:
    return chunk if isinstance(chunk, Tallies) else rule.mechanism.tally(chunk, classes)
