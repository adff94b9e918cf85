"""Pseudo-labels that must hold under strong changes, after FixMatch (Sohn et al. 2020)."""

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
    """What the network is sure of: labels, and 1 where they count.

    Args:
        logits: for weakly changed rows.
        threshold: the probability from which on it is sure.
        multilabel: whether labels stand each on its own; each then counts on its own.
    """
    found = chances(logits.detach(), multilabel)
    if multilabel:
        labels = (found > 0.5).to(found.dtype)
        return labels, (torch.maximum(found, 1 - found) >= threshold).to(found.dtype)
    sure, labels = found.max(dim=1)
    return labels, (sure >= threshold).to(found.dtype)


class FixMatchLearner(Learner):
    """What is sure of a weakly changed row is learnt from the strongly changed one."""

    def __init__(self, setting: LearnerSetting, student: FixMatch, strong: Augment | None) -> None:
        super().__init__(setting, [setting.make_net()])
        self._net, self._student, self._strong = self.nets[0], student, strong

    def step(self, batch: Batch, epoch: int) -> Losses:  # noqa: ARG002
        """One step down the loss on answers and on sure pseudo-labels."""
        setting, student, answered = self.setting, self._student, len(batch.places)
        weak = setting.changed(batch.inputs)
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
        if batch_norms(self._net):  # in one pass, so that all share their statistics
            together = self._net(torch.cat((weak, strong)))
            return together[: len(weak)], together[len(weak) :]
        with torch.no_grad():
            guessed = self._net(weak[answered:])
        learnt = self._net(torch.cat((weak[:answered], strong)))
        return torch.cat((learnt[:answered], guessed)), learnt[answered:]


class FixMatch(NeuralStudent):
    """Sure predictions on weakly changed rows are labels for strongly changed ones.

    Parameters:
        threshold: the probability from which on a prediction is sure.
        unlabelled_weight: of the loss on pseudo-labels.
        strong: "auto", a callable (rows, generator) → rows, or None. "auto" is `StrongChange`
            for images and `SwapFeatures` for tables.
        shared: the parameters of `NeuralStudent`; ``augment`` is the weak change, and "auto"
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
            raise ParameterError(f"the threshold is a probability from 0.5, got {self.threshold}")
        if not self.unlabelled_weight >= 0:
            raise ParameterError("unlabelled_weight must not be negative")
        return FixMatchLearner(setting, self, self._augment(self.strong, STRONG))
