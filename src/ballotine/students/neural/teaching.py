"""How networks learn from answers of which some are wrong: one alone, or two that teach each other.

Networks fit right answers before wrong ones. Co-teaching (Han et al. 2018) has two of them show
each other the answers they find easiest; co-teaching+ (Yu et al. 2019) takes these among the
rows the two disagree on, so that they stay two.

PATE++ (Algorithm 3) then forgets answers that are probably wrong. An answer is suspicious in an
epoch when the two peers predict its row differently and both differently from the answer. The
counts of epochs decay: early on everything is suspicious. The algorithm as printed scales each
epoch's marks instead, by which nothing decays; the text of the paper decays the running counts,
and so do we.
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
    """R(e) = 1 − β·min(e/15, 1): the share of answers that is learnt from.

    Args:
        epoch: from 1.
        noise_rate: β, the share of answers believed to be wrong.
        ramp: epochs until that share is left out.
    """
    return 1 - noise_rate * min(epoch / ramp, 1.0)


def smallest(losses: torch.Tensor, share: float) -> torch.Tensor:
    """The places of the smallest losses: at least that share of them."""
    count = math.ceil(share * len(losses) - 1e-9)
    return torch.topk(losses, count, largest=False).indices


def exchanged(
    losses: tuple[torch.Tensor, torch.Tensor], candidates: torch.Tensor, share: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """The places each of two peers learns from: those the other finds easiest.

    Args:
        losses: of each peer, one per row.
        candidates: the places to choose from; none is fine.
        share: how many of them are kept.
    """
    first, second = (smallest(each.detach()[candidates], share) for each in losses)
    return candidates[second], candidates[first]


class Suspicion:
    """Running counts: counts ← α·counts + marks, at the end of each epoch.

    Parameters:
        answers: how many there are.
        decay: α, at least 0 and at most 1.
    """

    def __init__(self, answers: int, decay: float) -> None:
        if not 0.0 <= decay <= 1.0:
            raise ParameterError(f"counts decay by a factor from 0 to 1, got {decay}")
        self.counts: FloatArray = np.zeros(answers)
        self._decay = decay
        self._marked: BoolArray = np.zeros(answers, dtype=np.bool_)

    def mark(self, places: IntArray) -> None:
        """Mark places as suspicious in this epoch; marking one twice counts once."""
        self._marked[places] = True

    def end_epoch(self) -> IntArray:
        """End an epoch and return its suspicious places."""
        suspected = np.flatnonzero(self._marked).astype(np.int64)
        self.counts = self._decay * self.counts + self._marked
        self._marked[:] = False
        return suspected


def most_suspected(counts: FloatArray, codes: IntArray, share: float) -> IntArray:
    """The places of the answers to forget: the share with the highest counts.

    An answer that was never suspected stays, and so does the least suspected one of a class
    that would otherwise have none left. Among equal counts the first places go.

    Args:
        counts: how suspicious each answer is.
        codes: the answers' class numbers.
        share: τ, of all answers.
    """
    if not 0.0 <= share < 1.0:
        raise ParameterError(f"the share to remove is at least 0 and below 1, got {share}")
    room = int(share * len(counts) + 1e-9)
    order = np.argsort(-counts, kind="stable")
    spared = {int(order[codes[order] == code][-1]) for code in np.unique(codes)}
    removed = [int(place) for place in order if counts[place] > 0 and int(place) not in spared]
    return np.sort(np.array(removed[:room], dtype=np.int64))


@dataclass(frozen=True)
class Lesson:
    """What networks are to learn from the answers of a batch.

    Attributes:
        losses: one per network.
        criterion: the mean loss on all answers of the batch, whatever was selected.
    """

    losses: list[torch.Tensor]
    criterion: torch.Tensor


class Teaching(ABC):
    """A rule for learning from answers; it counts nothing unless a subclass does."""

    @abstractmethod
    def __call__(self, logits: list[torch.Tensor], batch: Batch, epoch: int) -> Lesson:
        """The lesson of a batch, from each network's logits of the answered rows."""

    def end_epoch(self) -> tuple[dict[str, float], Rows]:
        """Numbers of the epoch, and notable places in the labelled pool."""
        return {}, {}

    def counts(self) -> Counts:
        """What is counted from epoch to epoch."""
        return {}

    def recount(self, counts: Counts) -> None:  # noqa: B027 - most rules count nothing
        """Continue from earlier counts."""


class Alone(Teaching):
    """One network learns from all answers."""

    def __init__(self, smoothing: float = 0.0) -> None:
        self._smoothing = smoothing

    def __call__(self, logits: list[torch.Tensor], batch: Batch, epoch: int) -> Lesson:  # noqa: ARG002
        """The mean loss."""
        loss = answer_losses(logits[0], batch.codes, self._smoothing).mean()
        return Lesson([loss], loss.detach())


class Peers(Teaching):
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
        """How suspicious each answer is; everything else starts afresh each epoch."""
        return {"suspicion": self.suspicion.counts}

    def recount(self, counts: Counts) -> None:
        """Continue from earlier counts."""
        self.suspicion.counts = counts["suspicion"]

    def _watch(self, batch: Batch, guesses: list[torch.Tensor], disagreed: torch.Tensor) -> None:
        places, differ = batch.places.cpu().numpy(), disagreed.cpu().numpy()
        wrong = [(guess != batch.codes).cpu().numpy() for guess in guesses]
        self._disagreed[places[differ]] = True
        self.suspicion.mark(places[differ & wrong[0] & wrong[1]])
        self._right += [np.count_nonzero(~part) for part in wrong]
        self._seen += len(places)
