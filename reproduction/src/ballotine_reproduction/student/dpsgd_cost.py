"""What DP-SGD costs: noised sums of clipped gradients of a Poisson sample of the records.

Every step takes each record with probability q, clips its gradient to norm C and adds noise of
deviation zC to the sum. PATE's neighbour has one record *replaced*, and so it must be here, or the
two ε would not mean the same. In units of C the worst pair of laws of one step is then

    (1 − q) N(0, z²) + q N(1, z²)   against   (1 − q) N(0, z²) + q N(−1, z²),

which is proven in docs/papers/student.md. DP-SGD's usual neighbour has one record *more or fewer*:
the second law is N(0, z²) alone (Mironov, Talwar, Zhang, "Rényi Differential Privacy of the
Sampled Gaussian Mechanism", 2019). Its ε is smaller for the same noise and says less.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
from scipy.special import logsumexp

from ballotine.errors import BudgetError, ParameterError
from ballotine.privacy import conversion
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.orders import DEFAULT_ORDERS
from ballotine.types import FloatArray

Relation = Literal["replace", "add or remove"]

ORDERS: FloatArray = DEFAULT_ORDERS[DEFAULT_ORDERS <= 64.0]
"""Budgets from ε = 0.5 up have their best order inside; a coarse grid only errs upwards."""

TAILS = 12.0
"""Standard deviations beyond the outermost centre of mass; e^(−72) of it lies outside."""

SAFETY = 1e-9
ROUNDING = 1e-12
PRECISION = 1e-3
MOST_NOISE = 1e4


@dataclass(frozen=True)
class SgdSteps:
    """Steps that share a noise.

    Attributes:
        number: how many.
        rate: q, the chance of a record to be in a step.
        noise: z, the noise on the sum of gradients in units of the clipping norm.
    """

    number: int
    rate: float
    noise: float

    def __post_init__(self) -> None:
        if self.number < 1:
            raise ParameterError(f"training needs at least one step, got {self.number}")
        if not 0.0 < self.rate <= 1.0:
            raise ParameterError(f"a sampling rate lies in (0, 1], got {self.rate}")
        if not (math.isfinite(self.noise) and self.noise > 0):
            raise ParameterError(f"the noise multiplier must be positive, got {self.noise}")


Schedule = Sequence[SgdSteps]


def cost(
    steps: SgdSteps, orders: FloatArray = ORDERS, relation: Relation = "replace"
) -> FloatArray:
    """The Rényi cost of these steps at each order.

    The moment is an integral over the line. Its integrand is analytic in a strip of half-width
    πz², so the trapezoid rule with steps far below that errs less than the rounding does.
    """
    if relation not in get_args(Relation):
        raise ParameterError(f"the relation is one of {', '.join(get_args(Relation))}")
    z = steps.noise
    step = min(z / 8.0, z * z / 4.0)
    # The power α of one law over the power α − 1 of the other is centred between 0 and 2α − 1.
    x = np.arange(-TAILS * z, 2.0 * float(np.max(orders)) + TAILS * z, step)
    base = -0.5 * (x / z) ** 2 - math.log(z) - 0.5 * math.log(2.0 * math.pi)
    upper = _mixture(x, steps.rate, z, 1.0)
    lower = _mixture(x, steps.rate, z, -1.0) if relation == "replace" else np.zeros_like(x)
    sums = np.array([logsumexp(base + a * upper + (1.0 - a) * lower) for a in orders])
    # Rounding must not make the cost smaller than it is, nor the curve fall.
    moments = np.maximum(sums + math.log(step), 0.0) * (1.0 + SAFETY) + ROUNDING
    result: FloatArray = steps.number * np.maximum.accumulate(moments / (orders - 1.0))
    return result


def epsilon(schedule: Schedule, delta: float, relation: Relation = "replace") -> float:
    """The ε at δ of a whole training; costs of steps add up, whatever the noise of each."""
    with warnings.catch_warnings():
        # Small ε have their best order above the grid: theirs come out somewhat too large.
        warnings.simplefilter("ignore", conversion.OrderGridWarning)
        return conversion.epsilon(ORDERS, _total(schedule, relation), delta)[0]


@dataclass(frozen=True)
class DpsgdPlan:
    """How long a training is, and how its noise decreases.

    Attributes:
        rate: q.
        epochs: passes over the records, on average.
        last: the noise of the last epoch as a share of that of the first; it falls linearly.
    """

    rate: float
    epochs: int
    last: float = 1.0

    def __post_init__(self) -> None:
        if self.epochs < 1 or not 0.0 < self.last <= 1.0:
            raise ParameterError("a course needs an epoch, and noise that does not grow or vanish")

    @property
    def steps(self) -> int:
        """Steps per epoch."""
        return max(1, round(1.0 / self.rate))

    def shares(self) -> FloatArray:
        """Noise of each epoch as a share of that of the first."""
        return np.linspace(1.0, self.last, self.epochs)

    def schedule(self, noise: float) -> tuple[SgdSteps, ...]:
        """All steps, when the first epoch has this noise multiplier."""
        if self.last == 1.0:
            return (SgdSteps(self.steps * self.epochs, self.rate, noise),)
        return tuple(SgdSteps(self.steps, self.rate, noise * float(s)) for s in self.shares())


@lru_cache(maxsize=256)
def noise_for(course: DpsgdPlan, budget: Budget) -> float:
    """The smallest noise multiplier of the first epoch that meets a budget, a record replaced."""
    allowed = conversion.allowance(ORDERS, budget.epsilon, budget.delta)

    def fits(noise: float) -> bool:
        return bool(np.any(_total(course.schedule(noise), "replace") <= allowed))

    high = 1.0
    while not fits(high):
        high *= 2.0
        if high > MOST_NOISE:
            raise BudgetError(f"no reasonable amount of noise meets the budget {budget}")
    low = high / 2.0
    while low > 0.1 and fits(low):
        low, high = low / 2.0, low
    while high / low > 1.0 + PRECISION:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def _total(schedule: Schedule, relation: Relation) -> FloatArray:
    return np.asarray(np.sum([cost(steps, ORDERS, relation) for steps in schedule], axis=0))


def _mixture(x: FloatArray, rate: float, noise: float, shift: float) -> FloatArray:
    """Return ln of ((1 − q) N(0, z²) + q N(shift, z²)) / N(0, z²)."""
    far = math.log(rate) + (2.0 * shift * x - shift * shift) / (2.0 * noise * noise)
    near = math.log1p(-rate) if rate < 1.0 else -math.inf
    return np.logaddexp(near, far)
