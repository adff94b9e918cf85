"""The smallest noise of a mechanism for so many queries within a budget: data-independent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ballotine.errors import ParameterError
from ballotine.privacy import plan
from ballotine.privacy.guarantee import Budget
from ballotine.voting.mechanism import Mechanism
from ballotine.voting.parameters import declared
from ballotine.voting.registry import MECHANISMS, able, accepted


def plannable(name: str) -> type[Mechanism]:
    """The class of a mechanism whose noise can be planned."""
    kind = MECHANISMS.get(name)
    if kind is None or not kind.planned_by:
        raise ParameterError(f"cannot plan {name!r}; choose {able('planned_by')}")
    return kind


def beside_noise(kind: type[Mechanism], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that are given beside the noise that is planned; refuses any others."""
    given = accepted(kind, parameters)
    if not kind.planned_by:
        raise ParameterError(f"cannot plan {kind.name!r}; choose {able('planned_by')}")
    if kind.planned_by in given:
        raise ParameterError(f"{kind.planned_by} is what is planned: leave it out")
    return given


@dataclass(frozen=True)
class NoiseTarget:
    """What the noise is planned for.

    Attributes:
        kind: of mechanism.
        queries: how many are asked.
        budget: the promise.
        teachers: how many vote.
        classes: how many classes they choose from.
        answered: the share of the queries that is expected to be answered (a public guess).
    """

    kind: type[Mechanism]
    queries: int
    budget: Budget
    teachers: int
    classes: int
    answered: float = 1.0

    def __post_init__(self) -> None:
        if self.queries < 1:
            raise ParameterError(f"a plan needs at least one query, got {self.queries}")
        if not 0 < self.answered <= 1:
            raise ParameterError(f"the answered share must lie in (0, 1], got {self.answered}")

    @cached_property
    def noise(self) -> float:
        """The smallest noise, in votes."""
        return plan.smallest_noise(
            lambda noise: self._all(self.kind.planned(noise, self.teachers)), self.budget
        )

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism with that noise."""
        return self.kind.planned(self.noise, self.teachers)

    @property
    def shown(self) -> str:
        """The noise in words."""
        value = getattr(self.mechanism, self.kind.planned_by)
        symbol = declared(self.kind)[self.kind.planned_by].symbol
        if value == self.noise:
            return (
                f"{symbol} = {value:.2f} votes ({self.noise / self.teachers:.1%} of the teachers)"
            )
        return f"{symbol} = {value:.4g} (noise of {self.noise / self.teachers:.1%} of the teachers)"

    @property
    def charges(self) -> plan.Charges:
        """What one query is expected to cost then."""
        return self.mechanism.expected(self.classes, self.answered)

    @property
    def epsilon(self) -> float:
        """What all queries cost then."""
        return plan.epsilon_of(self._all(self.mechanism), self.budget.delta)

    def _all(self, mechanism: Mechanism) -> plan.Charges:
        each = mechanism.expected(self.classes, self.answered)
        return [(event, self.queries * times) for event, times in each]
