"""Find the smallest noise with which a number of queries fits a budget: data-independent."""

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
from ballotine.voting.registry import MECHANISMS, accepted, mechanisms_with


def plannable(name: str) -> type[Mechanism]:
    """Return the class of a mechanism; refuse one whose noise cannot be planned."""
    kind = MECHANISMS.get(name)
    if kind is None or not kind.planned_by:
        raise ParameterError(f"cannot plan {name!r}; choose {mechanisms_with('planned_by')}")
    return kind


def other_parameters(kind: type[Mechanism], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given parameters; refuse unknown ones, and the noise, which is planned."""
    given = accepted(kind, parameters)
    if not kind.planned_by:
        raise ParameterError(f"cannot plan {kind.name!r}; choose {mechanisms_with('planned_by')}")
    if kind.planned_by in given:
        raise ParameterError(f"leave {kind.planned_by} out: it is what the plan finds")
    return given


@dataclass(frozen=True)
class NoiseTarget:
    """What the noise is planned for.

    Attributes:
        kind: the class of the mechanism.
        queries: how many are asked.
        budget: the budget to keep.
        teachers: the number of teachers.
        classes: the number of classes.
        answered: the share of queries expected to be answered (a public guess).
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
        """The mechanism with the smallest noise."""
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
        """The expected charges of one query with that noise."""
        return self.mechanism.expected(self.classes, self.answered)

    @property
    def epsilon(self) -> float:
        """The ε of all queries with that noise."""
        return plan.epsilon_of(self._all(self.mechanism), self.budget.delta)

    def _all(self, mechanism: Mechanism) -> plan.Charges:
        each = mechanism.expected(self.classes, self.answered)
        return [(event, self.queries * times) for event, times in each]
