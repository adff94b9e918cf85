"""Any torch module as a scikit-learn classifier: a teacher or a student."""

from __future__ import annotations

import math
import re
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data
from torch import nn

from ballotine.errors import ParameterError
from ballotine.neural.augment import make_augment
from ballotine.neural.predicting import check_network, probabilities
from ballotine.neural.targets import Targets, check_thresholds, own_thresholds, read_targets
from ballotine.neural.training import Schedule, seeded, train
from ballotine.neural.zoo import make_module
from ballotine.types import FloatArray, Labels, Matrix

ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class TorchClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Train a network on tensor batches; predict classes, or several labels at once.

    With ``y`` of shape (records, labels) the heads are sigmoids, −1 (or NaN) means that a
    label is not known, and ``predict`` gives 0/1 by per-label thresholds.

    Parameters:
        network: a name of `ballotine.neural.ZOO`, or a factory (shape, outputs) → module.
        shape: of one input, such as (1, 28, 28); None takes rows of features as they are.
        epochs: passes over the records.
        batch: records per step.
        learning_rate: of the optimiser.
        optimiser: "adam" or "sgd".
        weight_decay: of the optimiser.
        augment: "rotate-shift", a callable (images, generator) → images, or None.
        thresholds: with several labels, when one is predicted: a probability for all, or
            "own" for the one of each label that suits this model's own records best.
        bf16: compute in bfloat16 while training.
        patience: stop when the training loss has not fallen for so many epochs; None: never.
        device: "cpu", "cuda", or None for CUDA where there is one.
        random_state: a seed; None draws one.
    """

    masks_missing_labels = True
    """Labels that are not known are left out of the loss: ensembles need not fill them."""

    def __init__(
        self,
        network: Any = "mlp",
        shape: tuple[int, ...] | None = None,
        *,
        epochs: int = 40,
        batch: int = 32,
        learning_rate: float = 1e-3,
        optimiser: str = "adam",
        weight_decay: float = 0.0,
        augment: Any = None,
        thresholds: Any = 0.5,
        bf16: bool = False,
        patience: int | None = None,
        device: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.network = network
        self.shape = shape
        self.epochs = epochs
        self.batch = batch
        self.learning_rate = learning_rate
        self.optimiser = optimiser
        self.weight_decay = weight_decay
        self.augment = augment
        self.thresholds = thresholds
        self.bf16 = bf16
        self.patience = patience
        self.device = device
        self.random_state = random_state

    def fit(self, X: Matrix, y: Labels) -> Self:
        """Train on rows of features and their classes (or rows of labels)."""
        schedule = self._schedule()
        check_thresholds(self.thresholds)
        augment = make_augment(self.augment)
        X = validate_data(self, X, dtype=np.float32)
        targets = read_targets(y, len(X))
        self.classes_, self.multilabel_ = targets.classes, targets.multilabel
        self.n_labels_ = targets.outputs if targets.multilabel else 0
        self._module: nn.Module | None = None
        self.state_: dict[str, Any] = {}
        if targets.outputs > 1 or targets.multilabel:  # else there is one class: nothing to learn
            seed = int(check_random_state(self.random_state).randint(2**31))
            with seeded(seed) as generator:
                module = self._new_module()
                inputs, codes = self._inputs(X), targets.codes.to(self._device())
                check_network(module, inputs, targets.outputs)
                goes_on = _Patience(self.patience).goes_on
                train(module, inputs, codes, schedule, generator, augment, goes_on)
            self.state_ = {name: value.cpu().numpy() for name, value in module.state_dict().items()}
            self._module = module
        self.thresholds_ = self._thresholds(X, targets)
        return self

    def predict(self, X: Matrix) -> Labels:
        """Classes; for several labels 0/1, shape (rows, labels)."""
        check_is_fitted(self, "state_")
        if self.multilabel_:
            return (self.predict_proba(X) > self.thresholds_).astype(np.int64)
        classes: Labels = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return classes

    def predict_proba(self, X: Matrix) -> FloatArray:
        """Probabilities, a column per class of ``classes_`` or per label."""
        check_is_fitted(self, "state_")
        X = validate_data(self, X, dtype=np.float32, reset=False)
        return self._probabilities(X)

    def module(self) -> nn.Module:
        """The trained network, for code that works on weights."""
        check_is_fitted(self, "state_")
        if not self.state_:
            raise ParameterError("a model of one class has no network")
        kept: nn.Module | None = getattr(self, "_module", None)
        if kept is None:
            with seeded(0):
                kept = self._new_module()
            state = {name: torch.from_numpy(np.array(v)) for name, v in self.state_.items()}
            kept.load_state_dict(state)
            self._module = kept
        return kept

    def _probabilities(self, X: Matrix) -> FloatArray:
        if not self.state_:
            return np.ones((len(X), 1))
        found = probabilities(self.module(), self._inputs(X), several=self.multilabel_)
        result: FloatArray = found.cpu().numpy()
        return result

    def _schedule(self) -> Schedule:
        return Schedule(
            self.epochs,
            self.batch,
            self.learning_rate,
            self.optimiser,
            self.weight_decay,
            self.bf16,
        )

    def _thresholds(self, X: Matrix, targets: Targets) -> FloatArray:
        if self.multilabel_ and self.thresholds == "own":
            return own_thresholds(self._probabilities(X), targets.codes.numpy())
        same = 0.5 if self.thresholds == "own" else float(self.thresholds)
        return np.full(self._outputs(), same)

    def _new_module(self) -> nn.Module:
        module = make_module(self.network, self._shape(), self._outputs())
        if isinstance(self.network, str):
            # Channels last is what convolutions and pools on processors are fast with. A
            # module of the user's own may rely on the usual order of its memory.
            module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return module.to(self._device())

    def _outputs(self) -> int:
        return self.n_labels_ if self.multilabel_ else len(self.classes_)

    def _shape(self) -> tuple[int, ...]:
        features = self.n_features_in_
        shape = (features,) if self.shape is None else tuple(self.shape)
        if math.prod(shape) != features:
            raise ParameterError(f"rows of {features} features are not inputs of shape {shape}")
        return shape

    def _device(self) -> torch.device:
        if self.device is not None:
            return torch.device(self.device)
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def _inputs(self, X: Matrix) -> torch.Tensor:
        # Workers map shared rows read-only, which torch cannot express: it gets a copy of those.
        rows = np.require(X, dtype=np.float32, requirements=["C", "W"])
        return torch.from_numpy(rows).reshape(len(X), *self._shape()).to(self._device())

    def __getstate__(self) -> dict[str, Any]:
        """Numbers only: a file of a model holds weights, never code."""
        return {**super().__getstate__(), "_module": None}

    def __repr__(self, N_CHAR_MAX: int = 10_000) -> str:
        """Parameters; without addresses in memory, because names are derived from this text."""
        return ADDRESS.sub("", super().__repr__(N_CHAR_MAX))

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags


class _Patience:
    """Ends training when the loss has stopped falling."""

    def __init__(self, epochs: int | None) -> None:
        if epochs is not None and epochs < 1:
            raise ParameterError(f"patience is a number of epochs, or None; got {epochs}")
        self._epochs = epochs
        self._best = float("inf")
        self._since = 0

    def goes_on(self, _epoch: int, loss: float) -> bool:
        if self._epochs is None:
            return True
        self._since = 0 if loss < self._best else self._since + 1
        self._best = min(self._best, loss)
        return self._since < self._epochs
