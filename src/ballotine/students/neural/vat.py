"""Virtual adversarial training (Miyato et al. 2018)."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from ballotine.errors import ParameterError
from ballotine.neural.zoo import Shape
from ballotine.students.neural.base import NeuralStudent
from ballotine.students.neural.learner import Learner, LearnerSetting, Losses, descend, untracked
from ballotine.students.neural.losses import answer_losses, chances, divergences
from ballotine.students.neural.pools import Batch

PROBE = 0.1
"""Length of the step by which the network is probed for its steepest direction."""


def scaled(rows: torch.Tensor, length: float) -> torch.Tensor:
    """Scale each row to this Euclidean length."""
    flat = rows.flatten(1)
    norms = torch.linalg.vector_norm(flat, dim=1, keepdim=True).clamp(min=1e-12)
    unit: torch.Tensor = flat / norms
    return (unit * length).reshape(rows.shape)


def adversarial(
    net: nn.Module,
    rows: torch.Tensor,
    logits: torch.Tensor,
    length: float,
    generator: torch.Generator,
    *,
    rounds: int = 1,
    multilabel: bool = False,
) -> torch.Tensor:
    """Return for each row the step, of this length, that changes predictions most.

    Power iteration on the Hessian of the divergence, whose gradient is zero at the row itself.

    Args:
        net: the network; its parameters get no gradient.
        rows: the rows to perturb.
        logits: the network's logits for these rows.
        length: ε, the length of the result.
        generator: draws the first direction.
        rounds: number of power iterations.
        multilabel: whether there are several labels.
    """
    direction = torch.randn(rows.shape, generator=generator).to(rows)
    for _ in range(rounds):
        probe = scaled(direction, PROBE).requires_grad_()
        found = divergences(logits.detach(), net(rows + probe), multilabel).sum()
        (direction,) = torch.autograd.grad(found, probe)
    return scaled(direction.detach(), length)


class VatLearner(Learner):
    """Penalises changes of predictions in the direction in which they change most."""

    def __init__(self, setting: LearnerSetting, student: VAT) -> None:
        super().__init__(setting, [setting.make_net()])
        self._net, self._student = self.nets[0], student

    def step(self, batch: Batch, epoch: int) -> Losses:  # noqa: ARG002
        """Take one step on the loss for answers, the adversarial divergence and the entropy."""
        setting, student, answered = self.setting, self._student, len(batch.places)
        rows = setting.augmented(batch.inputs)
        logits = self._net(rows)
        others = rows[answered:]
        with untracked(self._net, dropout=False):
            base = self._net(others).detach()
            push = adversarial(
                self._net,
                others,
                base,
                student.epsilon,
                setting.generator,
                rounds=student.rounds,
                multilabel=setting.multilabel,
            )
            pushed = self._net(others + push)
        divergence = divergences(base, pushed, setting.multilabel).mean()
        entropy = _entropy(logits[answered:], setting.multilabel)
        supervised = answer_losses(logits[:answered], batch.codes, setting.smoothing).mean()
        unlabelled = divergence + student.entropy_weight * entropy
        descend(self.optimisers[0], supervised + student.unlabelled_weight * unlabelled)
        return {
            "labelled": supervised.detach(),
            "unlabelled": divergence.detach(),
            "entropy": entropy.detach(),
        }


class VAT(NeuralStudent):
    """A network whose predictions are smooth in a small ball around each unanswered row.

    Parameters:
        epsilon: the radius of the ball, in units of the features.
        rounds: number of power iterations for the worst direction.
        unlabelled_weight: weight of the loss on unanswered rows.
        entropy_weight: weight of the predictions' entropy within that loss.
        shared: the parameters of `NeuralStudent`.
    """

    several_labels = True

    def __init__(
        self,
        network: Any = "mlp",
        shape: Shape | None = None,
        *,
        epsilon: float = 1.0,
        rounds: int = 1,
        unlabelled_weight: float = 1.0,
        entropy_weight: float = 0.5,
        **shared: Any,
    ) -> None:
        super().__init__(network, shape, **shared)
        self.epsilon = epsilon
        self.rounds = rounds
        self.unlabelled_weight = unlabelled_weight
        self.entropy_weight = entropy_weight

    def _learner(self, setting: LearnerSetting) -> Learner:
        if not self.epsilon > 0 or self.rounds < 1:
            raise ParameterError("epsilon and rounds must be positive")
        if not (self.unlabelled_weight >= 0 and self.entropy_weight >= 0):
            raise ParameterError("weights must not be negative")
        return VatLearner(setting, self)


def _entropy(logits: torch.Tensor, multilabel: bool) -> torch.Tensor:
    found = chances(logits, multilabel)
    if multilabel:
        each = functional.binary_cross_entropy_with_logits(logits, found, reduction="none")
        return each.mean()
    return -(found * torch.log_softmax(logits, dim=1)).sum(dim=1).mean()
