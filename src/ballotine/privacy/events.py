"""Privacy events: descriptions of releases, from which their costs can be recomputed later.

An event names a primitive release and its parameters, never a price. The ledger stores
events; costs are computed when needed, so a better bound in a later version lowers the cost
of past releases. An event that this version does not know is an error (fail closed) and
never counts as free.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from typing import Any, ClassVar

from ballotine.errors import ParameterError, UnknownEventError
from ballotine.privacy import multilabel, published, tight
from ballotine.types import FloatArray


@dataclass(frozen=True)
class Event(ABC):
    """One primitive release. Subclasses are frozen; their meaning never changes."""

    name: ClassVar[str]

    @abstractmethod
    def cost(self, orders: FloatArray) -> FloatArray:
        """Return the data-independent Rényi cost at each order."""

    def covers(self, other: Event) -> bool:
        """Whether a reservation of this event also pays for releasing the other one."""
        return self == other

    def to_json(self) -> str:
        """Return the canonical JSON text: equal events have equal texts."""
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
        """Return the three-cell supremum, or the one-bit supremum for two classes."""
        return tight.gnmax(orders, self.sigma, self.sensitivity, classes=self.classes)


@dataclass(frozen=True)
class SharedGaussianArgmax(Event):
    """The winner of a tally with N(0, σ²) on every class, where one record moves several votes.

    ``teachers`` teachers saw the record, and each may move its vote of weight ``weight``
    independently.
    """

    sigma: float
    classes: int
    teachers: int
    weight: float = 1.0
    name: ClassVar[str] = "shared-gaussian-argmax"

    def __post_init__(self) -> None:
        _require_positive(sigma=self.sigma, teachers=self.teachers, weight=self.weight)
        if self.classes < 2:
            raise ParameterError(f"a vote needs at least two classes, got {self.classes}")

    def cost(self, orders: FloatArray) -> FloatArray:
        """Return the cost u²α/σ² of the noisy histogram, or the one-bit cost for two classes.

        The histogram's cost holds however the u votes move.
        """
        votes = self.teachers * self.weight
        if self.classes == 2:  # all moved votes shift the same difference, so one bit suffices
            return tight.gnmax(orders, self.sigma, votes, classes=2)
        return published.gnmax(orders, self.sigma, votes)


@dataclass(frozen=True)
class GaussianCheck(Event):
    """One bit: whether a count plus N(0, σ²) reaches a threshold."""

    sigma: float
    sensitivity: float = 1.0
    name: ClassVar[str] = "gaussian-check"

    def __post_init__(self) -> None:
        _require_positive(sigma=self.sigma, sensitivity=self.sensitivity)

    def cost(self, orders: FloatArray) -> FloatArray:
        """Return the one-bit supremum."""
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
        """Return the largest cost of any (2γ, 0)-private release."""
        return published.pure(orders, 2.0 * self.gamma)


@dataclass(frozen=True)
class LabelBits(Event):
    """For each of several labels, whether its noisy margin is positive; one record, one ballot.

    Ballots are clipped to norm ``tau`` before they are counted (None: no clipping). ``labels``
    is the number of labels released together; see docs/proofs/clipped-ballots.md.
    """

    sigma: float
    labels: int
    tau: float | None = None
    norm: multilabel.Norm = "l2"
    variant: multilabel.Variant = "both"
    name: ClassVar[str] = "label-bits"

    def __post_init__(self) -> None:
        _require_positive(sigma=self.sigma, labels=self.labels)
        multilabel.leverage(self.variant)
        multilabel.squared_sensitivity(self.labels, self.tau, self.norm)

    def cost(self, orders: FloatArray) -> FloatArray:
        """Sum one-bit suprema over the labels, maximised over pairs of clipped ballots."""
        return multilabel.tight(orders, self.sigma, self.labels, self.tau, self.norm, self.variant)

    def covers(self, other: Event) -> bool:
        """Return True for the same release of as many or fewer labels, which costs no more."""
        return isinstance(other, LabelBits) and _fewer(self, other)


@dataclass(frozen=True)
class LabelChecks(Event):
    """For each of several labels, whether it passes the check max(V1, V0) + N(0, σ²) ≥ T."""

    sigma: float
    labels: int
    tau: float | None = None
    norm: multilabel.Norm = "l2"
    name: ClassVar[str] = "label-checks"

    def __post_init__(self) -> None:
        _require_positive(sigma=self.sigma, labels=self.labels)
        multilabel.squared_sensitivity(self.labels, self.tau, self.norm)

    def cost(self, orders: FloatArray) -> FloatArray:
        """Sum one-bit suprema over the labels, maximised over pairs of clipped ballots."""
        return multilabel.tight_check(orders, self.sigma, self.labels, self.tau, self.norm)

    def covers(self, other: Event) -> bool:
        """Return True for the same checks of as many or fewer labels, which cost no more."""
        return isinstance(other, LabelChecks) and _fewer(self, other)


@dataclass(frozen=True)
class WeightedLabelBits(LabelBits):
    """As `LabelBits`, where one record moves a label's count further than one ballot would.

    ``sensitivity`` is the weight of a ballot times how many teachers saw the record; their
    ballots may change in different ways.
    """

    sensitivity: float = 1.0
    name: ClassVar[str] = "weighted-label-bits"

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_positive(sensitivity=self.sensitivity)

    def cost(self, orders: FloatArray) -> FloatArray:
        """That of `LabelBits` with every move ``sensitivity`` times as large."""
        return multilabel.tight(
            orders, self.sigma, self.labels, self.tau, self.norm, self.variant, self.sensitivity
        )


@dataclass(frozen=True)
class WeightedLabelChecks(LabelChecks):
    """As `LabelChecks`, where one record moves a label's count further than one ballot would."""

    sensitivity: float = 1.0
    name: ClassVar[str] = "weighted-label-checks"

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_positive(sensitivity=self.sensitivity)

    def cost(self, orders: FloatArray) -> FloatArray:
        """That of `LabelChecks` with every move ``sensitivity`` times as large."""
        return multilabel.tight_check(
            orders, self.sigma, self.labels, self.tau, self.norm, self.sensitivity
        )


def _fewer(more: LabelBits | LabelChecks, fewer: LabelBits | LabelChecks) -> bool:
    return fewer.labels <= more.labels and replace(fewer, labels=more.labels) == more


@dataclass(frozen=True)
class GaussianNumber(Event):
    """One number with Gaussian noise of ``sigma`` times its sensitivity to one record."""

    sigma: float
    name: ClassVar[str] = "gaussian-number"

    def __post_init__(self) -> None:
        _require_positive(sigma=self.sigma)

    def cost(self, orders: FloatArray) -> FloatArray:
        """Return the cost of the Gaussian mechanism, α/(2σ²)."""
        return published.threshold(orders, self.sigma)


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
        """Return the cost of the Gaussian mechanism, sensitivity 2C, deviation zC: 2α/z²."""
        return published.threshold(orders, self.noise_multiplier, sensitivity=2.0)


KNOWN: dict[str, type[Event]] = {
    kind.name: kind
    for kind in (
        GaussianArgmax,
        SharedGaussianArgmax,
        GaussianCheck,
        LaplaceArgmax,
        LabelBits,
        LabelChecks,
        WeightedLabelBits,
        WeightedLabelChecks,
        GaussianNumber,
        ClippedSum,
    )
}


@lru_cache(maxsize=4096)
def from_json(text: str) -> Event:
    """Parse an event; anything that is not exactly a known event is refused."""
    try:
        record: dict[str, Any] = json.loads(text)
        kind = KNOWN[record.pop("event")]
        if set(record) != {field.name for field in fields(kind)}:
            raise KeyError("fields")
        return kind(**record)
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise UnknownEventError(
            "the ledger holds a privacy event that this version of Ballotine cannot price; "
            "upgrade Ballotine before answering from it"
        ) from problem
