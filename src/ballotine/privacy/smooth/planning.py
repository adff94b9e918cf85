"""Plan the release of a data-dependent ε: choose method, order and noise from assumed votes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, product
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

from ballotine.errors import ParameterError
from ballotine.privacy import envelope
from ballotine.privacy._validate import as_orders
from ballotine.privacy.smooth.release import LogRelease, SmoothRelease, smooth_release_cost
from ballotine.privacy.smooth.sensitivity import PrivateCost, enumerated
from ballotine.types import FloatArray

# Values that the planners try: rate and offset (in multiples of the smallest cost), and β.
_RATES = (0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.05, 0.07)
_OFFSETS = (-0.9, -0.8, -0.7, -0.5, -0.3, 0.0, 1.0)
_BETAS = (0.0025, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.06)
_SIGMAS = (0.5, 100.0)

_Release = TypeVar("_Release", LogRelease, SmoothRelease)


def plan_log(
    costs: Callable[[float], FloatArray],
    places: npt.ArrayLike,
    orders: npt.ArrayLike,
    delta: float,
    failure: float | None = None,
) -> tuple[LogRelease, float]:
    """Choose order, shape and noise of a `LogRelease` from public numbers and assumed votes.

    Args:
        costs: returns the envelope of an order, as ``lambda a: envelope.gnmax(250, 10, a, 40)``.
        places: *assumed* counts: simulated, or from public data; never the votes to be released.
        orders: the orders to choose among.
        delta: δ of the published pair.
        failure: probability with which the released cost may be below the true one, a part of
            δ; a tenth of δ by default.

    Returns:
        The release and the ε that it publishes on the assumed votes at the median of its noise.
    """

    def candidates(order: float) -> Iterator[tuple[LogRelease, float]]:
        g = costs(order)
        for share, rate in product(_OFFSETS, _RATES):
            offset = share * float(np.nanmin(g))
            release = partial(
                LogRelease,
                g=envelope.shape(g, rate, offset),
                offset=offset,
                order=order,
                delta=delta,
                failure=failure,
            )
            yield _with_best_noise(release, release(sigma=1.0).expected_by_noise(places))

    return _best(chain.from_iterable(candidates(float(order)) for order in as_orders(orders)))


def plan_smooth(
    costs: Callable[[float], FloatArray],
    places: npt.ArrayLike,
    orders: npt.ArrayLike,
    delta: float,
    failure: float | None = None,
) -> tuple[SmoothRelease, float]:
    """Choose order, β and noise of a `SmoothRelease`; arguments and result as in `plan_log`."""

    def candidates(order: float) -> Iterator[tuple[SmoothRelease, float]]:
        assumed = enumerated(places, costs(order))
        for beta in _BETAS:
            if math.isfinite(smooth_release_cost(order, beta, 1.0)):
                yield candidate(order, beta, assumed)

    def candidate(order: float, beta: float, assumed: PrivateCost) -> tuple[SmoothRelease, float]:
        release = partial(SmoothRelease, beta=beta, order=order, delta=delta, failure=failure)
        return _with_best_noise(release, lambda sigma: release(sigma=sigma).expected(assumed))

    return _best(chain.from_iterable(candidates(float(order)) for order in as_orders(orders)))


def _with_best_noise(
    release: Callable[..., _Release], epsilon: Callable[[float], float]
) -> tuple[_Release, float]:
    """Return the release whose σ publishes the smallest ε."""

    def published(log_sigma: float) -> float:
        return epsilon(math.exp(log_sigma))

    # Excessive noise ends at the largest cost, which is a local minimum too: scan a grid first.
    coarse = np.log(np.geomspace(*_SIGMAS, 9))
    best = int(np.argmin([published(log_sigma) for log_sigma in coarse]))
    result = minimize_scalar(
        published,
        bounds=(coarse[max(best - 1, 0)], coarse[min(best + 1, coarse.size - 1)]),
        method="bounded",
        options={"xatol": 2e-2},
    )
    # Two digits are enough, and easier to state in advance.
    chosen = release(sigma=float(f"{math.exp(result.x):.2g}"))
    return chosen, epsilon(chosen.sigma)


def _best(candidates: Iterable[tuple[_Release, float]]) -> tuple[_Release, float]:
    best = min(candidates, key=lambda pair: pair[1], default=None)
    if best is None:
        raise ParameterError("every order is too large for every beta: give smaller orders")
    return best
