"""What is true of one configuration: its cost at every order, and who shows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ballotine.oracle.divergence import doubt, renyi
from ballotine.types import FloatArray


@dataclass(frozen=True)
class Truth:
    """The largest divergence of one configuration.

    Attributes:
        values: at each point of the axis (the orders, mostly), shape (m,).
        doubt: how far each value may be off, shape (m,).
        witnesses: the neighbour and the direction that reach each value.
    """

    values: FloatArray
    doubt: FloatArray
    witnesses: tuple[str, ...]

    @property
    def floor(self) -> FloatArray:
        """What is certain: the values less their doubt."""
        doubt = np.where(np.isinf(self.values), 0.0, self.doubt)
        return np.maximum(self.values - doubt, 0.0)


def worst_neighbour(
    law: FloatArray,
    neighbours: FloatArray,
    name: Callable[[int], str],
    orders: FloatArray,
    *,
    forward_only: bool = False,
) -> Truth:
    """Return the largest divergence between a law and its neighbours' laws.

    Args:
        law: log-probabilities, shape (outcomes,).
        neighbours: the same for each neighbour, shape (neighbours, outcomes).
        name: what to call a neighbour, by its number.
        orders: Rényi orders, shape (m,).
        forward_only: leave D(neighbour‖law) out.
    """
    if len(neighbours) == 0:
        return Truth(np.zeros(orders.size), np.zeros(orders.size), ("",) * orders.size)
    own = np.broadcast_to(law, neighbours.shape)
    tables = [renyi(own, neighbours, orders)]
    if not forward_only:
        tables.append(renyi(neighbours, own, orders))
    return largest(tables, name, orders)


def largest(tables: Sequence[FloatArray], name: Callable[[int], str], orders: FloatArray) -> Truth:
    """Return the maximum over neighbours of the forward (and reverse) divergences.

    Args:
        tables: one or two arrays of shape (neighbours, m): forward, then reverse.
        name: what to call a neighbour, by its number.
        orders: shape (m,).
    """
    both = np.concatenate(tables)
    places = both.argmax(axis=0)
    values = both[places, np.arange(orders.size)]
    number = len(tables[0])
    witnesses = tuple(
        f"{'D(tally‖neighbour)' if place < number else 'D(neighbour‖tally)'}, "
        f"neighbour {name(int(place) % number)}"
        for place in places
    )
    return Truth(values, doubt(values, orders), witnesses)
