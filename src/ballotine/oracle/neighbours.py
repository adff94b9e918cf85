"""What one replaced record can turn a tally into."""

from __future__ import annotations

import itertools

Tally = tuple[float, ...]

# Sums of weights are rounded: a class that should hold one teacher may be a hair short.
_HAIR = 1e-9


def neighbours(tally: Tally, weight: float = 1.0, teachers: int = 1) -> list[Tally]:
    """Return every tally that up to so many teachers of this weight can make of it.

    Each of them leaves a class that holds a vote of this weight, and goes where it likes.
    """
    reached = {tally}
    fringe = {tally}
    for _ in range(teachers):
        fringe = {after for before in fringe for after in _single_moves(before, weight)} - reached
        reached |= fringe
    return sorted(reached - {tally}, reverse=True)


def _single_moves(tally: Tally, weight: float) -> list[Tally]:
    moved = []
    for loser, gainer in itertools.permutations(range(len(tally)), 2):
        if tally[loser] >= weight * (1.0 - _HAIR):
            after = list(tally)
            after[loser] = max(0.0, after[loser] - weight)
            after[gainer] += weight
            moved.append(tuple(after))
    return moved


def shown(tally: Tally) -> str:
    """Return a tally as people write it."""
    return "(" + ", ".join(f"{count:.6g}" for count in tally) + ")"
