"""The neighbours of a tally: the tallies that one replaced record can lead to."""

from __future__ import annotations

import itertools

Tally = tuple[float, ...]

# Sums of weights are rounded: a class that holds one teacher may be slightly below its weight.
_TOLERANCE = 1e-9


def neighbours(tally: Tally, weight: float = 1.0, teachers: int = 1) -> list[Tally]:
    """Return every other tally that up to this many teachers of this weight can lead to.

    Each of them moves its vote from a class that holds one of this weight to any other class.
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
        if tally[loser] >= weight * (1.0 - _TOLERANCE):
            after = list(tally)
            after[loser] = max(0.0, after[loser] - weight)
            after[gainer] += weight
            moved.append(tuple(after))
    return moved


def format_tally(tally: Tally) -> str:
    """Return a tally as text."""
    return "(" + ", ".join(f"{count:.6g}" for count in tally) + ")"
