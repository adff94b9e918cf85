"""PATE's student: a GAN whose discriminator also classifies (Salimans et al. 2016)."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from ballotine.errors import ParameterError
from ballotine.neural.layers import Split
from ballotine.neural.zoo import Shape
from ballotine.students.neural.base import NeuralStudent
from ballotine.students.neural.learner import Learner, LearnerSetting, Losses, untracked
from ballotine.students.neural.losses import generated_loss, matching_loss, real_loss
from ballotine.students.neural.pools import Batch
from ballotine.students.neural.teaching import Alone, Teaching

BETAS = (0.5, 0.999)
"""Adam's betas, as usual for GANs."""


class Generator(nn.Module):
    """Three dense layers from noise to generated rows within the range of the public ones.

    Parameters:
        rows: public rows; only the range of each feature is used.
        noise: dimension of the noise.
        width: width of the hidden layers.
    """

    low: torch.Tensor
    range: torch.Tensor

    def __init__(self, rows: torch.Tensor, noise: int = 100, width: int = 500) -> None:
        super().__init__()
        self.noise = noise
        self.shape = tuple(rows.shape[1:])
        self.layers = nn.Sequential(
            nn.Linear(noise, width, bias=False),
            nn.BatchNorm1d(width),
            nn.Softplus(),
            nn.Linear(width, width, bias=False),
            nn.BatchNorm1d(width),
            nn.Softplus(),
            nn.Linear(width, math.prod(self.shape)),
            nn.Sigmoid(),
        )
        low, high = rows.flatten(1).amin(dim=0), rows.flatten(1).amax(dim=0)
        self.register_buffer("low", low)
        self.register_buffer("range", high - low)

    def forward(self, noise: torch.Tensor) -> torch.Tensor:
        """Return one row for each row of noise."""
        rows: torch.Tensor = self.low + self.range * self.layers(noise)
        return rows.reshape(-1, *self.shape)

    def draw(self, count: int, generator: torch.Generator) -> torch.Tensor:
        """Generate this many rows."""
        noise = torch.rand((count, self.noise), generator=generator)
        made: torch.Tensor = self(noise.to(self.low.device))
        return made


class GanLearner(Learner):
    """Discriminators, and one generator that matches the mean features of all of them.

    All steps use the same pass over the batch: the generator's gradient goes through the
    discriminators as they were before their step, so that nothing is computed twice.
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
            raise ParameterError(
                "unlabelled_weight must not be negative, and generator_width must be positive"
            )
        rows = setting.pools.inputs
        self.generator = Generator(rows, width=width).to(rows.device)
        super().__init__(setting, nets, teaching, [self.generator], BETAS)
        self._splits = [Split(net) for net in nets]
        self._weight = weight

    def step(self, batch: Batch, epoch: int) -> Losses:
        """Take one step of each discriminator and of the generator."""
        answered = len(batch.places)
        real = self.setting.augmented(batch.inputs)
        made = self.generator.draw(len(real) - answered, self.setting.generator)
        looks = [split(real) for split in self._splits]
        others = [self._look(*pair, made) for pair in zip(self.nets, self._splits, strict=True)]
        lesson = self.teaching([logits[:answered] for _, logits in looks], batch, epoch)
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
    """A network that distinguishes the classes, and public rows from generated ones.

    Of K + 1 logits the last, "generated", is fixed at 0. The generator matches the mean features
    of the rows without an answer.

    Parameters:
        unlabelled_weight: weight of the loss on unanswered and generated rows.
        generator_width: width of the generator's two hidden layers.
        shared: the parameters of `NeuralStudent`.
    """

    def __init__(
        self,
        network: Any = "mlp",
        shape: Shape | None = None,
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
