"""The session that answers queries through the ledger.

For each chunk it looks up what was answered before, fetches and validates the ballots of the
rest, reserves their worst-case cost, only then draws noise, records the answers, and returns what
the ledger holds. Estimators, runs, saved votes and other voters all answer through a session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Self

import numpy as np

from ballotine.data import row_keys
from ballotine.errors import DataError, LedgerMismatchError, ParameterError
from ballotine.ledger import Grant, Ledger, Mode
from ballotine.ledger.answers import Answer, as_answers
from ballotine.noise import NoiseSource, QueryNoise
from ballotine.privacy.events import Event
from ballotine.types import UNASKED, IntArray, Labels, Matrix
from ballotine.voting.answers import Answers
from ballotine.voting.publication import places_of, publish, require_publishable
from ballotine.voting.rules import Rules
from ballotine.voting.tally import Tallies
from ballotine.voting.voters import Voters

CHUNK = 64
RECORDS = "records:"
"""Prefix of a hash of groups that was computed from the records themselves."""
Advance = Callable[[int], None]


class Session:
    """Rules, voters, a ledger and a noise source that match each other.

    Open it with `Session.open`, which refuses any mismatch before anything is charged.
    """

    def __init__(
        self,
        rules: Rules,
        voters: Voters,
        ledger: Ledger,
        noise: NoiseSource,
        names: Labels,
        *,
        groups: str = "",
        pool: Sequence[bytes] | None = None,
        run: str = "",
        chunk: int = CHUNK,
    ) -> None:
        self.rules = rules
        self.voters = voters
        self.ledger = ledger
        self.noise = noise
        self.names = names
        self.run = run
        self.chunk = chunk
        self._pool = None if pool is None else frozenset(self._ids(pool))
        self.binding = rules.binding(ledger.keyed(voters.identity), groups, self._pool)

    @classmethod
    def open(
        cls,
        rules: Rules,
        voters: Voters,
        ledger: Ledger,
        noise: NoiseSource,
        *,
        names: Labels | None = None,
        groups: str = "",
        pool: Sequence[bytes] | None = None,
        run: str = "",
        chunk: int = CHUNK,
    ) -> Session:
        """Return a session; refuse rules, voters and ledgers that do not match.

        Args:
            rules: how votes are counted and charged, and when to stop.
            voters: the source of ballots.
            ledger: the ledger of the data set that the voters learned from.
            noise: secure, or seeded for experiments.
            names: the classes by number, or the names of the labels.
            groups: a keyed hash of every record's group, if budgets are individual.
            pool: keys of all rows, in fixed mode: exactly these are asked.
            run: a label for ``ballotine ledger show``.
            chunk: how many queries are reserved at once.
        """
        from ballotine.voting.paper import PaperSession

        kind = PaperSession if rules.mode is Mode.PAPER else cls
        known = np.arange(rules.classes) if names is None else np.asarray(names)
        session = kind(
            rules, voters, ledger, noise, known, groups=groups, pool=pool, run=run, chunk=chunk
        )
        session._require_fit()
        return session

    def answer(
        self, rows: Matrix, keys: Sequence[bytes] | None = None, advance: Advance = lambda _: None
    ) -> Answers:
        """Answer queries in order until all are answered or the budget ends.

        Queries that an interrupted session has reserved come first: they cost nothing more.

        Args:
            rows: public rows, in the form that the voters accept.
            keys: what identifies each row; by default its content. Equal keys are one query.
            advance: called with the number of queries that are done, for progress bars.
        """
        known_keys = row_keys(rows) if keys is None else keys
        ids = self._ids(known_keys)
        if not self.in_pool(known_keys):
            raise LedgerMismatchError(
                "in fixed mode all rows are fixed beforehand, and some of these are not among them"
            )
        first: dict[bytes, int] = {}
        for position, query in enumerate(ids):
            first.setdefault(query, position)
        known = self.ledger.lookup(list(first))
        todo = [query for query in first if query not in known]
        paid = self.ledger.pending(todo)
        todo.sort(key=lambda query: query not in paid)
        advance(len(ids) - len(todo))
        self._answer_all(todo, first, rows, known, advance)
        unasked = as_answers(self._constant(1, UNASKED))[0]
        labels = [known.get(query, unasked) for query in ids]
        return Answers(np.array(labels, dtype=np.int64), self.names)

    def publish(
        self, pool: Iterable[Matrix], keys: Callable[[Matrix], Sequence[bytes]] = row_keys
    ) -> None:
        """In fixed mode, publish the ε of all queries once they are answered, with noise.

        Args:
            pool: all different rows, in chunks.
            keys: what identifies each row, as when they were answered.
        """
        if self.rules.mode is not Mode.FIXED or self.ledger.spending().statement is not None:
            return
        places, asked = [], Counter[bytes]()
        for rows in pool:
            tallies = self._tallied(self._votes(rows), np.arange(len(rows)))
            places.append(places_of(tallies, len(self.voters)))
            asked.update(self._ids(keys(rows)))
        if asked != Counter(self._pool):  # otherwise ε would be that of other votes
            raise LedgerMismatchError(
                "ε is published for the queries that were fixed beforehand, each of them once, "
                "but these rows are different"
            )
        publish(self.ledger, self.rules.mechanism, np.concatenate(places), self.noise, self.binding)

    def in_pool(self, keys: Sequence[bytes]) -> bool:
        """Return whether all of these rows are among those fixed beforehand."""
        return self._pool is None or self._pool.issuperset(self._ids(keys))

    def is_whole_pool(self, keys: Sequence[bytes]) -> bool:
        """Return whether these rows are all of those fixed beforehand."""
        return self._pool is not None and self._pool == set(self._ids(keys))

    def refusal(self) -> Exception:
        """Return the error that explains why no further query is allowed."""
        return self.ledger.refusal(self.binding)

    def close(self) -> None:
        """Close the ledger."""
        self.ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    def realised(self, answers: IntArray, group: str) -> Counter[Event]:
        """Return what answers released about the records of a group."""
        reach = self.rules.plan.reach(group)
        return self.rules.mechanism.realised(answers, self.rules.classes, reach)

    def _require_fit(self) -> None:
        """Refuse rules, voters and ledgers that do not match, before anything is charged."""
        rules = self.rules
        if len(self.voters) != rules.plan.teachers:
            raise DataError(
                f"there are {len(self.voters)} voters, but the rules are for {rules.plan.teachers}"
            )
        if len(self.names) != rules.classes:
            raise ParameterError(f"give {rules.classes} names, one for each class or label")
        require_ledger(rules, self.ledger, self.binding.groups)
        if rules.mode is Mode.FIXED and len(self._pool or ()) != rules.queries:
            raise ParameterError(
                f"{rules.queries} queries were fixed beforehand, but {len(self._pool or ())} "
                "different rows were given; give all of them at once"
            )
        self.ledger.spending().require_chargeable(self.binding)

    def _ids(self, keys: Sequence[bytes]) -> list[bytes]:
        return self.rules.query_ids(keys, self.voters.identity)

    def _constant(self, queries: int, mark: int) -> IntArray:
        """Return the same mark as the answer to every query, and for every label."""
        tail = self.rules.mechanism.task.tail(self.rules.classes)
        return np.full((queries, *tail), mark, dtype=np.int64)

    def _answer_all(
        self,
        todo: list[bytes],
        first: dict[bytes, int],
        rows: Matrix,
        known: dict[bytes, Answer],
        advance: Advance,
    ) -> None:
        start = 0
        while start < len(todo):
            batch = todo[start : start + self.chunk]
            places = np.array([first[query] for query in batch], dtype=np.int64)
            answered = self._answer_batch(batch, rows[places])
            known.update(answered)
            advance(len(answered))
            # Abstentions cost less than was reserved for them: what was refused may fit now.
            start += len(answered)
            if not answered:
                break

    def _answer_batch(self, batch: list[bytes], rows: Matrix) -> dict[bytes, Answer]:
        """Answer as many queries of a batch as the budget allows."""
        votes = self._votes(rows)
        # Counting once before anything is charged finds ballots that cannot be counted.
        tallies = self._tallied(votes, np.arange(len(batch)))
        if self.rules.mode is Mode.FIXED:
            require_publishable(tallies, len(self.voters))
        grant = self.ledger.reserve(batch, self.binding, run=self.run, seeded=self.noise.seeded)
        drawn = False
        try:
            if len(grant.ids) < len(batch) or self.rules.plan.takes_turns:
                tallies = self._granted(batch, votes, rows, grant)
            noise = QueryNoise(self.noise, grant.ids)
            drawn = bool(grant.ids)
            answers = self.rules.mechanism.release(tallies, noise) if drawn else None
        except BaseException:
            if not drawn:
                self.ledger.mark_undrawn(grant, run=self.run)
            raise
        if answers is None:
            return {}
        standing = self.ledger.record(grant, answers, self.realised, run=self.run)
        return dict(zip(grant.ids, as_answers(standing), strict=True))

    def _votes(self, rows: Matrix) -> Tallies | IntArray:
        votes = self.voters.ballots(rows)
        if len(votes) != len(rows):
            raise DataError("the voters did not cast a ballot on every row")
        if isinstance(votes, Tallies):
            return votes
        return whole_numbers(votes)

    def _tallied(self, votes: Tallies | IntArray, turns: IntArray) -> Tallies:
        tallies = self.rules.plan.tally(votes, self.rules.classes, turns)
        self.rules.mechanism.require(tallies)
        return tallies

    def _granted(
        self, batch: list[bytes], votes: Tallies | IntArray, rows: Matrix, grant: Grant
    ) -> Tallies:
        """Count the granted queries again, by the teachers whose turn it is."""
        places = {query: place for place, query in enumerate(batch)}
        kept = np.array([places[query] for query in grant.ids], dtype=np.int64)
        some = self.voters.ballots(rows[kept]) if isinstance(votes, Tallies) else votes[kept]
        return self._tallied(some, grant.turns)


def require_ledger(rules: Rules, ledger: Ledger, groups: str = "") -> None:
    """Refuse a ledger with other terms, or one that charged the records in other groups.

    Args:
        rules: how votes are charged.
        ledger: the ledger to check.
        groups: a keyed hash of every record's group, if budgets are individual.
    """
    reason = rules.promise().disagreement(ledger.terms)
    if reason is not None:
        raise LedgerMismatchError(f"the ledger does not fit: {reason}; nothing was charged")
    known = {binding.groups for binding in ledger.spending().bindings.values()}
    if groups.startswith(RECORDS) and any(k.startswith(RECORDS) for k in known - {groups}):
        raise LedgerMismatchError(
            "records are in different groups than when this ledger first charged them, and a "
            "record's group is part of its guarantee; nothing was charged. Restore the groups, "
            "or use a new ledger, whose budgets add to those of this one"
        )


def whole_numbers(ballots: Matrix) -> IntArray:
    """Return ballots as signed integers; refuse other types."""
    if ballots.dtype.kind not in "biu":
        raise DataError("ballots must be whole numbers")
    if ballots.dtype != np.uint64:
        return ballots
    if ballots.size and int(ballots.max()) > np.iinfo(np.int64).max:
        raise DataError("ballots must be class numbers")
    return ballots.astype(np.int64)
