"""Tallies to check: all small ones, and random large ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ballotine.oracle.neighbours import Tally
from ballotine.verification.case import Effort

SIGMAS = (0.5, 1.0, 2.0, 5.0, 20.0)
QUICK_SIGMAS = (0.5, 2.0, 20.0)


@dataclass(frozen=True)
class Vote:
    """One tally, its noise, and the teachers that may change their votes."""

    tally: Tally
    sigma: float
    weight: float = 1.0
    teachers: int = 1


def tallies(votes: int, classes: int, most: int | None = None) -> Iterator[Tally]:
    """Yield every sorted tally with this number of votes; costs do not depend on class names."""
    limit = votes if most is None else min(votes, most)
    if classes == 1:
        if votes <= limit:
            yield (float(votes),)
        return
    for first in range(limit, -1, -1):
        for rest in tallies(votes - first, classes - 1, first):
            yield (float(first), *rest)


def small_tallies(
    effort: Effort, classes: tuple[int, ...] = (2, 3, 4), votes: int = 12
) -> Iterator[Tally]:
    """Yield every sorted tally of up to `votes` votes (half as many when quick)."""
    for number in range(1, (votes // 2 if effort.quick else votes) + 1):
        for width in classes:
            yield from tallies(number, width)


def small_votes(
    effort: Effort, classes: tuple[int, ...] = (2, 3, 4), votes: int = 12
) -> Iterator[Vote]:
    """Yield every small tally at several noise levels."""
    for sigma in QUICK_SIGMAS if effort.quick else SIGMAS:
        for tally in small_tallies(effort, classes, votes):
            yield Vote(tally, sigma)


def clear_votes() -> Iterator[Vote]:
    """Yield two classes with a clear winner and little noise, where the published cost is tight."""
    for leader in range(12, 21):
        for sigma in (0.35, 0.8):
            yield Vote((float(leader), 20.0 - leader), sigma)


def random_tally(draw: np.random.Generator, votes: int, classes: int) -> Tally:
    """Return whole votes, from nearly unanimous to nearly even."""
    shares = draw.dirichlet(np.full(classes, 10.0 ** draw.uniform(-1.5, 1.5)))
    counts = np.sort(draw.multinomial(votes, shares))[::-1]
    return tuple(float(count) for count in counts)


def close_race(draw: np.random.Generator, votes: int, classes: int) -> Tally:
    """Return whole votes with two leading classes, where an answer costs most."""
    spare = int(draw.integers(0, max(1, votes // 3))) if classes > 2 else 0
    gap = int(draw.integers(0, max(1, (votes - spare) // 3)))
    leader = (votes - spare + gap) // 2
    rest = draw.multinomial(spare, np.full(max(1, classes - 2), 1.0 / max(1, classes - 2)))
    counts = [leader, votes - spare - leader, *(rest if classes > 2 else [])]
    return tuple(float(count) for count in sorted(counts, reverse=True))


def large_votes(
    effort: Effort, name: str, number: int = 80, classes: tuple[int, ...] = (2, 3, 5, 10)
) -> Iterator[Vote]:
    """Yield random tallies of 20 to 500 votes with little to much noise."""
    draw = effort.draws(name)
    for _ in range(effort.number(number)):
        votes = int(draw.integers(20, 501))
        make = close_race if draw.random() < 0.5 else random_tally
        tally = make(draw, votes, int(draw.choice(classes)))
        # σ from 1/50 to 1/2 of the votes.
        yield Vote(tally, round(votes * 10.0 ** draw.uniform(-1.7, -0.3), 3))
