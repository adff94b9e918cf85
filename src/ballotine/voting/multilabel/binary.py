"""Binary voting: every label is a vote of its own (multi-winner, Definition 4, Algorithm 2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from ballotine.voting.mechanism import AuditDefault
from ballotine.voting.multilabel.ballots import UNCLIPPED, Clipping
from ballotine.voting.multilabel.label_voting import THRESHOLD, THRESHOLD_NOISE, LabelVoting


@dataclass(frozen=True)
class BinaryVoting(LabelVoting):
    """Present where V¹ beats V⁰ = n − V¹ with noise, label by label; ballots count as they are.

    One ballot can change all k labels, so the cost grows with k: `ClippedVoting` limits that.

    Attributes:
        sigma: standard deviation of each noise, in votes.
        threshold: votes that a label's larger count, with noise, must reach; None: no check.
        sigma_threshold: standard deviation of the noise of each check.
        variant: where the noise is added: "both", "one-against-complement", "one-against-half".
        dependencies: which labels imply which: public knowledge.
    """

    threshold: float | None = field(default=None, metadata=THRESHOLD)
    sigma_threshold: float | None = field(default=None, metadata=THRESHOLD_NOISE)
    name: ClassVar[str] = "binary"
    audit: ClassVar[AuditDefault | None] = AuditDefault({"sigma": 3.0})

    @property
    def clipping(self) -> Clipping:
        """None."""
        return UNCLIPPED
