"""Settings of teachers that learn together, and the noise that private rounds need."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ballotine.errors import BudgetError, ParameterError
from ballotine.ledger import Ledger
from ballotine.noise import NoiseSource
from ballotine.privacy import conversion
from ballotine.privacy.events import ClippedSum
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.orders import DEFAULT_ORDERS, widen
from ballotine.privacy.plan import epsilon_of

Method = Literal["ttac", "averaging", "conventional"]
"""Averaging with control variates, averaging without (FedAvg), or neither."""

METHODS: tuple[Method, ...] = ("ttac", "averaging", "conventional")
PLAIN_ASSUMPTION = (
    "teachers were trained together without noise (TTAC or averaging): through the averaging "
    "model one record touches every teacher, and the cost of a vote holds only if a replaced "
    "record still changes one ballot at most, which is not so in general (a marked record shows it)"
)
"""Part of the guarantee if teachers learn together without private rounds."""

DEFAULT_SHARE = 0.5
SLACK = 1e-9
"""Noise is rounded up by this factor, so that the plan and the ledger agree."""

SETTINGS_ALONE = (
    "epochs",
    "learning_rate",
    "optimiser",
    "weight_decay",
    "augment",
    "bf16",
    "patience",
)
"""Settings of networks that learn alone; rounds have their own."""


@dataclass(frozen=True)
class LearnTogether:
    """Settings of teachers that learn together, for heterogeneous data.

    The network itself, the shape of its inputs and the size of a mini-batch are those of the
    teacher, a `ballotine.neural.TorchClassifier`.

    Without ``clip`` the guarantee is conditional: through the averaging model one record reaches
    every teacher. With it, every round adds noise and is paid for in the ledger.

    Attributes:
        method: "ttac" (averaging with control variates) or "averaging" (without). The latter is
            better for private rounds, whose noise would stay in the control variates.
            "conventional" trains separate teachers in the same rounds, for comparison.
        rounds: how often models are averaged, R.
        steps: local steps per teacher and round, T.
        step_size: the step size of the first round, η_f.
        decay: the factor on the step size after every round.
        averaging_step: the step size of the averaging model, η_θ.
        clip: the largest norm of a teacher's update, C; it makes rounds private.
        noise_multiplier: the noise on the sum of updates in units of ``clip``, z.
        share: instead, the share of the budget for rounds; a half if both are None.
    """

    method: Method = "ttac"
    rounds: int = 100
    steps: int = 10
    step_size: float = 0.05
    decay: float = 0.985
    averaging_step: float = 1.0
    clip: float | None = None
    noise_multiplier: float | None = None
    share: float | None = None

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ParameterError(
                f"unknown method {self.method!r}; choose one of {', '.join(METHODS)}"
            )
        for name in ("rounds", "steps"):
            if (count := getattr(self, name)) < 1:
                raise ParameterError(f"{name} must be at least one, got {count}")
        for name in ("step_size", "averaging_step", "clip", "noise_multiplier"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ParameterError(f"{name} must be positive, got {value}")
        if not 0 < self.decay <= 1:
            raise ParameterError(f"decay must be greater than 0 and at most 1, got {self.decay}")
        self._check_private()

    def _check_private(self) -> None:
        for name in ("noise_multiplier", "share"):
            if getattr(self, name) is not None and not self.private:
                raise ParameterError(f"{name} is for private rounds: give clip too")
        if self.noise_multiplier is not None and self.share is not None:
            raise ParameterError("give either noise_multiplier or share (of the budget), not both")
        if self.share is not None and not 0 < self.share < 1:
            raise ParameterError(f"share must lie between 0 and 1, got {self.share}")
        if self.private and self.rounds < 2:
            raise ParameterError("private training needs at least two rounds")
        if self.private and self.method == "conventional":
            raise ParameterError("conventional teachers learn separately: leave clip out")

    @property
    def private(self) -> bool:
        """Whether rounds add noise and are paid for."""
        return self.clip is not None

    @property
    def assumption(self) -> str | None:
        """The assumption that the training adds to a guarantee, or None."""
        return None if self.private else PLAIN_ASSUMPTION

    def step_size_at(self, number: int) -> float:
        """Return the step size of a round, counted from 0."""
        return self.step_size * self.decay**number

    def noise_for(self, budget: Budget) -> float:
        """Return the noise multiplier of private rounds: as given, or from their share."""
        if self.noise_multiplier is not None:
            return self.noise_multiplier
        return plan_rounds(budget, self.rounds, self.share or DEFAULT_SHARE).noise_multiplier


@dataclass(frozen=True)
class RoundsAccount:
    """The ledger and the noise for private rounds.

    Attributes:
        ledger: the data set's ledger, in strict mode.
        noise: the source of the noise.
        run: a label for ``ballotine ledger show``.
        name: names the rounds in the ledger; None for the name of the training.
    """

    ledger: Ledger
    noise: NoiseSource
    run: str = ""
    name: bytes | None = None


def require_network(teacher: Any) -> None:
    """Refuse a teacher that is not a network, or has settings that would have no effect."""
    from ballotine.neural import TorchClassifier

    if not isinstance(teacher, TorchClassifier):
        raise ParameterError(
            "teachers that learn together average their weights: they must be networks "
            f"(neural-network), not {type(teacher).__name__}"
        )
    default = TorchClassifier().get_params(deep=False)
    given = teacher.get_params(deep=False)
    if changed := [name for name in SETTINGS_ALONE if given[name] != default[name]]:
        raise ParameterError(
            f"{changed[0]} is for teachers that learn alone; teachers that learn together have "
            "rounds, steps, step_size and decay"
        )


@dataclass(frozen=True)
class RoundsPlan:
    """The noise and the cost of private rounds.

    Attributes:
        noise_multiplier: z.
        releases: how many rounds are paid for: all but the last.
        epsilon: the ε of these rounds alone, at the budget's δ.
        order: the Rényi order at which the budget is shared.
        left: the Rényi cost left for votes at that order.
    """

    noise_multiplier: float
    releases: int
    epsilon: float
    order: float
    left: float


def plan_rounds(budget: Budget, rounds: int, share: float = DEFAULT_SHARE) -> RoundsPlan:
    """Return the least noise with which all rounds cost a share of the budget.

    The budget is shared at one Rényi order, at which the costs of rounds and votes are summed:
    what the rounds do not take is left for votes. Two ε that add up to the budget would waste
    some of it.

    Args:
        budget: for rounds and votes together.
        rounds: R; the last is not released.
        share: the share of the Rényi cost that the budget allows, greater than 0 and at most 1
            (which leaves nothing for votes).
    """
    if rounds < 2:
        raise ParameterError(f"private training needs at least two rounds, got {rounds}")
    if not 0 < share <= 1:
        raise ParameterError(f"share must be greater than 0 and at most 1, got {share}")
    orders = widen(DEFAULT_ORDERS)
    allowed = conversion.allowance(orders, budget.epsilon, budget.delta)
    if not np.any(allowed > 0):
        raise BudgetError(f"no amount of noise meets the budget {budget}: δ or ε is too small")
    # Gaussian costs are proportional to the order: choose the order with the best ratio.
    best = int(np.argmax(allowed / orders))
    releases = rounds - 1
    z = math.sqrt(2.0 * float(orders[best]) * releases / (share * float(allowed[best])))
    z *= 1.0 + SLACK
    cost = float(releases * ClippedSum(z).cost(orders[best : best + 1])[0])
    return RoundsPlan(
        z,
        releases,
        epsilon_of([(ClippedSum(z), releases)], budget.delta),
        float(orders[best]),
        float(allowed[best]) - cost,
    )
