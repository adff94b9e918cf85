"""The release of a data-dependent cost: noise, a margin for the noise, and the price of both.

Except with a small probability β the released number is at least the true cost. The published ε
adds the cost of the release and converts at δ − β, at the order fixed in advance, so that δ covers
the failure too. Proofs: docs/proofs/smooth.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from ballotine.errors import DataError, ParameterError
from ballotine.noise import NoiseSource, QueryNoise
from ballotine.privacy import conversion
from ballotine.privacy._validate import as_delta, as_nonnegative, as_orders, as_positive, as_real
from ballotine.privacy.smooth.lattice import as_costs, as_places, steepest
from ballotine.privacy.smooth.sensitivity import PrivateCost, smooth_sensitivity
from ballotine.types import FloatArray

SHARE = 0.1
"""The default share of δ that covers the failure of the margin."""
_REASON = "sanitised release"


@dataclass(frozen=True, slots=True)
class Sanitised:
    """An ε that may be published: nothing in here depends on votes except through noise.

    It holds for the data set it was computed from and that set's neighbours, and for no others.

    Attributes:
        epsilon: the ε that holds at δ.
        delta: δ; if `folded`, the sum of the δ of the conversion and the failure.
        order: the Rényi order, fixed in advance.
        failure: probability that the released cost is below the true one.
        folded: δ covers the failure; if not, the failure must be stated beside the number.
        cost: the released Rényi cost of the votes, noise and margin included.
        cost_of_release: the Rényi cost of the release itself, included in ε.
        seeded: True when anyone who knows the seed can remove the noise.
    """

    epsilon: float
    delta: float
    order: float
    failure: float
    folded: bool
    cost: float
    cost_of_release: float
    seeded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Release:
    """What both methods have in common.

    Attributes:
        order: Rényi order at which everything is counted.
        delta: δ of the published pair.
        sigma: standard deviation of Z, in units of the sensitivity.
        failure: probability with which the released cost may be below the true one; a tenth of
            δ by default.
        folded: convert at δ − failure, so that δ covers the failure. Ledgers of version 0.1
            did not, and state their confidence beside the number.
    """

    order: float
    delta: float
    sigma: float
    failure: float | None = None
    folded: bool = True

    def __post_init__(self) -> None:
        as_orders(self.order)
        as_delta(self.delta)
        as_positive(self.sigma, "sigma")
        if not 0.0 < self.failure_probability <= 0.5:
            raise ParameterError("failure must be above 0 and at most one half")
        if self.folded and not self.failure_probability < self.delta:
            raise ParameterError("failure must be below delta, which covers it")

    @property
    def failure_probability(self) -> float:
        """The probability β that the margin is too small for the noise."""
        return SHARE * self.delta if self.failure is None else self.failure

    @property
    def margin(self) -> float:
        """The margin z: Z + z is negative with the failure probability."""
        return -self.sigma * float(ndtri(self.failure_probability))

    def epsilon(self, cost: float, cost_of_release: float) -> float:
        """Convert a Rényi cost and the cost of releasing it to ε."""
        total = max(cost, 0.0) + cost_of_release
        delta = self.delta - self.failure_probability if self.folded else self.delta
        return conversion.epsilon([self.order], [total], delta)[0]

    def _sanitised(self, cost: float, price: float, noise: NoiseSource) -> Sanitised:
        return Sanitised(
            self.epsilon(cost, price),
            self.delta,
            self.order,
            self.failure_probability,
            self.folded,
            cost,
            price,
            noise.seeded,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothRelease(_Release):
    """Release F + S (Z + z) with the β-smooth sensitivity S.

    Attributes:
        beta: β; the order must stay below 1/(1 − e^(−2β)).
    """

    beta: float

    def __post_init__(self) -> None:
        super(SmoothRelease, self).__post_init__()
        as_positive(self.beta, "beta")
        if not math.isfinite(self.cost):
            raise ParameterError("order must be below 1/(1 − e^(−2β)): lower the order or beta")

    @property
    def cost(self) -> float:
        """The Rényi cost of the release, margin included."""
        return smooth_release_cost(self.order, self.beta, self.sigma, self.margin)

    def expected(self, cost: PrivateCost) -> float:
        """Return the ε at the median of the noise: private, for assumed votes."""
        total, local = cost.unlock(reason="planning with assumed votes")
        return self.epsilon(total + smooth_sensitivity(local, self.beta) * self.margin, self.cost)

    def release(self, cost: PrivateCost, noise: NoiseSource, key: bytes = b"") -> Sanitised:
        """Return the sanitised ε of this cost.

        Args:
            cost: from `smooth.enumerated` or `smooth.theorem6`, or a sum of such.
            noise: the source of Z.
            key: names this release, for seeded noise only; never use one twice.
        """
        total, local = cost.unlock(reason=_REASON)
        scale = smooth_sensitivity(local, self.beta)
        draw = _standard_normal(noise, key) * self.sigma
        return self._sanitised(total + scale * (draw + self.margin), self.cost, noise)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogRelease(_Release):
    """Release ln(Σ g(top) + A) with plain Gaussian noise, A = queries · offset.

    Attributes:
        g: cost by top count, or by top and runner-up, from `envelope.shape`.
        offset: what is added to each g, as in `envelope.shape`.
    """

    g: FloatArray = field(repr=False)
    offset: float = 0.0

    def __post_init__(self) -> None:
        super(LogRelease, self).__post_init__()
        costs = as_costs(self.g).copy()
        costs.setflags(write=False)
        object.__setattr__(self, "g", costs)
        if float(np.nanmin(costs)) + as_real(self.offset, "offset") <= 0.0:
            raise ParameterError("offset must be greater than minus the smallest cost")

    @property
    def rate(self) -> float:
        """The largest change of the logarithm by one teacher."""
        # The slack covers the rounding of sums and logarithms.
        return float(steepest(np.log(self.g + self.offset)).max()) * (1.0 + 1e-9) + 1e-12

    @property
    def cost(self) -> float:
        """The Rényi cost of the release: a Gaussian shifted by one sensitivity."""
        return self.order / (2.0 * self.sigma**2)

    def expected(self, places: npt.ArrayLike) -> float:
        """Return the ε at the median of the noise: private, for assumed votes."""
        return self.expected_by_noise(places)(self.sigma)

    def expected_by_noise(self, places: npt.ArrayLike) -> Callable[[float], float]:
        """Return `expected` as a function of σ, for planners that try many values."""
        published = self._published(places)

        def epsilon(sigma: float) -> float:
            margin = self.margin * sigma / self.sigma
            return self.epsilon(published(margin), self.order / (2.0 * sigma**2))

        return epsilon

    def release(self, places: npt.ArrayLike, noise: NoiseSource, key: bytes = b"") -> Sanitised:
        """Return the sanitised ε of queries with these top counts.

        Args:
            places: the top count of each query, or top and runner-up if g has two axes.
            noise: the source of Z.
            key: names this release, for seeded noise only; never use one twice.
        """
        draw = _standard_normal(noise, key) * self.sigma
        return self._sanitised(self._published(places)(draw + self.margin), self.cost, noise)

    def _published(self, places: npt.ArrayLike) -> Callable[[float], float]:
        """Return the released cost as a function of the noise, in units of the rate."""
        costs = self.g[as_places(places, self.g)]
        total, rate = float((costs + self.offset).sum()), self.rate
        # Both ends are public, so clipping to them reveals nothing.
        lowest, highest = (costs.size * float(end(self.g)) for end in (np.nanmin, np.nanmax))

        def cost(shift: float) -> float:
            noisy = total * math.exp(rate * shift) - costs.size * self.offset
            return min(max(noisy, lowest), highest)

        return cost


def smooth_release_cost(order: float, beta: float, sigma: float, margin: float = 0.0) -> float:
    """Return a bound on the Rényi cost of F + S (Z + margin), Z ~ N(0, σ²), S β-smooth.

    It is the divergence of two Gaussians whose scales differ by e^(±β) and whose means differ by
    the smaller scale and the margin's part. The published cost α e^(2β)/σ² +
    (αβ − ½ ln(1 − 2αβ))/(α − 1) is larger for small αβ, and too small near its limit α = 1/(2β).

    Args:
        order: Rényi order above 1.
        beta: β, above 0.
        sigma: standard deviation of Z.
        margin: the shift z, in the same units as σ.

    Returns:
        The cost; infinite when the order is 1/(1 − e^(−2β)) or more.
    """
    alpha, bend = float(as_orders(order).item()), as_positive(beta, "beta")
    scale, shift = as_positive(sigma, "sigma"), as_nonnegative(margin, "margin")
    narrow, wide = math.exp(-bend), math.exp(bend)
    variance = 1.0 - alpha + alpha * narrow**2
    if variance <= 0.0:
        return math.inf
    farthest = narrow + shift * (1.0 - narrow)
    narrower = alpha * farthest**2 / (2.0 * scale**2 * variance)
    narrower -= (2.0 * alpha * bend + math.log(variance)) / (2.0 * (alpha - 1.0))
    farthest = 1.0 + shift * (wide - 1.0)
    wider = alpha * farthest**2 / (2.0 * scale**2)
    wider += (2.0 * alpha * bend - math.log1p(alpha * (wide**2 - 1.0))) / (2.0 * (alpha - 1.0))
    return max(narrower, wider) * (1.0 + 1e-12)


def _standard_normal(noise: NoiseSource, key: bytes) -> float:
    draw = float(QueryNoise(noise, [b"sanitise/" + key]).gaussian(1.0, 1)[0, 0])
    if not math.isfinite(draw):
        raise DataError("the noise source did not return a finite number")
    return draw
