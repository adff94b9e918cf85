"""τ voting: ballots are clipped to a norm before they are counted (multi-winner, Algorithm 3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from ballotine.privacy.multilabel import Norm
from ballotine.voting.mechanism import AuditDefault
from ballotine.voting.multilabel.ballots import Clipping
from ballotine.voting.multilabel.label_voting import LabelVoting
from ballotine.voting.parameters import parameter


@dataclass(frozen=True)
class ClippedVoting(LabelVoting):
    """Binary voting on ballots clipped to norm τ: a ballot that names many labels counts less.

    A ballot b counts as b · min(1, τ/‖b‖) for V¹, and the rest of its vote counts for
    V⁰ = n − V¹. So labels whose teachers name many others are present less often.

    Attributes:
        sigma: standard deviation of each noise, in votes.
        tau: the largest norm of a ballot. It is public: choose it without the private records.
        norm: "l2" or "l1".
        threshold: votes that a label's larger count, with noise, must reach; None: no check.
        sigma_threshold: standard deviation of the noise on each check.
        variant: where the noise is added: "both", "one-against-complement", "one-against-half".
        dependencies: which labels imply which: public knowledge.
    """

    tau: float = field(metadata=parameter("Largest norm of a ballot.", above=0))
    norm: Norm = field(default="l2", metadata=parameter("Which norm: l2 or l1."))
    name: ClassVar[str] = "clipped"
    audit: ClassVar[AuditDefault | None] = AuditDefault({"sigma": 3.0, "tau": 1.0})

    def __post_init__(self) -> None:
        super().__post_init__()
        Clipping(self.tau, self.norm)

    @property
    def clipping(self) -> Clipping:
        """Clipping to norm τ."""
        return Clipping(self.tau, self.norm)
