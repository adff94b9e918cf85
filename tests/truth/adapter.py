"""Where the harness touches the package: what it watches, and where it interrupts.

Everything is watched from outside. At the step that counts ballots each teacher's ballot is
flipped in turn, and how far the counts move is that teacher's weight; what a plan says about
itself is not asked. An answer counts as released once it stands in a ledger, because whoever asks
again is given it for nothing; one that was drawn and then lost does not.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from ballotine.ledger import Grant, Ledger
from ballotine.noise import SecureNoise
from ballotine.privacy import smooth
from ballotine.teachers.ensemble import Ensemble
from ballotine.voting import (
    ConfidentGNMax,
    GNMax,
    LNMax,
    Plan,
    Session,
    Tallies,
    publication,
)
from ballotine.voting.multilabel import LabelVoting
from tests.truth.accountant import Query, Rule

BATCH = 2
"""Queries that are reserved together: few, so that an interruption finds some done."""
STAGES = ("ballots", "count", "reserve", "draw", "release", "between")
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
        put(smooth, "_RATES", _PLAN["_RATES"])
        put(smooth, "_OFFSETS", _PLAN["_OFFSETS"])
        return _plan(*settings)


_plan = publication.plan_publication


class InjectedError(RuntimeError):
    """Raised by the harness in the middle of things."""


class Watch:
    """What was counted, drawn and kept while answering; raises where it was told to."""

    def __init__(self, seed: int) -> None:
        self._counted: dict[int, tuple[Any, Any, Any, int, Any]] = {}
        self._drawn: list[Query] = []
        self._stands: list[Query] = []
        self._trap: tuple[str, int, type[BaseException]] | None = None
        self._random = random.Random(seed)

    def trap(self, stage: str, after: int, error: type[BaseException]) -> None:
        """Raise at that stage, after it was passed so many times."""
        self._trap = (stage, after, error)

    def disarm(self) -> None:
        """Forget the trap."""
        self._trap = None

    def released(self) -> list[Query]:
        """The queries answered since the last look."""
        found, self._stands = self._stands, []
        return found

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
        self._drawn = [
            Query(
                rule,
                tuple(weights[place].tolist()),
                () if several else tuple(int(v) for v in votes[place]),
                tuple(float(n) for n in table[place]),
                bool((np.atleast_1d(answer) >= 0).any()),
            )
            for place, answer in enumerate(answers)
        ]
        self.passes("release")
        return answers

    def records(self, ledger: Ledger, grant: Grant, answers: Any, *more: Any, **named: Any) -> Any:
        """Record as asked; what was not there before and is there now was released."""
        drawn, self._drawn = self._drawn, []
        before = ledger.lookup(list(grant.ids))
        standing = _record(ledger, grant, answers, *more, **named)
        pairs = zip(grant.ids, drawn, strict=True)
        self._stands += [query for name, query in pairs if name not in before]
        self.passes("between")
        return standing


def weights_of(plan: Plan, votes: Any, classes: int, turns: Any) -> Any:
    """How far each teacher's ballot moves the counts: flip one after the other, and see."""
    table = _tally(plan, votes, classes, turns).unlock(reason=LOOKING)
    weights = np.zeros(votes.shape[:2])
    for teacher in range(votes.shape[1]):
        flipped = votes.copy()
        mine = votes[:, teacher]
        flipped[:, teacher] = 1 - mine if plan.mechanism.multilabel else (mine + 1) % classes
        moved = _tally(plan, flipped, classes, turns).unlock(reason=LOOKING)
        weights[:, teacher] = np.abs(moved - table).max(axis=1)
    return weights


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
        watch.passes("reserve")
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
        for kind in (GNMax, ConfidentGNMax, LNMax, LabelVoting):
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
