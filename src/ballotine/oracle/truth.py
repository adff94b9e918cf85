"""The true cost of one configuration at every order, and the neighbour that attains it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ballotine.oracle.divergence import error_bound, renyi
from ballotine.types import FloatArray


@dataclass(frozen=True)
class Truth:
    """The largest divergence of one configuration.

    Attributes:
        values: at each point of the axis (usually the orders), shape (m,).
        error: bounds on the numerical error of the values, shape (m,).
        witnesses: the neighbour and the direction that attain each value.
    """

    values: FloatArray
    error: FloatArray
    witnesses: tuple[str, ...]

    @property
    def floor(self) -> FloatArray:
        """A lower bound of the true values: the values minus their error."""
        error = np.where(np.isinf(self.values), 0.0, self.error)
        return np.maximum(self.values - error, 0.0)


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
        name: returns the description of a neighbour, given its index.
        orders: Rényi orders, shape (m,).
        forward_only: leave out D(neighbour‖law).
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
        name: returns the description of a neighbour, given its index.
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
    return Truth(values, error_bound(values, orders), witnesses)
