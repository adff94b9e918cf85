"""What every neural student is: a scikit-learn classifier that may learn without answers."""

from __future__ import annotations

import inspect
import os
from dataclasses import replace
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_array
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data
from torch import nn

from ballotine.errors import DataError, ParameterError
from ballotine.neural.predicting import check_network, probabilities
from ballotine.neural.training import MISSING, seeded
from ballotine.neural.zoo import make_module
from ballotine.students.neural.augment import choose
from ballotine.students.neural.checkpoint import TrainingCheckpoint, checked_path
from ballotine.students.neural.course import Course
from ballotine.students.neural.identity import training_name
from ballotine.students.neural.learner import Learner, LearnerSetting
from ballotine.students.neural.loop import OnEpoch, Outcome, run
from ballotine.students.neural.pools import GivenAnswers, input_shape, make_pools, read_answers
from ballotine.types import FloatArray, Labels, Matrix

UNIMPORTANT = {"on_epoch", "checkpoint", "device", "random_state"}
"""Parameters that do not name a training; of the last, the seed that was drawn counts."""


class NeuralStudent(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The parameters that all neural students share, and how they fit and predict.

    ``fit`` takes rows with answers and rows without: those whose ``y`` is −1, and those of
    ``X_unlabelled``. Without any, the answered rows serve as such too.

    Parameters:
        network: a name of `ballotine.neural.ZOO`, or a factory (shape, outputs) → module.
        shape: of one input, such as (1, 28, 28); None takes rows of features as they are.
        epochs: passes over the larger of the two pools; the smaller one is repeated.
        batch: answers per step, and as many rows without one.
        learning_rate: Adam's, at the start.
        decay: how it falls to zero over the epochs: "cosine", "linear", or "none".
        weight_decay: Adam's.
        augment: changes rows at random: "rotate-shift", "auto" (that for images, and for
            tables `SwapFeatures`), a callable (rows, generator) → rows, or None.
        label_smoothing: the share of each answer that is spread over all classes.
        ema: predict with averaged weights that keep this share of themselves at each step;
            0 predicts with the last ones.
        device: "cpu", "cuda", or None for CUDA where there is one.
        random_state: a seed; None draws one.
        on_epoch: is told the number, losses and notable rows of each epoch; it is not saved.
        checkpoint: a file for what is learnt so far; the same training, started again after
            its process ended, goes on from there. It needs a seed, is removed when training
            is finished, and is not saved with the student.
    """

    learns_from_unlabelled = True
    several_labels = False
    """Whether ``y`` may have the shape (rows, labels)."""

    def __init__(
        self,
        network: Any = "mlp",
        shape: tuple[int, ...] | None = None,
        *,
        epochs: int = 40,
        batch: int = 100,
        learning_rate: float = 1e-3,
        decay: str = "cosine",
        weight_decay: float = 0.0,
        augment: Any = None,
        label_smoothing: float = 0.0,
        ema: float = 0.0,
        device: str | None = None,
        random_state: Any = None,
        on_epoch: OnEpoch | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.network = network
        self.shape = shape
        self.epochs = epochs
        self.batch = batch
        self.learning_rate = learning_rate
        self.decay = decay
        self.weight_decay = weight_decay
        self.augment = augment
        self.label_smoothing = label_smoothing
        self.ema = ema
        self.device = device
        self.random_state = random_state
        self.on_epoch = on_epoch
        self.checkpoint = checkpoint

    def __init_subclass__(cls, **more: Any) -> None:
        """Show parameters that are passed on as the class's own: scikit-learn looks there."""
        super().__init_subclass__(**more)
        if "__init__" in vars(cls):
            cls.__init__.__signature__ = _with_inherited(cls)  # type: ignore[attr-defined]

    def fit(self, X: Matrix, y: Labels, X_unlabelled: Matrix | None = None) -> Self:
        """Learn from public rows.

        Args:
            X: rows of features.
            y: their answers; −1 where there is none.
            X_unlabelled: further rows without an answer.
        """
        course = self._course()
        path = checked_path(self.checkpoint, self.random_state)
        X = validate_data(self, X, dtype=np.float32)
        answers = read_answers(y, len(X))
        extra = self._extra(X_unlabelled)
        self._remember(answers)
        seed = int(check_random_state(self.random_state).randint(2**31))
        self._nets: nn.ModuleList | None = None
        with seeded(seed) as generator:
            setting = LearnerSetting(
                make_pools(X, answers, extra, self._shape(), self._device()),
                course,
                generator,
                self._make_net,
                choose(self.augment, self._images()),
                self.label_smoothing,
                self.multilabel_,
            )
            sample = self._checked_net(setting)
            if path is not None:
                checkpoint = TrainingCheckpoint(path, self._training_name(seed, setting, sample))
                setting = replace(setting, checkpoint=checkpoint)
            outcome = self._learn(setting)
        self.state_ = {name: value.cpu().numpy() for name, value in outcome.state.items()}
        self.history_ = outcome.history
        self.interrupted_ = outcome.interrupted
        self.networks()
        if setting.checkpoint is not None and not outcome.interrupted:
            setting.checkpoint.remove()
        return self

    def predict(self, X: Matrix) -> Labels:
        """Classes; for several labels 0/1, shape (rows, labels)."""
        thought = self.predict_proba(X)
        if self.multilabel_:
            return (thought > 0.5).astype(np.int64)
        classes: Labels = self.classes_[thought.argmax(axis=1)]
        return classes

    def predict_proba(self, X: Matrix) -> FloatArray:
        """Probabilities, a column per class of ``classes_`` or per label."""
        check_is_fitted(self, "state_")
        X = validate_data(self, X, dtype=np.float32, reset=False)
        rows = np.require(X, np.float32, ["C", "W"])
        inputs = torch.from_numpy(rows).reshape(-1, *self._shape()).to(self._device())
        parts = [probabilities(net, inputs, several=self.multilabel_) for net in self.networks()]
        result: FloatArray = (sum(parts[1:], parts[0]) / len(parts)).cpu().numpy()
        return np.where(np.isnan(self.constants_), result, self.constants_)

    def networks(self) -> nn.ModuleList:
        """The trained networks whose mean probabilities are the student's."""
        check_is_fitted(self, "state_")
        kept: nn.ModuleList | None = getattr(self, "_nets", None)
        if kept is None:
            count = 1 + max(int(name.partition(".")[0]) for name in self.state_)
            with seeded(0):
                kept = nn.ModuleList([self._make_net() for _ in range(count)])
            state = {name: torch.from_numpy(np.array(v)) for name, v in self.state_.items()}
            kept.load_state_dict(state)
            self._nets = kept
        return kept

    def _learner(self, setting: LearnerSetting) -> Learner:
        """The method at work."""
        raise NotImplementedError

    def _learn(self, setting: LearnerSetting) -> Outcome:
        return run(self._learner(setting), setting, self.on_epoch)

    def _training_name(self, seed: int, setting: LearnerSetting, net: nn.Module) -> bytes:
        given = self.get_params(deep=False)
        counting = {name: given[name] for name in given if name not in UNIMPORTANT}
        return training_name(type(self), counting, seed, setting.pools, net)

    def _course(self) -> Course:
        if not 0.0 <= self.label_smoothing < 1.0:
            raise ParameterError(
                f"label_smoothing is at least 0 and below 1, got {self.label_smoothing}"
            )
        return Course(
            self.epochs, self.batch, self.learning_rate, self.decay, self.weight_decay, self.ema
        )

    def _remember(self, answers: GivenAnswers) -> None:
        if answers.multilabel and not self.several_labels:
            raise DataError(
                f"{type(self).__name__} learns one class per row; for several labels take "
                "Supervised, MixMatch, VAT or FixMatch"
            )
        self.classes_, self.multilabel_ = answers.classes, answers.multilabel
        self.n_outputs_ = answers.outputs
        self.constants_ = np.full(answers.outputs, np.nan)
        if answers.multilabel:
            self.constants_ = _constants(answers.codes.numpy())

    def _extra(self, X_unlabelled: Matrix | None) -> Matrix | None:
        if X_unlabelled is None or len(X_unlabelled) == 0:
            return None
        extra: Matrix = check_array(X_unlabelled, dtype=np.float32, input_name="X_unlabelled")
        if extra.shape[1] != self.n_features_in_:
            raise DataError(
                f"rows without an answer have {extra.shape[1]} features, answered ones "
                f"{self.n_features_in_}; images must have the same size and channels in both"
            )
        return extra

    def _shape(self) -> tuple[int, ...]:
        return input_shape(self.shape, self.n_features_in_)

    def _images(self) -> bool:
        return len(self._shape()) == 3

    def _make_net(self) -> nn.Module:
        module = make_module(self.network, self._shape(), self.n_outputs_)
        if isinstance(self.network, str):
            module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return module.to(self._device())

    def _checked_net(self, setting: LearnerSetting) -> nn.Module:
        """A network like those that will learn."""
        with torch.random.fork_rng():
            net = self._make_net()
            check_network(net, setting.pools.inputs, self.n_outputs_)
        return net

    def _device(self) -> torch.device:
        if self.device is not None:
            return torch.device(self.device)
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def __getstate__(self) -> dict[str, Any]:
        """Numbers only: a file of a student holds weights, never code."""
        return {**super().__getstate__(), "_nets": None, "on_epoch": None, "checkpoint": None}

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.classifier_tags.multi_label = self.several_labels
        tags.target_tags.multi_output = self.several_labels
        return tags


def _with_inherited(kind: type) -> inspect.Signature:
    """A constructor's own parameters, and in the place of ``**shared`` those it derives from."""
    own = list(inspect.signature(vars(kind)["__init__"]).parameters.values())
    names = {parameter.name for parameter in own}
    above = inspect.signature(kind.__mro__[1].__init__).parameters.values()  # type: ignore[misc]
    inherited = [parameter for parameter in above if parameter.name not in names]
    own = [parameter for parameter in own if parameter.kind is not parameter.VAR_KEYWORD]
    return inspect.Signature([*own, *inherited])


def _constants(codes: Any) -> FloatArray:
    """What a label is taken to be when its answers leave nothing to learn; NaN otherwise."""
    present, absent = (codes == 1).any(axis=0), (codes == 0).any(axis=0)
    known = (codes != MISSING).any(axis=0)
    if not known.any() or not np.any(present & absent):
        raise DataError(
            "no label was answered both ways, and a student needs that of at least one; "
            "ask more queries, lower the threshold, or give the budget more room"
        )
    return np.where(present & absent, np.nan, np.where(present, 1.0, 0.0))
