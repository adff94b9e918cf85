"""Where the harness touches the package: what it watches, and where it interrupts.

Everything is watched from outside. At the step that counts ballots each teacher's ballot is
flipped in turn, and how far the counts move is that teacher's weight; what a plan says about
itself is not asked. An answer counts as released once it stands in a ledger, because whoever asks
again is given it for nothing; one that was drawn and then lost is told apart. Now and then another
process is faster and records its own answers first, and checkpoints come often.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from ballotine.ledger import Grant, Ledger, writer
from ballotine.ledger.answers import as_answers
from ballotine.noise import SecureNoise
from ballotine.privacy.smooth import planning
from ballotine.teachers.ensemble import Ensemble
from ballotine.voting import (
    ConfidentGNMax,
    GNMax,
    LNMax,
    Plan,
    PowersetVoting,
    Session,
    Tallies,
    publication,
)
from ballotine.voting.multilabel.ballots import SubsetTallies
from ballotine.voting.multilabel.label_voting import LabelVoting
from tests.truth.accountant import Query, Rule

BATCH = 2
"""Queries that are reserved together: few, so that an interruption finds some done."""
STAGES = ("ballots", "count", "reserve", "draw", "release", "between")
RIVALS = 0.1
"""How often another process records its answers to the same queries first."""
OFTEN = 5
"""Entries between checkpoints."""
LOOKING = "the harness of a record's truth"

Release = Callable[..., Any]
_tally, _answer = Plan.tally, Session.answer
_reserve, _record, _publish = Ledger.reserve, Ledger.record, Ledger.publish
_envelopes = cache(publication.envelope_of)
_PLAN = {"ORDERS": (4.0,), "_RATES": (0.07,), "_OFFSETS": (0.0,)}
"""One plan instead of the best of many: any plan that is fixed beforehand must be safe."""


@cache
def _planned(*settings: Any) -> Any:
    """How an ε will be published, found at once."""
    with changed() as put:
        put(publication, "ORDERS", _PLAN["ORDERS"])
        put(planning, "_RATES", _PLAN["_RATES"])
        put(planning, "_OFFSETS", _PLAN["_OFFSETS"])
        return _plan(*settings)


_plan = publication.plan_publication


class InjectedError(RuntimeError):
    """Raised by the harness in the middle of things."""


class Watch:
    """What was counted, drawn and kept while answering; raises where it was told to."""

    def __init__(self, seed: int) -> None:
        self._counted: dict[int, tuple[Any, Any, Any, int, Any]] = {}
        self._granted: list[bytes] = []
        self._drawn: dict[bytes, Query] = {}
        self._stands: dict[bytes, Query] = {}
        self._trap: tuple[str, int, type[BaseException]] | None = None
        self._random, self._rivals = random.Random(seed), random.Random(~seed)

    def trap(self, stage: str, after: int, error: type[BaseException]) -> None:
        """Raise at that stage, after it was passed so many times."""
        self._trap = (stage, after, error)

    def disarm(self) -> None:
        """Forget the trap."""
        self._trap = None

    def released(self) -> dict[bytes, Query]:
        """The queries answered since the last look."""
        found, self._stands = self._stands, {}
        return found

    def lost(self) -> dict[bytes, Query]:
        """The queries that were drawn for since the last look and never recorded."""
        found, self._drawn = self._drawn, {}
        return found

    def grants(self, grant: Grant) -> None:
        """What may be drawn for next."""
        self._granted = grant.ids
        self.passes("reserve")

    def passes(self, stage: str) -> None:
        """Called at every stage."""
        if self._trap is None or self._trap[0] != stage:
            return
        where, after, error = self._trap
        self._trap = (where, after - 1, error)
        if after <= 0:
            self._trap = None
            raise error("interrupted by the harness")

    def words(self, count: int) -> bytes:
        """Stands for the operating system's generator, so that a sequence can be repeated."""
        return self._random.randbytes(8 * count)

    def counts(self, plan: Plan, votes: Any, classes: int, turns: Any) -> Tallies:
        """Count as asked, and remember how: a first count is a trial and may not be released."""
        self.passes("count")
        tallies = _tally(plan, votes, classes, turns)
        self._counted[id(tallies)] = (tallies, plan, votes, classes, turns)
        return tallies

    def draws(self, release: Release, mechanism: Any, tallies: Tallies, noise: Any) -> Any:
        """Draw as asked, and remember what the counts were that it was drawn for."""
        self.passes("draw")
        answers = release(mechanism, tallies, noise)
        _, plan, votes, classes, turns = self._counted[id(tallies)]
        self._counted = {}
        table = tallies.unlock(reason=LOOKING)
        weights = weights_of(plan, votes, classes, turns)
        several, rule = mechanism.multilabel, rule_of(mechanism.describe(), classes)
        self._drawn |= {
            name: Query(
                rule,
                tuple(weights[place].tolist()),
                () if several else tuple(int(v) for v in votes[place]),
                tuple(float(n) for n in table[place]),
                int(np.count_nonzero(np.atleast_1d(answer) >= 0)),
            )
            for place, (name, answer) in enumerate(zip(self._granted, answers, strict=True))
        }
        self.passes("release")
        return answers

    def records(self, ledger: Ledger, grant: Grant, answers: Any, *more: Any, **named: Any) -> Any:
        """Record as asked; what was not there before and is there now was released."""
        asked = grant.ids[: len(answers)]
        before = ledger.lookup(asked)
        if self._rivals.random() < RIVALS:
            _record(ledger, grant, _others(answers), *more, **named)
        standing = _record(ledger, grant, answers, *more, **named)
        kept = ledger.lookup(asked)
        assert as_answers(standing) == [kept[name] for name in asked], "what leaves is what stands"
        drawn = {name: self._drawn.pop(name) for name in asked}
        self._stands |= {name: query for name, query in drawn.items() if name not in before}
        self.passes("between")
        return standing


def weights_of(plan: Plan, votes: Any, classes: int, turns: Any) -> Any:
    """How far each teacher's ballot moves the counts: flip one after the other, and see."""
    table = _counts(_tally(plan, votes, classes, turns))
    weights = np.zeros(votes.shape[:2])
    for teacher in range(votes.shape[1]):
        flipped = votes.copy()
        mine = votes[:, teacher]
        flipped[:, teacher] = 1 - mine if plan.mechanism.multilabel else (mine + 1) % classes
        moved = _counts(_tally(plan, flipped, classes, turns))
        weights[:, teacher] = np.abs(moved - table).max(axis=1)
    return weights


def _counts(tallies: Tallies) -> Any:
    """The counts; those of sets of labels at the place of their set."""
    counts = tallies.unlock(reason=LOOKING)
    if not isinstance(tallies, SubsetTallies):
        return counts
    places = tallies.unlock_sets(reason=LOOKING)[:, :, 0]
    table = np.zeros((len(counts), 256))
    for row, (listed, votes) in enumerate(zip(places, counts, strict=True)):
        np.add.at(table[row], listed, votes)
    return table


def _others(answers: Any) -> Any:
    """Other answers to the same queries; an abstention stays one."""
    return np.where(answers >= 0, answers == 0, answers).astype(np.int64)


def rule_of(described: str, classes: int) -> Rule:
    """A mechanism's public description."""
    content = json.loads(described)
    name = content.pop("mechanism")
    simple = {k: v for k, v in content.items() if isinstance(v, (int, float))}
    return Rule(name, tuple(sorted(simple.items())), classes)


@contextmanager
def watching(seed: int) -> Iterator[Watch]:
    """Watch everything that is answered, with repeatable noise and plans made once."""
    watch = Watch(seed)

    def count(self: Plan, votes: Any, classes: int, turns: Any = None) -> Tallies:
        return watch.counts(self, votes, classes, turns)

    def answer(self: Session, *given: Any, **named: Any) -> Any:
        self.chunk = BATCH
        return _answer(self, *given, **named)

    def reserve(self: Ledger, *given: Any, **named: Any) -> Grant:
        grant = _reserve(self, *given, **named)
        watch.grants(grant)
        return grant

    def record(self: Ledger, *given: Any, **named: Any) -> Any:
        return watch.records(self, *given, **named)

    def publish(self: Ledger, *given: Any, **named: Any) -> Any:
        watch.passes("publish")
        return _publish(self, *given, **named)

    def words(_: SecureNoise, _purpose: str, _key: bytes, number: int) -> bytes:
        return watch.words(number)

    with changed() as put:
        put(Plan, "tally", count)
        put(Session, "answer", answer)
        put(Ledger, "reserve", reserve)
        put(Ledger, "record", record)
        put(Ledger, "publish", publish)
        put(writer, "CHECKPOINT_INTERVAL", OFTEN)
        for kind in (GNMax, ConfidentGNMax, LNMax, LabelVoting, PowersetVoting):
            put(kind, "release", _drawing(kind.release, watch))
        put(Ensemble, "ballots", _voting(Ensemble.ballots, watch))
        put(SecureNoise, "words", words)
        put(publication, "plan_publication", _planned)
        put(publication, "envelope_of", _envelopes)
        yield watch


@contextmanager
def changed() -> Iterator[Callable[[Any, str, Any], None]]:
    """Change attributes, and put them back."""
    before: list[tuple[Any, str, Any]] = []

    def put(owner: Any, name: str, value: Any) -> None:
        before.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    try:
        yield put
    finally:
        for owner, name, value in reversed(before):
            setattr(owner, name, value)


def _drawing(release: Release, watch: Watch) -> Callable[..., Any]:
    def draw(self: Any, tallies: Any, noise: Any) -> Any:
        return watch.draws(release, self, tallies, noise)

    return draw


def _voting(ballots: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    def voted(*given: Any, **named: Any) -> Any:
        found = ballots(*given, **named)
        watch.passes("ballots")
        return found

    return voted
