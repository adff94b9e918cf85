"""Enumerate the ways in which several teachers may change their votes at once."""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np

from ballotine.errors import ParameterError
from ballotine.types import IntArray

MAX_MOVES = 10_000
"""More moves than this are not enumerated: pricing one tally would take seconds."""


@lru_cache(maxsize=16)
def split_moves(classes: int, teachers: int) -> IntArray:
    """Return what each class gains when up to `teachers` teachers move, shape (moves, classes).

    A class that both loses and gains only counts with its net change, so gains and losses are on
    different classes.

    Raises:
        ParameterError: when there are more than `MAX_MOVES`.
    """
    if move_count(classes, teachers) > MAX_MOVES:
        raise ParameterError(
            f"{teachers} teachers can move between {classes} classes in too many ways to "
            "enumerate; use published.gnmax with sensitivity = teachers × weight (u²α/σ²) instead"
        )
    moves = []
    for moving in range(1, teachers + 1):
        for losing in itertools.combinations_with_replacement(range(classes), moving):
            free = [name for name in range(classes) if name not in losing]
            for gaining in itertools.combinations_with_replacement(free, moving):
                move = np.zeros(classes, dtype=np.int64)
                np.subtract.at(move, list(losing), 1)
                np.add.at(move, list(gaining), 1)
                moves.append(move)
    table = np.array(moves, dtype=np.int64).reshape(len(moves), classes)
    table.setflags(write=False)
    return table


def move_count(classes: int, teachers: int) -> int:
    """Return the number of rows of `split_moves` without enumerating them.

    With t teachers moving, j classes lose (choose them, and how t splits into j positive parts)
    and the others gain (how t splits into classes − j parts that may be zero).
    """
    return sum(
        math.comb(classes, losing)
        * math.comb(moving - 1, losing - 1)
        * math.comb(classes - losing + moving - 1, moving)
        for moving in range(1, teachers + 1)
        for losing in range(1, min(moving, classes - 1) + 1)
    )
