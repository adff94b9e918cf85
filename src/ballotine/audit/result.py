"""The result of an audit, in numbers and in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ballotine.errors import VerificationError

STRONG = 0.5
"""An audit is strong if its bound is at least this share of the claim."""


@dataclass(frozen=True)
class AuditResult:
    """A lower bound on ε, and the claimed ε.

    Attributes:
        subject: what was audited, with its parameters.
        pair: the neighbouring inputs that were compared.
        queries: the number of queries that one trial answers.
        trials: the number of trials in each world; half of them chose the attack.
        delta: δ of claim and bound.
        confidence: the probability that the bound is not above the true ε.
        claimed: the claimed ε; None if nothing is claimed.
        whole: the bound from one event of whole outputs.
        composed: the bound from the composition of single answers; None if there are none.
        event: the event of whole outputs.
    """

    subject: str
    pair: str
    queries: int
    trials: int
    delta: float
    confidence: float
    claimed: float | None
    whole: float
    composed: float | None
    event: str

    @property
    def lower(self) -> float:
        """The lower bound on ε: the larger of the two."""
        return max(self.whole, self.composed or 0.0)

    @property
    def ratio(self) -> float | None:
        """The lower bound divided by the claim: above 1, the claim is false."""
        return self.lower / self.claimed if self.claimed else None

    @property
    def exceeded(self) -> bool:
        """Whether the lower bound exceeds the claim."""
        return self.claimed is not None and self.lower > self.claimed

    @property
    def verdict(self) -> str:
        """The result in one sentence."""
        if self.claimed is None:
            return f"nothing is claimed; any claim below ε = {self.lower:.4g} would be false"
        if self.exceeded:
            return (
                f"the claim ε = {self.claimed:.4g} is false: the releases show at least "
                f"{self.lower:.4g}, so noise or accounting is wrong"
            )
        if self.lower >= STRONG * self.claimed:
            return (
                f"the claim stands; this audit would have refuted any claim below {self.lower:.4g}"
            )
        return (
            f"the claim stands, but this audit is weak: it would have refuted only claims below "
            f"{max(self.lower, 0.0):.4g}; try more trials, more queries or a larger δ"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            **asdict(self),
            "lower": self.lower,
            "ratio": self.ratio,
            "exceeded": self.exceeded,
            "verdict": self.verdict,
        }


def require(results: Sequence[AuditResult]) -> None:
    """Raise if a claim was refuted.

    Raises:
        VerificationError: if a lower bound exceeds its claim; it names every such subject.
    """
    failed = [result for result in results if result.exceeded]
    if failed:
        verdicts = "; ".join(f"{one.subject}: {one.verdict}" for one in failed)
        raise VerificationError(f"{len(failed)} of {len(results)} audits failed: {verdicts}")
