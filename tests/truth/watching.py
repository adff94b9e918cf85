"""Seeing from outside whose ballots counted, and what left: the touching points with the code.

Ballots are perturbed one teacher at a time, and the tallies compared: nothing is believed about
what a plan says of itself. A draw counts as released when the ledger has recorded it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from ballotine.ledger import Ledger
from ballotine.voting import ConfidentGNMax, GNMax, LNMax, Plan, Tallies
from tests.truth.accountant import Noise, Vote


class InterruptedAnswerError(Exception):
    """Raised at a chosen point of an answer's life."""


class Watch:
    """Collects votes that were released, and can interrupt before or after the draw."""

    def __init__(self) -> None:
        self.released: list[Vote] = []
        self.interrupt: str | None = None
        self._weights: dict[int, tuple[Any, np.ndarray]] = {}
        self._drawn: list[Vote] = []

    def take(self) -> list[Vote]:
        """What was released since the last time."""
        found, self.released = self.released, []
        return found

    def counted(self, plan: Plan, tally: Any, votes: Any, classes: int, turns: Any) -> Tallies:
        """Count, and find out what each ballot counted."""
        result: Tallies = tally(plan, votes, classes, turns)
        before = result.unlock(reason="a test on made-up ballots")
        weights = np.zeros(votes.shape)
        for teacher in range(votes.shape[1]):
            other = votes.copy()
            other[:, teacher] = (other[:, teacher] + 1) % classes
            after = tally(plan, other, classes, turns).unlock(reason="a test")
            weights[:, teacher] = np.abs(after - before).max(axis=1)
        self._weights[id(result)] = (result, weights)
        return result

    def drawn(self, mechanism: Any, release: Any, tallies: Tallies, noise: Any) -> np.ndarray:
        """Draw, and note what would leave."""
        if self.interrupt == "before the draw":
            raise InterruptedAnswerError
        answers: np.ndarray = release(mechanism, tallies, noise)
        weights = self._weights[id(tallies)][1]
        for row, answer in zip(weights, answers, strict=True):
            law, check = _noise(mechanism)
            given = tuple(np.round(row, 9).tolist())
            left = None if answer < 0 else law
            self._drawn.append(Vote(given, tallies.classes, left, check))
        if self.interrupt == "after the draw":
            self._drawn.clear()
            raise InterruptedAnswerError
        return answers

    def recorded(self) -> None:
        """The ledger has it: it may leave."""
        self.released += self._drawn
        self._drawn = []


def _noise(mechanism: Any) -> tuple[Noise, float | None]:
    if isinstance(mechanism, LNMax):
        return Noise(1.0 / mechanism.gamma, laplace=True), None
    check = mechanism.sigma_threshold if isinstance(mechanism, ConfidentGNMax) else None
    return Noise(mechanism.sigma), check


@contextmanager
def watching() -> Iterator[Watch]:
    """Watch everything that is answered inside."""
    watch, patch = Watch(), pytest.MonkeyPatch()
    tally, record = Plan.tally, Ledger.record

    def count(plan: Plan, votes: Any, classes: int, turns: Any = None) -> Tallies:
        return watch.counted(plan, tally, votes, classes, turns)

    def keep(ledger: Ledger, *parts: Any, **more: Any) -> Any:
        found = record(ledger, *parts, **more)
        watch.recorded()
        return found

    patch.setattr(Plan, "tally", count)
    patch.setattr(Ledger, "record", keep)
    for kind in (GNMax, ConfidentGNMax, LNMax):
        release = kind.release
        patch.setattr(
            kind, "release", lambda own, t, n, release=release: watch.drawn(own, release, t, n)
        )
    try:
        yield watch
    finally:
        patch.undo()
