"""Planning a release of a data-dependent ε: which way, order and noise, from assumed votes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

from ballotine.errors import ParameterError
from ballotine.privacy import envelope
from ballotine.privacy._validate import as_orders
from ballotine.privacy.smooth.release import (
    LogRelease,
    SmoothRelease,
    smooth_release_cost,
)
from ballotine.privacy.smooth.sensitivity import (
    enumerated,
)
from ballotine.types import FloatArray

# What the planners try: the rate and the offset (in smallest costs) of an envelope, and β.
_RATES = (0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.05, 0.07)
_OFFSETS = (-0.9, -0.8, -0.7, -0.5, -0.3, 0.0, 1.0)
_BETAS = (0.0025, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.06)
_SIGMAS = (0.5, 100.0)

_Way = TypeVar("_Way", LogRelease, SmoothRelease)


def plan_log(
    costs: Callable[[float], FloatArray],
    places: npt.ArrayLike,
    orders: npt.ArrayLike,
    delta: float,
    failure: float | None = None,
) -> tuple[LogRelease, float]:
    """Choose order, shape and noise of a `LogRelease` from public numbers and assumed votes.

    Args:
        costs: gives the envelope at an order, such as ``lambda a: envelope.gnmax(250, 10, a, 40)``.
        places: *assumed* counts: simulated, or of public data; never the votes to be released.
        orders: the orders to choose among.
        delta: δ of the published pair.
        failure: probability with which the released cost may be below the true one, a part of
            δ; a tenth of it if absent.

    Returns:
        The release and the ε that it publishes on the assumed votes at the median of its noise.
    """

    def ways(order: float) -> list[tuple[LogRelease, float]]:
        g = costs(order)
        found = []
        for share in _OFFSETS:
            offset = share * float(np.nanmin(g))
            for rate in _RATES:
                shaped = envelope.shape(g, rate, offset)

                def way(sigma: float, g: FloatArray = shaped, offset: float = offset) -> LogRelease:
                    return LogRelease(
                        g=g,
                        offset=offset,
                        order=order,
                        delta=delta,
                        sigma=sigma,
                        failure=failure,
                    )

                found.append(_quietest(way, way(1.0).expected_by_noise(places)))
        return found

    return _best([way for order in as_orders(orders) for way in ways(float(order))])


def plan_smooth(
    costs: Callable[[float], FloatArray],
    places: npt.ArrayLike,
    orders: npt.ArrayLike,
    delta: float,
    failure: float | None = None,
) -> tuple[SmoothRelease, float]:
    """Choose order, β and noise of a `SmoothRelease`; arguments and result as in `plan_log`."""

    def ways(order: float) -> list[tuple[SmoothRelease, float]]:
        assumed = enumerated(places, costs(order))
        found = []
        for beta in _BETAS:
            if not math.isfinite(smooth_release_cost(order, beta, 1.0)):
                continue

            def way(sigma: float, beta: float = beta) -> SmoothRelease:
                return SmoothRelease(
                    beta=beta, order=order, delta=delta, sigma=sigma, failure=failure
                )

            def epsilon(sigma: float, way: Callable[[float], SmoothRelease] = way) -> float:
                return way(sigma).expected(assumed)

            found.append(_quietest(way, epsilon))
        return found

    return _best([way for order in as_orders(orders) for way in ways(float(order))])


def _quietest(
    way: Callable[[float], _Way], epsilon: Callable[[float], float]
) -> tuple[_Way, float]:
    """Return the way with the noise that publishes the smallest ε."""

    def published(log_sigma: float) -> float:
        return epsilon(math.exp(log_sigma))

    # Hopeless noise ends at the largest cost and is a minimum too: look around first.
    coarse = np.log(np.geomspace(*_SIGMAS, 9))
    best = int(np.argmin([published(log_sigma) for log_sigma in coarse]))
    result = minimize_scalar(
        published,
        bounds=(coarse[max(best - 1, 0)], coarse[min(best + 1, coarse.size - 1)]),
        method="bounded",
        options={"xatol": 2e-2},
    )
    # Two digits are enough, and easier to state beforehand.
    chosen = way(float(f"{math.exp(result.x):.2g}"))
    return chosen, epsilon(chosen.sigma)


def _best(ways: list[tuple[_Way, float]]) -> tuple[_Way, float]:
    if not ways:
        raise ParameterError("no order is small enough for any beta: give smaller orders")
    return min(ways, key=lambda pair: pair[1])
