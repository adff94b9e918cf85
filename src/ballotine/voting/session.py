"""Answering queries through the ledger: the one session that does it.

For each chunk: look up what was answered before, fetch and check the ballots of the rest,
reserve their worst case, only then draw noise, record, and hand out what the ledger holds.
Estimators, runs, saved votes, and whoever else has voters, all answer through here.
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
"""How a mark of groups begins that was taken of the records themselves."""
Advance = Callable[[int], None]


class Session:
    """Rules, voters, a ledger and a noise source, found to fit each other.

    Open it with `Session.open`, which refuses every mismatch before anything is paid for.
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
        """A session, if everything fits.

        Args:
            rules: how votes are counted, charged and stopped.
            voters: who votes.
            ledger: of the data set they learnt from.
            noise: secure, or seeded for experiments.
            names: what class numbers stand for, or the names of the labels.
            groups: a keyed hash of every record's group, where they have budgets of their own.
            pool: keys of all rows, in fixed mode: neither fewer nor more are asked.
            run: a label for ``ballotine ledger show``.
            chunk: how many queries are paid for at once.
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

        Queries that an interrupted session has paid for come first: they cost nothing more.

        Args:
            rows: public rows, as the voters take them.
            keys: what tells rows apart; by default their content. Equal keys are one query.
            advance: is told how many more queries are settled, for progress bars.
        """
        known_keys = row_keys(rows) if keys is None else keys
        ids = self._ids(known_keys)
        if not self.holds(known_keys):
            raise LedgerMismatchError(
                "in fixed mode all rows are given beforehand, and some of these are others"
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
            pool: all different rows, some at a time.
            keys: what tells rows apart, as when they were answered.
        """
        if self.rules.mode is not Mode.FIXED or self.ledger.spending().statement is not None:
            return
        places, asked = [], Counter[bytes]()
        for rows in pool:
            tallies = self._tallied(self._votes(rows), np.arange(len(rows)))
            places.append(places_of(tallies, len(self.voters)))
            asked.update(self._ids(keys(rows)))
        if asked != Counter(self._pool):  # else the ε would be that of other votes
            raise LedgerMismatchError(
                "an ε is published of the queries that were fixed beforehand, each of them once, "
                "and these rows are others"
            )
        publish(self.ledger, self.rules.mechanism, np.concatenate(places), self.noise, self.binding)

    def holds(self, keys: Sequence[bytes]) -> bool:
        """Whether all of these rows are among those that were fixed beforehand."""
        return self._pool is None or self._pool.issuperset(self._ids(keys))

    def is_whole(self, keys: Sequence[bytes]) -> bool:
        """Whether these rows are all that were fixed beforehand."""
        return self._pool is not None and self._pool == set(self._ids(keys))

    def refusal(self) -> Exception:
        """Why another query is not allowed."""
        return self.ledger.refusal(self.binding)

    def close(self) -> None:
        """Let go of the ledger."""
        self.ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    def realised(self, answers: IntArray, group: str) -> Counter[Event]:
        """What answers did release about the records of a group."""
        reach = self.rules.plan.reach(group)
        return self.rules.mechanism.realised(answers, self.rules.classes, reach)

    def _require_fit(self) -> None:
        """Refuse every mismatch of rules, voters and ledger: nothing is paid for yet."""
        rules = self.rules
        if len(self.voters) != rules.plan.teachers:
            raise DataError(
                f"{len(self.voters)} voters cast ballots, and the rules are for "
                f"{rules.plan.teachers}"
            )
        if len(self.names) != rules.classes:
            raise ParameterError(f"{rules.classes} classes need as many names")
        require_ledger(rules, self.ledger, self.binding.groups)
        if rules.mode is Mode.FIXED and len(self._pool or ()) != rules.queries:
            raise ParameterError(
                f"{rules.queries} queries were fixed beforehand, and {len(self._pool or ())} "
                "different rows are given; give all of them at once"
            )
        self.ledger.spending().require_chargeable(self.binding)

    def _ids(self, keys: Sequence[bytes]) -> list[bytes]:
        return self.rules.query_ids(keys, self.voters.identity)

    def _constant(self, queries: int, mark: int) -> IntArray:
        """The same mark as the answer to every query, and for every label."""
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
            # Abstentions cost less than was set aside for them: what was refused may fit now.
            start += len(answered)
            if not answered:
                break

    def _answer_batch(self, batch: list[bytes], rows: Matrix) -> dict[bytes, Answer]:
        """Answer those of a batch that the budget allows."""
        votes = self._votes(rows)
        # Counting once before anything is paid for finds out whether it can be done.
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
        """Counts of the queries that may be answered, by those whose turn it is."""
        places = {query: place for place, query in enumerate(batch)}
        kept = np.array([places[query] for query in grant.ids], dtype=np.int64)
        some = self.voters.ballots(rows[kept]) if isinstance(votes, Tallies) else votes[kept]
        return self._tallied(some, grant.turns)


def require_ledger(rules: Rules, ledger: Ledger, groups: str = "") -> None:
    """Refuse a ledger that promises something else, or knows records in other groups.

    Args:
        rules: how votes are to be charged.
        ledger: where.
        groups: a keyed hash of every record's group, where they have budgets of their own.
    """
    reason = rules.promise().disagreement(ledger.terms)
    if reason is not None:
        raise LedgerMismatchError(f"the ledger does not fit: {reason}; nothing was charged")
    known = {binding.groups for binding in ledger.spending().bindings.values()}
    if groups.startswith(RECORDS) and any(k.startswith(RECORDS) for k in known - {groups}):
        raise LedgerMismatchError(
            "records are in other groups than when this ledger first charged them, and a "
            "record's group is part of the promise to it; nothing was charged. Restore the "
            "groups, or give the records a new ledger whose budgets add to this one's"
        )


def whole_numbers(ballots: Matrix) -> IntArray:
    """Ballots as signed numbers, whatever type they came in."""
    if ballots.dtype.kind not in "biu":
        raise DataError("ballots must be whole numbers")
    if ballots.dtype != np.uint64:
        return ballots
    if ballots.size and int(ballots.max()) > np.iinfo(np.int64).max:
        raise DataError("ballots must be class numbers")
    return ballots.astype(np.int64)
