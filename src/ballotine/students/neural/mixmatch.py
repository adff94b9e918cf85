"""MixMatch (Berthelot et al. 2019), for classes and for several labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.nn import functional

from ballotine.errors import ParameterError
from ballotine.neural.training import MISSING
from ballotine.neural.zoo import Shape
from ballotine.students.neural.base import NeuralStudent
from ballotine.students.neural.learner import Learner, LearnerSetting, Losses, descend, untracked
from ballotine.students.neural.losses import chances, sharpened
from ballotine.students.neural.pools import Batch


def mixed(first: torch.Tensor, second: torch.Tensor, share: torch.Tensor) -> torch.Tensor:
    """Return λ·first + (1 − λ)·second, with one λ per row.

    Args:
        first: rows.
        second: the same number of rows.
        share: λ of each row.
    """
    shaped = share.reshape(-1, *[1] * (first.ndim - 1)).to(first.dtype)
    return shaped * first + (1 - shaped) * second


def mixing_shares(rows: int, alpha: float, generator: torch.Generator) -> torch.Tensor:
    """Draw λ = max(B, 1 − B) with B ~ Beta(α, α), so that the first row of a pair dominates."""
    # torch can draw Beta variates only from its global generator.
    seed = int(torch.randint(2**31, (1,), generator=generator))
    shares = np.random.default_rng(seed).beta(alpha, alpha, rows)
    return torch.from_numpy(np.maximum(shares, 1 - shares))


class MixMatchLearner(Learner):
    """Guesses labels, sharpens them, and mixes rows in random pairs."""

    def __init__(self, setting: LearnerSetting, student: MixMatch) -> None:
        super().__init__(setting, [setting.make_net()])
        self._net, self._student = self.nets[0], student
        self._ramp = max(1, round(student.ramp_share * setting.schedule.epochs))

    def step(self, batch: Batch, epoch: int) -> Losses:
        """Take one step on the loss for mixed rows."""
        answered, setting, student = len(batch.places), self.setting, self._student
        views = [setting.augmented(batch.unlabelled) for _ in range(student.guesses)]
        guess = self._guess(views)
        rows = torch.cat([setting.augmented(batch.labelled), *views])
        given, known = self._targets(batch.codes, guess)
        targets = torch.cat([given, *[guess] * len(views)])
        counted = torch.cat([known, *[torch.ones_like(guess)] * len(views)])
        partner = torch.randperm(len(rows), generator=setting.generator).to(rows.device)
        share = mixing_shares(len(rows), student.alpha, setting.generator).to(rows.device)
        logits = self._net(mixed(rows, rows[partner], share))
        wanted = mixed(targets, targets[partner], share)
        counted = counted * counted[partner]
        supervised = self._supervised(logits[:answered], wanted[:answered], counted[:answered])
        guessed = chances(logits[answered:], setting.multilabel) - wanted[answered:]
        unlabelled = (guessed.square() * counted[answered:]).mean()
        weight = student.unlabelled_weight * min(1.0, (epoch + 1) / self._ramp)
        descend(self.optimisers[0], supervised + weight * unlabelled)
        return {"labelled": supervised.detach(), "unlabelled": unlabelled.detach()}

    @torch.no_grad()
    def _guess(self, views: list[torch.Tensor]) -> torch.Tensor:
        with untracked(self._net):
            logits = self._net(torch.cat(views))
        found = chances(logits, self.setting.multilabel)
        mean = found.reshape(len(views), -1, found.shape[1]).mean(dim=0)
        return sharpened(mean, self._student.temperature, self.setting.multilabel)

    def _targets(
        self, codes: torch.Tensor, guess: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        smoothing, outputs = self.setting.smoothing, guess.shape[1]
        if self.setting.multilabel:
            known = (codes != MISSING).to(guess.dtype)
            return codes.clamp(min=0) * (1 - smoothing) + smoothing / 2, known
        hot = functional.one_hot(codes, outputs).to(guess.dtype)
        return hot * (1 - smoothing) + smoothing / outputs, torch.ones_like(hot)

    def _supervised(
        self, logits: torch.Tensor, wanted: torch.Tensor, counted: torch.Tensor
    ) -> torch.Tensor:
        if not self.setting.multilabel:
            return functional.cross_entropy(logits, wanted)
        each = functional.binary_cross_entropy_with_logits(logits, wanted, reduction="none")
        return (each * counted).sum() / counted.sum().clamp(min=1)


class MixMatch(NeuralStudent):
    """Guesses labels of unanswered rows, sharpens them, and mixes all rows in pairs.

    Several labels are guessed, sharpened and mixed separately; a label that is unanswered on
    either row of a pair is left out.

    Parameters:
        guesses: number of augmented copies of a row whose mean prediction is the guess.
        temperature: of the sharpening; towards 0 a guess becomes one class.
        alpha: parameter of the Beta distribution of mixing shares.
        unlabelled_weight: weight of the squared error on guessed labels.
        ramp_share: share of the epochs over which that weight grows.
        shared: the parameters of `NeuralStudent`; ``augment`` "auto" is `RotateShift` for
            images and `SwapFeatures` for tables.
    """

    several_labels = True

    def __init__(
        self,
        network: Any = "mlp",
        shape: Shape | None = None,
        *,
        guesses: int = 2,
        temperature: float = 0.5,
        alpha: float = 0.75,
        unlabelled_weight: float = 10.0,
        ramp_share: float = 0.4,
        augment: Any = "auto",
        **shared: Any,
    ) -> None:
        super().__init__(network, shape, augment=augment, **shared)
        self.guesses = guesses
        self.temperature = temperature
        self.alpha = alpha
        self.unlabelled_weight = unlabelled_weight
        self.ramp_share = ramp_share

    def _learner(self, setting: LearnerSetting) -> Learner:
        if self.guesses < 1 or not self.temperature > 0 or not self.alpha > 0:
            raise ParameterError("guesses, temperature and alpha must be positive")
        if not self.unlabelled_weight >= 0 or not 0 <= self.ramp_share <= 1:
            raise ParameterError(
                "unlabelled_weight must not be negative, and ramp_share must be from 0 to 1"
            )
        return MixMatchLearner(setting, self)
