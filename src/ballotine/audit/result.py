"""What an audit found, in numbers and in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ballotine.errors import VerificationError

STRONG = 0.5
"""From this share of the claim on, an audit counts as one that would notice an error."""


@dataclass(frozen=True)
class AuditResult:
    """A lower bound on ε beside what is claimed.

    Attributes:
        subject: what was audited, with its parameters.
        pair: the neighbouring inputs that were compared.
        queries: how many queries one trial answers.
        trials: how often the release was run in either world; half of them chose the attack.
        delta: δ of claim and bound.
        confidence: that the bound is not above the true ε.
        claimed: the ε that is claimed; None when nothing is.
        whole: the bound from one event of whole outputs.
        composed: the bound from single answers, composed; None where there are none.
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
        """The lower bound on ε: the better of the two."""
        return max(self.whole, self.composed or 0.0)

    @property
    def ratio(self) -> float | None:
        """The lower bound over the claim: above 1, the claim is false."""
        return self.lower / self.claimed if self.claimed else None

    @property
    def exceeded(self) -> bool:
        """Whether the lower bound is above the claim."""
        return self.claimed is not None and self.lower > self.claimed

    @property
    def verdict(self) -> str:
        """One sentence for people."""
        if self.claimed is None:
            return f"nothing is claimed; whoever claims less than ε = {self.lower:.4g} is wrong"
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
            f"the claim stands, but this audit is weak: a claim of {max(self.lower, 0.0):.4g} "
            "would have stood too; try more trials, more queries or a larger δ"
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            **asdict(self),
            "lower": self.lower,
            "ratio": self.ratio,
            "exceeded": self.exceeded,
            "verdict": self.verdict,
        }


def require(results: Sequence[AuditResult]) -> None:
    """Raise when a claim was refuted.

    Raises:
        VerificationError: naming every subject whose lower bound is above its claim.
    """
    failed = [result for result in results if result.exceeded]
    if failed:
        told = "; ".join(f"{one.subject}: {one.verdict}" for one in failed)
        raise VerificationError(f"{len(failed)} of {len(results)} audits failed: {told}")
