"""DP-SGD through Opacus, a baseline: it trains on all private records at once.

Records come by Poisson sampling, gradients are clipped without being laid out one by one (ghost
clipping), and the noise may fall from epoch to epoch. Batches and noise are seeded: this is for
experiments alone, and a release would need a secure source.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from ballotine.errors import DataError, ParameterError
from ballotine.neural.predicting import probabilities
from ballotine.neural.training import seeded
from ballotine.neural.zoo import Factory, make_module
from ballotine.privacy.guarantee import Budget
from ballotine.types import FloatArray, IntArray, Matrix
from ballotine_reproduction.student.dpsgd_cost import (
    DpsgdPlan,
    Relation,
    SgdSteps,
    epsilon,
    noise_for,
)

MISSING = "DP-SGD needs the optional part: pip install 'ballotine-reproduction[dpsgd]'"
MOMENTUM = 0.9
RATES = (0.25, 1.0, 4.0)
"""Learning rates that are tried, as multiples of a recipe's own."""


@dataclass(frozen=True)
class Recipe:
    """How to train.

    Attributes:
        network: a name from the zoo or a factory; without buffers such as batch norm's.
        batch: records per step, on average.
        epochs: passes over the records, on average.
        learning_rate: of SGD with momentum, on the mean of a batch; it falls linearly to zero.
        clip: C, the largest norm of a record's gradient.
        last: noise of the last epoch as a share of that of the first (adaptive DP-SGD).
    """

    network: str | Factory = "linear"
    batch: int = 1024
    epochs: int = 20
    learning_rate: float = 4.0
    clip: float = 0.5
    last: float = 1.0

    def __post_init__(self) -> None:
        if self.batch < 1 or not (self.learning_rate > 0 and self.clip > 0):
            raise ParameterError("batch, learning rate and clipping norm must be positive")

    def course(self, records: int) -> DpsgdPlan:
        """The steps over ``records`` records."""
        return DpsgdPlan(min(1.0, self.batch / records), self.epochs, self.last)


@dataclass(frozen=True, eq=False)
class PrivateModel:
    """A model and what it cost.

    Attributes:
        net: the network, its weights noised at every step.
        schedule: the steps it took, with their noise.
        delta: δ of the budget.
        several: whether outputs are labels, each on its own, instead of classes.
    """

    net: nn.Module
    schedule: tuple[SgdSteps, ...]
    delta: float
    several: bool

    def epsilon(self, relation: Relation = "replace") -> float:
        """The ε of the whole training."""
        return epsilon(self.schedule, self.delta, relation)

    def cells(self, digits: int) -> tuple[str, str]:
        """For tables: the ε under the other relation, and the noise of the first step."""
        other = f"ε, add or remove: {self.epsilon('add or remove'):.{digits}f}"
        return other, f"{self.schedule[0].noise:.2f}"

    def predict_proba(self, X: Matrix) -> FloatArray:
        """Probabilities of labels or classes, shape (rows, outputs)."""
        found = probabilities(self.net, _tensor(X), several=self.several)
        return np.asarray(found.numpy(), dtype=np.float64)

    def predict(self, X: Matrix) -> IntArray:
        """0/1 for labels, shape (rows, labels); the position of the class otherwise."""
        found = self.predict_proba(X)
        if self.several:
            return (found > 0.5).astype(np.int64)
        winners: IntArray = found.argmax(axis=1).astype(np.int64)
        return winners


def tuned(recipe: Recipe, score: Callable[[Recipe], float]) -> Recipe:
    """The recipe with the best of a few learning rates.

    Args:
        recipe: its learning rate is the middle one.
        score: the result of a training; the larger, the better.
    """
    tried = [replace(recipe, learning_rate=rate * recipe.learning_rate) for rate in RATES]
    return max(tried, key=score)


def require() -> None:
    """Refuse early, before anything is computed, where Opacus is missing."""
    if importlib.util.find_spec("opacus") is None:
        raise ParameterError(MISSING)


def train(
    recipe: Recipe, X: Matrix, y: IntArray, outputs: int, budget: Budget, seed: int
) -> PrivateModel:
    """Train on private records within a budget, one record replaced.

    Args:
        recipe: how.
        X: private rows.
        y: classes, shape (rows,), or 0/1 labels, shape (rows, labels).
        outputs: how many classes or labels there are, a public number.
        budget: what it may cost.
        seed: of first weights, batches and noise.
    """
    require()
    if len(X) != len(y) or len(X) == 0:
        raise DataError("DP-SGD needs records, and labels for each of them")
    course = recipe.course(len(X))
    noise = noise_for(course, budget)
    several = y.ndim == 2
    with seeded(seed) as generator:
        net = make_module(recipe.network, X.shape[1:], outputs)
        trainer = _Trainer(recipe, course, net, generator, min(recipe.batch, len(X)))
        inputs, targets = _tensor(X), torch.from_numpy(np.ascontiguousarray(y))
        for epoch, share in enumerate(course.shares()):
            trainer.epoch(epoch, noise * float(share), inputs, targets)
    trainer.free()
    return PrivateModel(net.eval(), course.schedule(noise), budget.delta, several)


class _Trainer:
    """A network with Opacus' hooks and optimiser around it."""

    def __init__(
        self,
        recipe: Recipe,
        course: DpsgdPlan,
        net: nn.Module,
        generator: torch.Generator,
        batch: int,
    ) -> None:
        from opacus.grad_sample import GradSampleModuleFastGradientClipping
        from opacus.optimizers import DPOptimizerFastGradientClipping

        self._recipe, self._course, self._generator = recipe, course, generator
        self._module: Any = GradSampleModuleFastGradientClipping(
            net.train(), loss_reduction="sum", max_grad_norm=recipe.clip
        )
        sgd = torch.optim.SGD(net.parameters(), recipe.learning_rate, momentum=MOMENTUM)
        self._optimiser: Any = DPOptimizerFastGradientClipping(
            sgd,
            noise_multiplier=1.0,
            max_grad_norm=recipe.clip,
            expected_batch_size=batch,
            loss_reduction="mean",
            generator=generator,
        )

    def epoch(self, number: int, noise: float, inputs: torch.Tensor, targets: torch.Tensor) -> None:
        """Take the steps of an epoch with this noise multiplier."""
        self._optimiser.noise_multiplier = noise
        share = 1.0 - number / self._course.epochs
        for group in self._optimiser.param_groups:
            group["lr"] = self._recipe.learning_rate * share
        for _ in range(self._course.steps):
            chance = torch.rand(len(inputs), generator=self._generator)
            rows = torch.nonzero(chance < self._course.rate)[:, 0]
            self._step(inputs[rows], targets[rows])

    def free(self) -> None:
        """Remove the hooks from the network."""
        self._module.remove_hooks()

    def _step(self, inputs: torch.Tensor, targets: torch.Tensor) -> None:
        from opacus.utils.fast_gradient_clipping_utils import DPTensorFastGradientClipping

        self._optimiser.zero_grad()
        with _inputs_without_gradients():
            losses = _losses(self._module(inputs), targets)
            DPTensorFastGradientClipping(self._module, self._optimiser, losses, "sum").backward()
        self._optimiser.step()


def _losses(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Each record's loss: over several labels a sum, so that all labels count alike."""
    if targets.ndim == 1:
        return functional.cross_entropy(logits, targets, reduction="none")
    wanted = targets.to(logits.dtype)
    return functional.binary_cross_entropy_with_logits(logits, wanted, reduction="none").sum(dim=1)


@contextmanager
def _inputs_without_gradients() -> Iterator[None]:
    """Torch warns about hooks on a first layer; gradients of weights are not affected."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Full backward hook is firing")
        yield


def _tensor(X: Matrix) -> torch.Tensor:
    return torch.from_numpy(np.array(X, dtype=np.float32))
