"""The base of neural students: network classifiers that also learn from unanswered rows."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Self

import numpy as np
import torch
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data
from torch import nn

from ballotine.errors import DataError, ParameterError
from ballotine.neural.base import NeuralClassifier
from ballotine.neural.predicting import check_network, probabilities
from ballotine.neural.training import Schedule, seeded
from ballotine.neural.zoo import Shape
from ballotine.students.fitting import MORE_ANSWERS, NO_LABEL_VARIES
from ballotine.students.neural.checkpoint import TrainingCheckpoint, checked_path, training_name
from ballotine.students.neural.learner import Learner, LearnerSetting
from ballotine.students.neural.loop import OnEpoch, Outcome, run
from ballotine.students.neural.pools import make_pools, read_answers
from ballotine.types import FloatArray, IntArray, Labels, Matrix

NOT_IDENTIFYING = {"on_epoch", "checkpoint", "device", "random_state"}
"""Parameters that do not identify a training; the seed drawn from the last one does."""


class NeuralStudent(NeuralClassifier):
    """The parameters that all neural students share, and how they fit and predict.

    ``fit`` takes rows with answers and rows without: those whose ``y`` is −1, and those of
    ``X_unlabelled``. If there are none, the answered rows are used as both. An epoch is one
    pass over the larger of the two pools; the smaller one is repeated.

    Parameters:
        batch: answered rows per step, and as many unanswered ones.
        decay: how Adam's learning rate decreases to zero over the epochs: "cosine",
            "linear", or "none".
        label_smoothing: the share of each answer that is spread over all classes.
        ema: the decay of an exponential moving average of the weights, used to predict;
            0 predicts with the last weights.
        on_epoch: called after each epoch with an `Epoch`; not saved with the student.
        checkpoint: a file for the progress of the training, from which it resumes if its
            process ended. It needs a seed, is removed when training has finished, and is
            not saved with the student.
        shared: the parameters of `ballotine.neural.NeuralClassifier`.
    """

    learns_from_unlabelled = True
    several_labels = False
    _unsaved = ("_module", "on_epoch", "checkpoint")

    def __init__(
        self,
        network: Any = "mlp",
        shape: Shape | None = None,
        *,
        batch: int = 100,
        decay: str = "cosine",
        label_smoothing: float = 0.0,
        ema: float = 0.0,
        on_epoch: OnEpoch | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        **shared: Any,
    ) -> None:
        super().__init__(network, shape, batch=batch, **shared)
        self.decay = decay
        self.label_smoothing = label_smoothing
        self.ema = ema
        self.on_epoch = on_epoch
        self.checkpoint = checkpoint

    def fit(self, X: Matrix, y: Labels, X_unlabelled: Matrix | None = None) -> Self:
        """Learn from public rows.

        Args:
            X: rows of features.
            y: their answers; −1 where there is none.
            X_unlabelled: further rows without an answer.
        """
        schedule = self._schedule()
        path = checked_path(self.checkpoint, self.random_state)
        X = validate_data(self, X, dtype=np.float32)
        known, answers = read_answers(y, len(X))
        extra = self._extra(X_unlabelled)
        if answers.multilabel and not self.several_labels:
            raise DataError(
                f"{type(self).__name__} learns one class per row; for several labels use "
                "Supervised, MixMatch, VAT or FixMatch"
            )
        self._remember_targets(answers)
        self.constants_ = _constants(answers.codes.numpy(), answers.outputs)
        seed = self._seed()
        with seeded(seed) as generator:
            rows = self._inputs(X if extra is None else np.concatenate([X, extra]))
            setting = LearnerSetting(
                make_pools(rows, known, answers.codes),
                schedule,
                generator,
                self._make_net,
                self._augment(self.augment),
                self.label_smoothing,
                self.ema,
                self.multilabel_,
            )
            sample = self._checked_net(rows)
            if path is not None:
                checkpoint = TrainingCheckpoint(path, self._training_name(seed, setting, sample))
                setting = replace(setting, checkpoint=checkpoint)
            outcome = self._learn(setting)
        self._keep(outcome.state)
        self.networks()  # built here, because a prediction must not change the student
        self.history_ = outcome.history
        self.interrupted_ = outcome.interrupted
        if setting.checkpoint is not None and not outcome.interrupted:
            setting.checkpoint.remove()
        return self

    def networks(self) -> nn.ModuleList:
        """Return the trained networks; the student averages their probabilities."""
        trained = self._trained()
        assert isinstance(trained, nn.ModuleList)
        return trained

    def _untrained(self) -> nn.Module:
        count = 1 + max(int(name.partition(".")[0]) for name in self.state_)
        return nn.ModuleList([self._make_net() for _ in range(count)])

    def _probabilities(self, X: Matrix) -> FloatArray:
        inputs = self._inputs(X)
        parts = [probabilities(net, inputs, several=self.multilabel_) for net in self.networks()]
        result: FloatArray = (sum(parts[1:], parts[0]) / len(parts)).cpu().numpy()
        return np.where(np.isnan(self.constants_), result, self.constants_)

    def _learner(self, setting: LearnerSetting) -> Learner:
        """Return the training method."""
        raise NotImplementedError

    def _learn(self, setting: LearnerSetting) -> Outcome:
        return run(self._learner(setting), self.on_epoch)

    def _training_name(self, seed: int, setting: LearnerSetting, net: nn.Module) -> bytes:
        given = self.get_params(deep=False)
        counting = {name: given[name] for name in given if name not in NOT_IDENTIFYING}
        return training_name(type(self), counting, seed, setting.pools, net)

    def _schedule(self) -> Schedule:
        if self.batch < 2:
            raise ParameterError("training needs at least two rows per batch")
        for name in ("label_smoothing", "ema"):
            if not 0.0 <= (value := getattr(self, name)) < 1.0:
                raise ParameterError(f"{name} is at least 0 and below 1, got {value}")
        return Schedule(
            self.epochs,
            self.batch,
            self.learning_rate,
            weight_decay=self.weight_decay,
            decay=self.decay,
        )

    def _extra(self, X_unlabelled: Matrix | None) -> Matrix | None:
        if X_unlabelled is None or len(X_unlabelled) == 0:
            return None
        extra: Matrix = check_array(X_unlabelled, dtype=np.float32, input_name="X_unlabelled")
        if extra.shape[1] != self.n_features_in_:
            raise DataError(
                f"unanswered rows have {extra.shape[1]} features, answered ones "
                f"{self.n_features_in_}; images must have the same size and channels in both"
            )
        return extra

    def _checked_net(self, rows: torch.Tensor) -> nn.Module:
        """Return a network like those that will be trained, after checking it."""
        with torch.random.fork_rng():
            net = self._make_net()
            check_network(net, rows, self.n_outputs_)
        return net


def _constants(codes: IntArray, outputs: int) -> FloatArray:
    """Return the value of each label whose answers are all equal; NaN for the others."""
    if codes.ndim == 1:
        return np.full(outputs, np.nan)
    present, absent = (codes == 1).any(axis=0), (codes == 0).any(axis=0)
    if not np.any(present & absent):
        raise DataError(f"{NO_LABEL_VARIES}; {MORE_ANSWERS}")
    return np.where(present & absent, np.nan, np.where(present, 1.0, 0.0))
