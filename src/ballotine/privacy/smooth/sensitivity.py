"""Local sensitivities: how much one teacher can change a data-dependent cost.

LS_d(x) bounds |F(y) − F(y')| over all neighbours y, y' with y at most d teachers away from x.
One teacher may change its vote on every query at once, so LS_d is the sum over the queries.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ballotine.errors import DataError, ParameterError
from ballotine.privacy._validate import as_counts, as_nonnegative, as_orders, as_sigma
from ballotine.privacy.private import Locked
from ballotine.privacy.smooth.lattice import as_costs, as_places, steepest, widen
from ballotine.privacy.smooth.theorem6 import Theorem6
from ballotine.types import FloatArray

_ADDING = "adding up costs of the same votes"


class PrivateCost(Locked):
    """A sum of data-dependent costs with its local sensitivities: private, never printed.

    Costs of the same votes add up with ``+``.
    """

    __slots__ = ()

    def __init__(self, total: float, local: FloatArray) -> None:
        """Store a sum and LS_0, …, LS_n."""
        super().__init__(np.concatenate(([total], local)))

    def __add__(self, other: PrivateCost) -> PrivateCost:
        if self._values.shape != other._values.shape:
            raise ParameterError("costs can be added only for the same number of teachers")
        (one, near), (two, far) = self.unlock(reason=_ADDING), other.unlock(reason=_ADDING)
        return PrivateCost(one + two, near + far)

    def unlock(self, *, reason: str) -> tuple[float, FloatArray]:
        """Return the sum and LS_0, …, LS_n, for code that states why it may see them."""
        values = self._values.unlock(reason=reason)
        return float(values[0]), values[1:]

    def smooth(self, beta: float) -> float:
        """Return the β-smooth sensitivity, which is private too."""
        return smooth_sensitivity(self.unlock(reason="how much one teacher can change it")[1], beta)


def smooth_sensitivity(local: npt.ArrayLike, beta: float) -> float:
    """Return max over d of e^(−βd) LS_d.

    Args:
        local: LS_0, LS_1, …, up to the number of teachers.
        beta: β, at least 0.
    """
    sensitivities = np.asarray(local, dtype=np.float64)
    decay = np.exp(-as_nonnegative(beta, "beta") * np.arange(sensitivities.size))
    return float((decay * sensitivities).max())


def enumerated(places: npt.ArrayLike, g: npt.ArrayLike) -> PrivateCost:
    """Return Σ g and its local sensitivities, by enumeration.

    Args:
        places: the largest count of each query, shape (queries,); or the largest and the second
            largest, shape (queries, 2), when g has two axes.
        g: the cost of each top count, shape (n + 1,), or of each top and runner-up.
    """
    costs = as_costs(g)
    index = as_places(places, costs)
    # Queries at the same place have the same sensitivity: compute it once.
    queries = np.zeros(costs.shape)
    np.add.at(queries, index, 1.0)
    near = steepest(costs)
    local = np.empty(costs.shape[0])
    for distance in range(local.size):
        local[distance] = float((queries * near).sum())
        near = widen(near)
    return PrivateCost(float(costs[index].sum()), local)


def theorem6(counts: npt.ArrayLike, order: float, sigma: float) -> PrivateCost:
    """Return the two-sided Theorem 6 of all tallies and its local sensitivities.

    The cost is a function of q alone, B(q⁺), with q the union bound on the probability that the
    top class loses and q⁺ its largest value after one changed vote. For Confident-GNMax give the
    tallies that were answered, and add the check's cost on all tops with `enumerated`.

    Args:
        counts: tallies of whole votes, all with the same total n, shape (queries, classes).
        order: the Rényi order, above 1.
        sigma: standard deviation of the noise on each class.
    """
    tallies = as_counts(counts)
    teachers = tallies[0].sum()
    if np.any(tallies != np.floor(tallies)) or np.any(tallies.sum(axis=1) != teachers):
        raise DataError("tallies must hold whole votes, the same number in each")
    bound = _bound(float(as_orders(order).item()), as_sigma(sigma), tallies.shape[1])
    total, local = bound.sensitivities(tallies.astype(np.int64))
    return PrivateCost(total, local)


@lru_cache(maxsize=32)
def _bound(order: float, sigma: float, classes: int) -> Theorem6:
    """Cached, because checking that the algorithm applies takes longer than applying it."""
    return Theorem6(order, sigma, classes)
