"""How networks learn from partly wrong answers: one from all of them, or two that teach each other.

Networks fit correct answers before wrong ones. In co-teaching (Han et al. 2018) two networks select
the answers with the smallest loss for each other; co-teaching+ (Yu et al. 2019) selects among the
rows the two disagree on, so that they remain different.

PATE++ (Algorithm 3) then removes answers that are probably wrong. An answer is suspicious in an
epoch if the two peers predict its row differently from each other and from the answer. The counts
decay, because in early epochs everything is suspicious. The algorithm as printed scales each
epoch's marks instead, so that nothing decays; the paper's text decays the running counts, which is
what this code does.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import torch

from ballotine.errors import ParameterError
from ballotine.students.neural.losses import answer_losses
from ballotine.students.neural.pools import Batch
from ballotine.types import BoolArray, FloatArray, IntArray

Rows = dict[str, IntArray]
Counts = dict[str, FloatArray]

RAMP = 15
"""Epochs until the full share of answers is left out."""


def kept_share(epoch: int, noise_rate: float, ramp: int = RAMP) -> float:
    """Return R(e) = 1 − β·min(e/ramp, 1), the share of answers that is used.

    Args:
        epoch: from 1.
        noise_rate: β, the share of answers assumed to be wrong.
        ramp: epochs until this share is left out.
    """
    return 1 - noise_rate * min(epoch / ramp, 1.0)


def smallest(losses: torch.Tensor, share: float) -> torch.Tensor:
    """Return the positions of the smallest losses, rounding the share up."""
    count = math.ceil(share * len(losses) - 1e-9)
    return torch.topk(losses, count, largest=False).indices


def exchanged(
    losses: tuple[torch.Tensor, torch.Tensor], candidates: torch.Tensor, share: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the positions each of two peers learns from: those with the other's smallest losses.

    Args:
        losses: of each peer, one per row.
        candidates: the positions to choose from, possibly none.
        share: the share of them to keep.
    """
    first, second = (smallest(each.detach()[candidates], share) for each in losses)
    return candidates[second], candidates[first]


class Suspicion:
    """Running counts: counts ← α·counts + marks, at the end of each epoch.

    Parameters:
        answers: number of answers.
        decay: α, from 0 to 1.
    """

    def __init__(self, answers: int, decay: float) -> None:
        if not 0.0 <= decay <= 1.0:
            raise ParameterError(f"the decay of counts must be from 0 to 1, got {decay}")
        self.counts: FloatArray = np.zeros(answers)
        self._decay = decay
        self._marked: BoolArray = np.zeros(answers, dtype=np.bool_)

    def mark(self, places: IntArray) -> None:
        """Mark answers as suspicious in this epoch; marking one twice counts once."""
        self._marked[places] = True

    def end_epoch(self) -> IntArray:
        """End an epoch and return the positions of its suspicious answers."""
        suspected = np.flatnonzero(self._marked).astype(np.int64)
        self.counts = self._decay * self.counts + self._marked
        self._marked[:] = False
        return suspected


def most_suspected(counts: FloatArray, codes: IntArray, share: float) -> IntArray:
    """Return the positions of the answers to remove: the share with the highest counts.

    An answer that was never suspected is kept, and so is the least suspected one of each class,
    so that no class loses all of its answers. Among equal counts the first are removed.

    Args:
        counts: how suspicious each answer is.
        codes: the answers' class numbers.
        share: τ, the share of all answers to remove.
    """
    if not 0.0 <= share < 1.0:
        raise ParameterError(f"the share to remove must be at least 0 and below 1, got {share}")
    limit = int(share * len(counts) + 1e-9)
    order = np.argsort(-counts, kind="stable")
    spared = {int(order[codes[order] == code][-1]) for code in np.unique(codes)}
    removed = [int(place) for place in order if counts[place] > 0 and int(place) not in spared]
    return np.sort(np.array(removed[:limit], dtype=np.int64))


@dataclass(frozen=True)
class Lesson:
    """The losses of networks on the answers of a batch.

    Attributes:
        losses: one per network.
        criterion: the mean loss on all answers of the batch, selected or not.
    """

    losses: list[torch.Tensor]
    criterion: torch.Tensor


class Teaching(ABC):
    """A rule for learning from answers; by default it counts nothing."""

    @abstractmethod
    def __call__(self, logits: list[torch.Tensor], batch: Batch, epoch: int) -> Lesson:
        """Return the losses of a batch, from each network's logits for the answered rows."""

    def end_epoch(self) -> tuple[dict[str, float], Rows]:
        """Return numbers of the epoch, and notable positions in the labelled pool."""
        return {}, {}

    def counts(self) -> Counts:
        """Return what is counted across epochs."""
        return {}

    def recount(self, counts: Counts) -> None:  # noqa: B027 - most rules count nothing
        """Continue from earlier counts."""


class Alone(Teaching):
    """One network learns from all answers."""

    def __init__(self, smoothing: float = 0.0) -> None:
        self._smoothing = smoothing

    def __call__(self, logits: list[torch.Tensor], batch: Batch, epoch: int) -> Lesson:  # noqa: ARG002
        """Return the mean loss."""
        loss = answer_losses(logits[0], batch.codes, self._smoothing).mean()
        return Lesson([loss], loss.detach())


class Peers(Teaching):
    """Two networks select for each other what to learn.

    Parameters:
        answers: number of answers.
        noise_rate: the share of them assumed to be wrong.
        by_disagreement: select among rows that the peers predict differently; in a batch
            without any, among all rows, or peers that agree would stop learning.
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
            raise ParameterError(f"the noise rate must be at least 0 and below 1, got {noise_rate}")
        if ramp < 1:
            raise ParameterError(f"the ramp must be at least one epoch, got {ramp}")
        self.suspicion = Suspicion(answers, decay)
        self._noise_rate, self._ramp, self._smoothing = noise_rate, ramp, smoothing
        self._by_disagreement = by_disagreement
        self._disagreed = np.zeros(answers, dtype=np.bool_)
        self._right, self._seen = np.zeros(2), 0

    def __call__(self, logits: list[torch.Tensor], batch: Batch, epoch: int) -> Lesson:
        """Return each network's mean loss on what its peer selected."""
        first, second = (answer_losses(part, batch.codes, self._smoothing) for part in logits)
        guesses = [part.detach().argmax(dim=1) for part in logits]
        disagreed = guesses[0] != guesses[1]
        self._count(batch, guesses, disagreed)
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
        """Return agreement with the answers, disputed rows and suspicious answers."""
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
        """Return how suspicious each answer is; all other counts start over each epoch."""
        return {"suspicion": self.suspicion.counts}

    def recount(self, counts: Counts) -> None:
        """Continue from earlier counts."""
        self.suspicion.counts = counts["suspicion"]

    def _count(self, batch: Batch, guesses: list[torch.Tensor], disagreed: torch.Tensor) -> None:
        places, differ = batch.places.cpu().numpy(), disagreed.cpu().numpy()
        wrong = [(guess != batch.codes).cpu().numpy() for guess in guesses]
        self._disagreed[places[differ]] = True
        self.suspicion.mark(places[differ & wrong[0] & wrong[1]])
        self._right += [np.count_nonzero(~part) for part in wrong]
        self._seen += len(places)
