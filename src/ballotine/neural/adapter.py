"""Any torch module as a scikit-learn classifier: a teacher or a student."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn

from ballotine.errors import ParameterError
from ballotine.neural.augment import Augment
from ballotine.neural.base import NeuralClassifier
from ballotine.neural.predicting import check_network, probabilities
from ballotine.neural.targets import Targets, check_thresholds, own_thresholds, read_targets
from ballotine.neural.training import Schedule, seeded, train
from ballotine.neural.zoo import Shape
from ballotine.types import FloatArray, Labels, Matrix


class TorchClassifier(NeuralClassifier):
    """Train a network on tensor batches; predict classes, or several labels at once.

    With ``y`` of shape (records, labels) the heads are sigmoids, −1 (or NaN) means that a
    label is not known, and ``predict`` returns 0/1 by per-label thresholds.

    Parameters:
        optimiser: "adam" or "sgd".
        thresholds: with several labels, the probability above which one is predicted; or
            "own" to choose it per label by balanced accuracy on the training records.
        bf16: compute in bfloat16 while training.
        patience: stop when the training loss has not decreased for this many epochs; None
            never stops early.
        shared: the parameters of `NeuralClassifier`.
    """

    masks_missing_labels = True
    """Unknown labels are left out of the loss, so ensembles need not fill them in."""

    def __init__(
        self,
        network: Any = "mlp",
        shape: Shape | None = None,
        *,
        optimiser: str = "adam",
        thresholds: Any = 0.5,
        bf16: bool = False,
        patience: int | None = None,
        **shared: Any,
    ) -> None:
        super().__init__(network, shape, **shared)
        self.optimiser = optimiser
        self.thresholds = thresholds
        self.bf16 = bf16
        self.patience = patience

    def fit(self, X: Matrix, y: Labels) -> Self:
        """Train on rows of features and their classes (or rows of labels)."""
        schedule = Schedule(
            self.epochs,
            self.batch,
            self.learning_rate,
            self.optimiser,
            self.weight_decay,
            bf16=self.bf16,
        )
        check_thresholds(self.thresholds)
        X = validate_data(self, X, dtype=np.float32)
        targets = read_targets(y, len(X))
        self._remember_targets(targets)
        augment = self._augment(self.augment)
        self._keep({})
        if targets.outputs > 1 or targets.multilabel:  # with one class there is nothing to learn
            self._learn(X, targets, schedule, augment)
        self.thresholds_ = self._thresholds(X, targets)
        return self

    def module(self) -> nn.Module:
        """Return the trained network, for code that works on weights."""
        check_is_fitted(self, "state_")
        if not self.state_:
            raise ParameterError("a model of one class has no network")
        return self._trained()

    def _learn(
        self, X: Matrix, targets: Targets, schedule: Schedule, augment: Augment | None
    ) -> None:
        with seeded(self._seed()) as generator:
            module = self._make_net()
            inputs, codes = self._inputs(X), targets.codes.to(self._device())
            check_network(module, inputs, targets.outputs)
            patience = _Patience(self.patience)
            train(module, inputs, codes, schedule, generator, augment, patience.lasts)
        self._keep(module.state_dict(), module)

    def _probabilities(self, X: Matrix) -> FloatArray:
        if not self.state_:
            return np.ones((len(X), 1))
        found = probabilities(self._trained(), self._inputs(X), several=self.multilabel_)
        result: FloatArray = found.cpu().numpy()
        return result

    def _label_thresholds(self) -> FloatArray:
        return self.thresholds_

    def _thresholds(self, X: Matrix, targets: Targets) -> FloatArray:
        if self.multilabel_ and self.thresholds == "own":
            return own_thresholds(self._probabilities(X), targets.codes.numpy())
        same = 0.5 if self.thresholds == "own" else float(self.thresholds)
        return np.full(self.n_outputs_, same)


class _Patience:
    """Ends training when the loss has stopped decreasing."""

    def __init__(self, epochs: int | None) -> None:
        if epochs is not None and epochs < 1:
            raise ParameterError(
                f"patience must be a positive number of epochs or None, got {epochs}"
            )
        self._epochs = epochs
        self._best = float("inf")
        self._since = 0

    def lasts(self, _epoch: int, loss: float) -> bool:
        if self._epochs is None:
            return True
        self._since = 0 if loss < self._best else self._since + 1
        self._best = min(self._best, loss)
        return self._since < self._epochs
