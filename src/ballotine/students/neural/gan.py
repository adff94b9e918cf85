"""The student of PATE: a discriminator that also classifies (Salimans et al. 2016)."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ballotine.errors import ParameterError
from ballotine.students.neural.base import NeuralStudent
from ballotine.students.neural.generator import Generator
from ballotine.students.neural.learner import (
    Counts,
    Learner,
    LearnerSetting,
    Losses,
    Rows,
    untracked,
)
from ballotine.students.neural.losses import generated_loss, matching_loss, real_loss
from ballotine.students.neural.pools import Batch
from ballotine.students.neural.split import Split
from ballotine.students.neural.teaching import Alone, Teaching

BETAS = (0.5, 0.999)
"""Adam's, as usual for networks that play against each other."""


class GanLearner(Learner):
    """Discriminators and one generator, which matches the mean features of them all.

    All take their step from the same look at the batch: the generator's gradient goes through
    the discriminators as they were before their step, so that nothing is computed twice.
    """

    def __init__(
        self,
        setting: LearnerSetting,
        nets: list[nn.Module],
        teaching: Teaching,
        weight: float = 1.0,
        width: int = 500,
    ) -> None:
        if not weight >= 0 or width < 1:
            raise ParameterError("unlabelled_weight must not be negative, generator_width not zero")
        rows = setting.pools.inputs
        self.generator = Generator(rows, width=width).to(rows.device)
        learning = [self.generator, *nets]
        super().__init__(nets, [setting.course.adam(m.parameters(), BETAS) for m in learning])
        self._splits = [Split(net) for net in nets]
        self._setting, self._teaching, self._weight = setting, teaching, weight

    def step(self, batch: Batch, epoch: int) -> Losses:
        """One step of each discriminator and of the generator."""
        answered = len(batch.places)
        real = self._setting.changed(batch.inputs)
        made = self.generator.draw(len(real) - answered, self._setting.generator)
        looks = [split(real) for split in self._splits]
        others = [self._look(*pair, made) for pair in zip(self.nets, self._splits, strict=True)]
        lesson = self._teaching([logits[:answered] for _, logits in looks], batch, epoch)
        unsupervised = [
            real_loss(logits[answered:]) + generated_loss(made_logits)
            for (_, logits), (_, made_logits) in zip(looks, others, strict=True)
        ]
        matching = torch.stack(
            [
                matching_loss(features[answered:], made_features)
                for (features, _), (made_features, _) in zip(looks, others, strict=True)
            ]
        ).mean()
        self._update(lesson.losses, unsupervised, matching)
        return {
            "labelled": lesson.criterion,
            "unlabelled": torch.stack(unsupervised).detach().mean(),
            "generator": matching.detach(),
        }

    def end_epoch(self) -> tuple[dict[str, float], Rows]:
        """What the teaching has to tell."""
        return self._teaching.end_epoch()

    def modules(self) -> list[nn.Module]:
        """The generator too."""
        return [self.nets, self.generator]

    def counts(self) -> Counts:
        """What the teaching counts."""
        return self._teaching.counts()

    def recount(self, counts: Counts) -> None:
        """Hand the teaching its counts."""
        self._teaching.recount(counts)

    @staticmethod
    def _look(
        net: nn.Module, split: Split, made: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        with untracked(net):
            return split(made)

    def _update(
        self, lessons: list[torch.Tensor], unsupervised: list[torch.Tensor], matching: torch.Tensor
    ) -> None:
        for optimiser in self.optimisers:
            optimiser.zero_grad(set_to_none=True)
        matching.backward(  # type: ignore[no-untyped-call]
            inputs=list(self.generator.parameters()), retain_graph=True
        )
        losses = zip(self.nets, lessons, unsupervised, strict=True)
        total = [lesson + self._weight * other for _, lesson, other in losses]
        torch.stack(total).sum().backward(  # type: ignore[no-untyped-call]
            inputs=[weight for net in self.nets for weight in net.parameters()]
        )
        for optimiser in self.optimisers:
            optimiser.step()


class SemiSupervisedGAN(NeuralStudent):
    """A network that tells classes apart, and public rows from made-up ones.

    Of K + 1 logits the last, "made up", is fixed at 0. The generator matches the mean features
    of the rows without an answer.

    Parameters:
        unlabelled_weight: of the loss on rows without an answer and on made-up ones.
        generator_width: of the generator's two hidden layers.
        shared: the parameters of `NeuralStudent`.
    """

    def __init__(
        self,
        network: Any = "mlp",
        shape: tuple[int, ...] | None = None,
        *,
        unlabelled_weight: float = 1.0,
        generator_width: int = 500,
        **shared: Any,
    ) -> None:
        super().__init__(network, shape, **shared)
        self.unlabelled_weight = unlabelled_weight
        self.generator_width = generator_width

    def _learner(self, setting: LearnerSetting) -> Learner:
        return GanLearner(
            setting,
            [setting.make_net()],
            Alone(setting.smoothing),
            self.unlabelled_weight,
            self.generator_width,
        )
