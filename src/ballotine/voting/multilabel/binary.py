"""Binary voting: every label is a separate vote (multi-winner, Definition 4, Algorithm 2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from ballotine.voting.mechanism import AuditDefault
from ballotine.voting.multilabel.ballots import UNCLIPPED, Clipping
from ballotine.voting.multilabel.label_voting import THRESHOLD, THRESHOLD_NOISE, LabelVoting


@dataclass(frozen=True)
class BinaryVoting(LabelVoting):
    """A label is present if noisy V¹ exceeds noisy V⁰ = n − V¹; ballots are not clipped.

    One ballot can change all k labels, so the cost grows with k: `ClippedVoting` limits that.

    Attributes:
        sigma: standard deviation of each noise, in votes.
        threshold: votes that a label's larger count, with noise, must reach; None: no check.
        sigma_threshold: standard deviation of the noise on each check.
        variant: where the noise is added: "both", "one-against-complement", "one-against-half".
        dependencies: which labels imply which: public knowledge.
    """

    threshold: float | None = field(default=None, metadata=THRESHOLD)
    sigma_threshold: float | None = field(default=None, metadata=THRESHOLD_NOISE)
    name: ClassVar[str] = "binary"
    audit: ClassVar[AuditDefault | None] = AuditDefault({"sigma": 3.0})

    @property
    def clipping(self) -> Clipping:
        """No clipping."""
        return UNCLIPPED
