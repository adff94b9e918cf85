"""The worst of many pairs of laws, without pricing every pair at every order.

β D_{1+β} is convex in β and 0 at β = 0, so between two anchors it lies below its chord, and D
itself never falls. Pairs that are worst at some anchor are priced at all orders; of the others only
those whose ceilings exceed that, first on coarse anchors and then on fine ones. Ceilings are upper
bounds as well, so no pair that could be the worst is skipped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ballotine.privacy.exact.divergence import Laws, bounds, chained_bounds
from ballotine.types import BoolArray, FloatArray, IntArray

_FEW_ORDERS = 8
_LOWEST_ANCHOR = 0.25
_COARSE, _FINE = 1, 4


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of laws on the same outcomes: a tally's and a neighbour's.

    Attributes:
        rows: the tally each pair belongs to, in ascending order, shape (pairs,).
        log_p: log-probabilities under the tally, shape (outcomes, pairs); outcomes with the same
            ratio may be merged into one.
        log_ratio: log(q/p), q the neighbour's law, shape (outcomes, pairs).
    """

    rows: IntArray
    log_p: FloatArray
    log_ratio: FloatArray


def worst_costs(pairs: Pairs, rows: int, orders: FloatArray) -> FloatArray:
    """Return the largest divergence of each tally over its pairs, in both directions.

    Args:
        pairs: any number of pairs per tally; a tally without pairs costs nothing.
        rows: the number of tallies.
        orders: Rényi orders, shape (m,).

    Returns:
        Upper bounds, shape (rows, m), that never fall with the order.
    """
    costs = np.zeros((rows, orders.size))
    if pairs.rows.size == 0:
        return costs
    starts = np.flatnonzero(np.diff(pairs.rows, prepend=-1))
    owners = np.repeat(np.arange(starts.size), np.diff(starts, append=pairs.rows.size) * 2)
    ranks = np.argsort(orders, kind="stable")
    worst = _worst(Laws.both_ways(pairs.log_p, pairs.log_ratio), owners, orders[ranks])
    # Divergence does not fall with the order; its upper bounds, which include rounding, might.
    np.maximum.accumulate(worst, axis=1, out=worst)
    sorted_back = np.empty_like(worst)
    sorted_back[:, ranks] = worst
    costs[pairs.rows[starts]] = sorted_back
    return costs


def _worst(laws: Laws, owners: IntArray, orders: FloatArray) -> FloatArray:
    """Return the largest upper bound of each owner, shape (owners, m)."""
    if orders.size <= _FEW_ORDERS:
        return _largest(bounds(laws, orders), owners)
    anchors = _anchors(orders, _COARSE)
    rates = chained_bounds(laws, anchors, _COARSE)
    champions: BoolArray = np.any(rates >= _largest(rates, owners)[owners], axis=1)
    best = _largest(bounds(laws.take(champions), orders), owners[champions])
    hopeful = _may_exceed(best, rates, owners, anchors, orders) & ~champions
    laws, owners = laws.take(hopeful), owners[hopeful]
    anchors = _anchors(orders, _FINE)
    rates = chained_bounds(laws, anchors, _FINE)
    hopeful = _may_exceed(best, rates, owners, anchors, orders)
    if hopeful.any():
        owners = owners[hopeful]
        present = np.unique(owners)
        rivals = _largest(bounds(laws.take(hopeful), orders), owners)
        best[present] = np.maximum(best[present], rivals)
    return best


def _largest(values: FloatArray, owners: IntArray) -> FloatArray:
    """Return the largest row of each owner that is present; owners are in ascending order."""
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    largest: FloatArray = np.maximum.reduceat(values, starts, axis=0)
    return largest


def _anchors(orders: FloatArray, chains: int) -> FloatArray:
    """Return orders 1 + β, with β up to the largest and doubling every `chains` places."""
    top = float(orders[-1]) - 1.0
    places = chains * max(1, math.ceil(math.log2(max(2.0, top / _LOWEST_ANCHOR))))
    return 1.0 + top * 2.0 ** (np.arange(-places, 1.0) / chains)


def _may_exceed(
    best: FloatArray, rates: FloatArray, owners: IntArray, anchors: FloatArray, orders: FloatArray
) -> BoolArray:
    """Return which pairs may exceed the best of their owner at some order.

    Args:
        best: the largest bounds found so far, shape (owners, m).
        rates: upper bounds at the anchors, shape (n, anchors).
        owners: of each pair, shape (n,).
        anchors: rising, up to the largest order.
        orders: rising, shape (m,).
    """
    right = np.minimum(np.searchsorted(anchors, orders), anchors.size - 1)
    # A first, cheaper filter: up to the next anchor, D is at most its value there.
    used, starts = np.unique(right, return_index=True)
    lowest = np.minimum.reduceat(best, starts, axis=1)
    hopeful: BoolArray = np.any(rates[:, used] > lowest[owners], axis=1)
    betas = orders - 1.0
    ends = np.concatenate(([0.0], anchors - 1.0))
    heights = np.zeros((np.count_nonzero(hopeful), ends.size))
    heights[:, 1:] = rates[hopeful] * ends[1:]
    share = np.clip((betas - ends[right]) / (ends[right + 1] - ends[right]), 0.0, 1.0)
    ceilings = np.take(heights, right + 1, axis=1) * (share / betas)
    ceilings += np.take(heights, right, axis=1) * ((1.0 - share) / betas)
    hopeful[hopeful] = np.any(ceilings > best[owners[hopeful]], axis=1)
    return hopeful
