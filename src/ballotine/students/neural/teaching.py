"""How networks learn from answers: one alone, or two that teach each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from ballotine.errors import ParameterError
from ballotine.students.neural.cleansing import Suspicion
from ballotine.students.neural.learner import Counts, Rows
from ballotine.students.neural.losses import answer_losses
from ballotine.students.neural.pools import Batch
from ballotine.students.neural.selection import RAMP, exchanged, kept_share


@dataclass(frozen=True)
class Lesson:
    """What networks are to learn from the answers of a batch.

    Attributes:
        losses: one per network.
        criterion: the mean loss on all answers of the batch, whatever was selected.
    """

    losses: list[torch.Tensor]
    criterion: torch.Tensor


class Teaching(Protocol):
    """A rule for learning from answers."""

    def __call__(self, logits: list[torch.Tensor], batch: Batch, epoch: int) -> Lesson:
        """The lesson of a batch, from each network's logits of the answered rows."""

    def end_epoch(self) -> tuple[dict[str, float], Rows]:
        """Numbers of the epoch, and places in the labelled pool worth telling."""

    def counts(self) -> Counts:
        """What is counted from epoch to epoch."""

    def recount(self, counts: Counts) -> None:
        """Go on with counts of an earlier time."""


class Alone:
    """One network learns from all answers."""

    def __init__(self, smoothing: float = 0.0) -> None:
        self._smoothing = smoothing

    def __call__(self, logits: list[torch.Tensor], batch: Batch, epoch: int) -> Lesson:  # noqa: ARG002
        """The mean loss."""
        loss = answer_losses(logits[0], batch.codes, self._smoothing).mean()
        return Lesson([loss], loss.detach())

    def end_epoch(self) -> tuple[dict[str, float], Rows]:
        """Nothing to tell."""
        return {}, {}

    def counts(self) -> Counts:
        """Nothing is counted."""
        return {}

    def recount(self, counts: Counts) -> None:
        """Nothing is counted."""


class Peers:
    """Two networks choose for each other what to learn.

    Parameters:
        answers: how many there are.
        noise_rate: the share of them believed to be wrong.
        by_disagreement: choose among rows that the peers predict differently; among all rows
            of a batch without any, or two peers who come to agree would never learn again.
        ramp: epochs until the full share is left out.
        smoothing: the share of each answer that is spread evenly.
        decay: of the counts of suspicious answers, from epoch to epoch.
    """

    def __init__(
        self,
        answers: int,
        noise_rate: float,
        *,
        by_disagreement: bool,
        ramp: int = RAMP,
        smoothing: float = 0.0,
        decay: float = 0.9,
    ) -> None:
        if not 0.0 <= noise_rate < 1.0:
            raise ParameterError(f"a noise rate is at least 0 and below 1, got {noise_rate}")
        if ramp < 1:
            raise ParameterError(f"the ramp is a number of epochs, got {ramp}")
        self.suspicion = Suspicion(answers, decay)
        self._noise_rate, self._ramp, self._smoothing = noise_rate, ramp, smoothing
        self._by_disagreement = by_disagreement
        self._disagreed = np.zeros(answers, dtype=np.bool_)
        self._right, self._seen = np.zeros(2), 0

    def __call__(self, logits: list[torch.Tensor], batch: Batch, epoch: int) -> Lesson:
        """Each network's mean loss on what its peer chose."""
        first, second = (answer_losses(part, batch.codes, self._smoothing) for part in logits)
        guesses = [part.detach().argmax(dim=1) for part in logits]
        disagreed = guesses[0] != guesses[1]
        self._watch(batch, guesses, disagreed)
        everything = torch.arange(len(batch.places), device=disagreed.device)
        disputed = self._by_disagreement and bool(disagreed.any())
        candidates = everything[disagreed] if disputed else everything
        share = kept_share(epoch + 1, self._noise_rate, self._ramp)
        chosen = exchanged((first, second), candidates, share)
        losses = [
            each[rows].sum() / max(len(rows), 1)
            for each, rows in zip((first, second), chosen, strict=True)
        ]
        return Lesson(losses, (first.detach().mean() + second.detach().mean()) / 2)

    def end_epoch(self) -> tuple[dict[str, float], Rows]:
        """Agreement with the answers, rows in dispute, and suspicious answers."""
        suspected = self.suspicion.end_epoch()
        disagreed = np.flatnonzero(self._disagreed)
        right = self._right / max(self._seen, 1)
        self._disagreed[:] = False
        self._right, self._seen = np.zeros(2), 0
        numbers = {
            "agreement_1": float(right[0]),
            "agreement_2": float(right[1]),
            "disagreed": float(len(disagreed)),
            "suspected": float(len(suspected)),
        }
        return numbers, {"disagreed": disagreed, "suspected": suspected}

    def counts(self) -> Counts:
        """How suspicious each answer is; all else begins anew with each epoch."""
        return {"suspicion": self.suspicion.counts}

    def recount(self, counts: Counts) -> None:
        """Suspicions of an earlier time."""
        self.suspicion.counts = counts["suspicion"]

    def _watch(self, batch: Batch, guesses: list[torch.Tensor], disagreed: torch.Tensor) -> None:
        places, differ = batch.places.cpu().numpy(), disagreed.cpu().numpy()
        wrong = [(guess != batch.codes).cpu().numpy() for guess in guesses]
        self._disagreed[places[differ]] = True
        self.suspicion.mark(places[differ & wrong[0] & wrong[1]])
        self._right += [np.count_nonzero(~part) for part in wrong]
        self._seen += len(places)
