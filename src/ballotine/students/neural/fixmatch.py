"""FixMatch (Sohn et al. 2020): confident predictions as labels of strongly augmented rows."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from ballotine.errors import ParameterError
from ballotine.neural.augment import STRONG, Augment
from ballotine.neural.layers import batch_norms
from ballotine.neural.zoo import Shape
from ballotine.students.neural.base import NeuralStudent
from ballotine.students.neural.learner import Learner, LearnerSetting, Losses, descend
from ballotine.students.neural.losses import answer_losses, chances
from ballotine.students.neural.pools import Batch


def pseudo_labels(
    logits: torch.Tensor, threshold: float, multilabel: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return predicted labels, and 1 where the prediction is confident, else 0.

    Args:
        logits: for weakly augmented rows.
        threshold: the probability from which a prediction is confident.
        multilabel: whether there are several labels, which then count separately.
    """
    found = chances(logits.detach(), multilabel)
    if multilabel:
        labels = (found > 0.5).to(found.dtype)
        return labels, (torch.maximum(found, 1 - found) >= threshold).to(found.dtype)
    sure, labels = found.max(dim=1)
    return labels, (sure >= threshold).to(found.dtype)


class FixMatchLearner(Learner):
    """Learns confident predictions for weakly augmented rows from strongly augmented ones."""

    def __init__(self, setting: LearnerSetting, student: FixMatch, strong: Augment | None) -> None:
        super().__init__(setting, [setting.make_net()])
        self._net, self._student, self._strong = self.nets[0], student, strong

    def step(self, batch: Batch, epoch: int) -> Losses:  # noqa: ARG002
        """Take one step on the loss for answers and confident pseudo-labels."""
        setting, student, answered = self.setting, self._student, len(batch.places)
        weak = setting.augmented(batch.inputs)
        others = batch.unlabelled
        strong = others if self._strong is None else self._strong(others, setting.generator)
        logits, strong_logits = self._logits(weak, strong, answered)
        labels, counted = pseudo_labels(logits[answered:], student.threshold, setting.multilabel)
        if setting.multilabel:
            each = functional.binary_cross_entropy_with_logits(
                strong_logits, labels, reduction="none"
            )
        else:
            each = functional.cross_entropy(strong_logits, labels, reduction="none")
        unlabelled = (each * counted).mean()
        supervised = answer_losses(logits[:answered], batch.codes, setting.smoothing).mean()
        descend(self.optimisers[0], supervised + student.unlabelled_weight * unlabelled)
        return {
            "labelled": supervised.detach(),
            "unlabelled": unlabelled.detach(),
            "sure": counted.mean(),
        }

    def _logits(
        self, weak: torch.Tensor, strong: torch.Tensor, answered: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if batch_norms(self._net):  # one pass, so that all rows share their statistics
            together = self._net(torch.cat((weak, strong)))
            return together[: len(weak)], together[len(weak) :]
        with torch.no_grad():
            guessed = self._net(weak[answered:])
        learnt = self._net(torch.cat((weak[:answered], strong)))
        return torch.cat((learnt[:answered], guessed)), learnt[answered:]


class FixMatch(NeuralStudent):
    """Confident predictions for weakly augmented rows label strongly augmented ones.

    Parameters:
        threshold: the probability from which a prediction is confident.
        unlabelled_weight: weight of the loss on pseudo-labels.
        strong: "auto", a callable (rows, generator) → rows, or None. "auto" is `StrongChange`
            for images and `SwapFeatures` for tables.
        shared: the parameters of `NeuralStudent`; ``augment`` is the weak one, and "auto"
            is `RotateShift` for images and `SwapFeatures` for tables.
    """

    several_labels = True

    def __init__(
        self,
        network: Any = "mlp",
        shape: Shape | None = None,
        *,
        threshold: float = 0.95,
        unlabelled_weight: float = 1.0,
        strong: Any = "auto",
        augment: Any = "auto",
        ema: float = 0.999,
        **shared: Any,
    ) -> None:
        super().__init__(network, shape, augment=augment, ema=ema, **shared)
        self.threshold = threshold
        self.unlabelled_weight = unlabelled_weight
        self.strong = strong

    def _learner(self, setting: LearnerSetting) -> Learner:
        if not 0.5 <= self.threshold < 1.0:
            raise ParameterError(
                f"the threshold must be at least 0.5 and below 1, got {self.threshold}"
            )
        if not self.unlabelled_weight >= 0:
            raise ParameterError("unlabelled_weight must not be negative")
        return FixMatchLearner(setting, self, self._augment(self.strong, STRONG))
