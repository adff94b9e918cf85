"""Privacy events: what was done, written down so that it can be priced again later.

An event names a primitive release and its parameters, never a price. The ledger stores
events; their cost is computed when it is needed, so a better bound in a later version
lowers the cost of what was already released, and an event this version does not know
stops everything (fail closed) instead of counting as nothing.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

from ballotine.errors import ParameterError, UnknownEventError
from ballotine.privacy import published, tight
from ballotine.types import FloatArray


@dataclass(frozen=True)
class Event(ABC):
    """One primitive release. Subclasses are frozen; their meaning never changes."""

    name: ClassVar[str]

    @abstractmethod
    def cost(self, orders: FloatArray) -> FloatArray:
        """Data-independent Rényi cost at each order."""

    def to_json(self) -> str:
        """Canonical text: equal events have equal text."""
        return json.dumps({"event": self.name, **asdict(self)}, sort_keys=True)


def _require_positive(**values: float) -> None:
    for name, value in values.items():
        if not (math.isfinite(value) and value > 0):
            raise ParameterError(f"{name} must be positive and finite, got {value}")


@dataclass(frozen=True)
class GaussianArgmax(Event):
    """The winner of a tally with independent N(0, σ²) on every class.

    One record moves one teacher of weight ``sensitivity`` from one class to another.
    """

    sigma: float
    classes: int
    sensitivity: float = 1.0
    name: ClassVar[str] = "gaussian-argmax"

    def __post_init__(self) -> None:
        _require_positive(sigma=self.sigma, sensitivity=self.sensitivity)
        if self.classes < 2:
            raise ParameterError(f"a vote needs at least two classes, got {self.classes}")

    def cost(self, orders: FloatArray) -> FloatArray:
        """Three-cell supremum; the one-bit supremum for two classes."""
        return tight.gnmax(orders, self.sigma, self.sensitivity, classes=self.classes)


@dataclass(frozen=True)
class GaussianCheck(Event):
    """Whether one count plus N(0, σ²) reaches a threshold: one bit."""

    sigma: float
    sensitivity: float = 1.0
    name: ClassVar[str] = "gaussian-check"

    def __post_init__(self) -> None:
        _require_positive(sigma=self.sigma, sensitivity=self.sensitivity)

    def cost(self, orders: FloatArray) -> FloatArray:
        """One-bit supremum."""
        return tight.threshold(orders, self.sigma, self.sensitivity)


@dataclass(frozen=True)
class LaplaceArgmax(Event):
    """The winner of a tally with independent Laplace noise of scale 1/γ on every class.

    One moved vote changes two counts by one: the release is (2γ, 0)-private.
    """

    gamma: float
    name: ClassVar[str] = "laplace-argmax"

    def __post_init__(self) -> None:
        _require_positive(gamma=self.gamma)

    def cost(self, orders: FloatArray) -> FloatArray:
        """The largest cost of a (2γ, 0)-private release."""
        return published.pure(orders, 2.0 * self.gamma)


@dataclass(frozen=True)
class ClippedSum(Event):
    """A sum of updates clipped to norm C, released with N(0, (zC)²) on every coordinate.

    One record changes one teacher's update, by at most 2C: see docs/proofs/private-ttac.md.
    """

    noise_multiplier: float
    name: ClassVar[str] = "clipped-sum"

    def __post_init__(self) -> None:
        _require_positive(noise_multiplier=self.noise_multiplier)

    def cost(self, orders: FloatArray) -> FloatArray:
        """The Gaussian mechanism with sensitivity 2C and deviation zC: 2α/z²."""
        return published.threshold(orders, self.noise_multiplier, sensitivity=2.0)


KNOWN: dict[str, type[Event]] = {
    kind.name: kind for kind in (GaussianArgmax, GaussianCheck, LaplaceArgmax, ClippedSum)
}


def from_json(text: str) -> Event:
    """Read an event back; whatever is not exactly one we know is refused."""
    try:
        record: dict[str, Any] = json.loads(text)
        kind = KNOWN[record.pop("event")]
        if set(record) != {field.name for field in fields(kind)}:
            raise KeyError("fields")
        return kind(**record)
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise UnknownEventError(
            "the ledger holds a privacy event that this version of Ballotine cannot price; "
            "upgrade Ballotine, and until then nothing may be answered from it"
        ) from problem
