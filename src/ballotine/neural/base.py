"""The base of network classifiers: input shape, device, and weights stored as plain arrays."""

from __future__ import annotations

import inspect
import math
import re
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data
from torch import nn

from ballotine.errors import ParameterError
from ballotine.neural.augment import WEAK, Augment, make_augment
from ballotine.neural.targets import Targets
from ballotine.neural.training import seeded
from ballotine.neural.zoo import Shape, make_module
from ballotine.types import FloatArray, Labels, Matrix

ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class NeuralClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The parameters that all network classifiers share, and how they predict and are stored.

    A fitted classifier holds its weights as arrays (``state_``), from which its networks are
    rebuilt on first use.

    Parameters:
        network: a name in `ballotine.neural.ZOO`, or a factory (shape, outputs) → module.
        shape: of one input, such as (1, 28, 28); None for flat rows of features.
        epochs: passes over the rows.
        batch: rows per step.
        learning_rate: of the optimiser.
        weight_decay: of the optimiser.
        augment: changes rows at random: "rotate-shift", "auto" ("rotate-shift" for images,
            `SwapFeatures` for tables), a callable (rows, generator) → rows, or None.
        device: "cpu", "cuda", or None for CUDA if it is available.
        random_state: a seed; None draws one.
    """

    several_labels = True
    """Whether ``y`` may have the shape (rows, labels)."""
    _unsaved: tuple[str, ...] = ("_module",)
    """Attributes that are not saved with the model."""

    def __init__(
        self,
        network: Any = "mlp",
        shape: Shape | None = None,
        *,
        epochs: int = 40,
        batch: int = 32,
        learning_rate: float = 1e-3,
        weight_decay: float = 0.0,
        augment: Any = None,
        device: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.network = network
        self.shape = shape
        self.epochs = epochs
        self.batch = batch
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.augment = augment
        self.device = device
        self.random_state = random_state

    def __init_subclass__(cls, **more: Any) -> None:
        """Add inherited parameters to the constructor's signature, which scikit-learn inspects."""
        super().__init_subclass__(**more)
        if "__init__" in vars(cls):
            cls.__init__.__signature__ = _with_inherited(cls)  # type: ignore[attr-defined]

    def predict(self, X: Matrix) -> Labels:
        """Return classes; for several labels 0/1, shape (rows, labels)."""
        found = self.predict_proba(X)
        if self.multilabel_:
            return (found > self._label_thresholds()).astype(np.int64)
        classes: Labels = self.classes_[found.argmax(axis=1)]
        return classes

    def predict_proba(self, X: Matrix) -> FloatArray:
        """Return probabilities, one column per class of ``classes_`` or per label."""
        check_is_fitted(self, "state_")
        return self._probabilities(validate_data(self, X, dtype=np.float32, reset=False))

    def _probabilities(self, X: Matrix) -> FloatArray:
        """Return probabilities for validated rows."""
        raise NotImplementedError

    def _label_thresholds(self) -> FloatArray:
        """Return the probability above which each of several labels is predicted."""
        return np.full(self.n_outputs_, 0.5)

    def _remember_targets(self, targets: Targets) -> None:
        self.classes_, self.multilabel_ = targets.classes, targets.multilabel
        self.n_outputs_ = targets.outputs

    def _keep(self, state: dict[str, torch.Tensor], module: nn.Module | None = None) -> None:
        """Store what was learnt.

        Args:
            state: the weights.
            module: the module they belong to, if it may be reused.
        """
        self.state_ = {name: value.cpu().numpy() for name, value in state.items()}
        self._module = module

    def _trained(self) -> nn.Module:
        """Return the trained module, rebuilt from its weights if necessary."""
        check_is_fitted(self, "state_")
        kept: nn.Module | None = getattr(self, "_module", None)
        if kept is None:
            with seeded(0):
                kept = self._untrained()
            state = {name: torch.from_numpy(np.array(v)) for name, v in self.state_.items()}
            kept.load_state_dict(state)
            self._module = kept
        return kept

    def _untrained(self) -> nn.Module:
        """Return a module that fits the weights in ``state_``."""
        return self._make_net()

    def _make_net(self) -> nn.Module:
        module = make_module(self.network, self._shape(), self.n_outputs_)
        if isinstance(self.network, str):
            # Convolutions and pools on CPUs are faster with channels last. A user's own module
            # may rely on the default memory format.
            module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return module.to(self._device())

    def _inputs(self, X: Matrix) -> torch.Tensor:
        # Workers map shared rows read-only, which torch does not support: it gets a copy.
        rows = np.require(X, dtype=np.float32, requirements=["C", "W"])
        return torch.from_numpy(rows).reshape(len(X), *self._shape()).to(self._device())

    def _shape(self) -> Shape:
        return input_shape(self.shape, self.n_features_in_)

    def _device(self) -> torch.device:
        if self.device is not None:
            return torch.device(self.device)
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def _augment(self, wanted: Any, auto: tuple[Augment, Augment] = WEAK) -> Augment | None:
        return make_augment(wanted, images=len(self._shape()) == 3, auto=auto)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31))

    def __getstate__(self) -> dict[str, Any]:
        """Return plain values only: a model file contains weights, never code."""
        return {**super().__getstate__(), **dict.fromkeys(self._unsaved)}

    def __repr__(self, N_CHAR_MAX: int = 10_000) -> str:
        """Show parameters without memory addresses, because digests depend on this text."""
        return ADDRESS.sub("", super().__repr__(N_CHAR_MAX))

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.classifier_tags.multi_label = self.several_labels
        tags.target_tags.multi_output = self.several_labels
        return tags


def input_shape(shape: Shape | None, features: int) -> Shape:
    """Return the shape of one row; a wrong one raises."""
    if shape is None:
        return (features,)
    shape = tuple(shape)
    size = math.prod(shape)
    if size != features:
        hint = ""
        if len(shape) == 3 and features * shape[0] in (size, 3 * size):
            hint = f"; the images seem to have {features * shape[0] // size} channel(s)"
        raise ParameterError(f"rows with {features} features do not have the shape {shape}{hint}")
    return shape


def _with_inherited(kind: type) -> inspect.Signature:
    """Return a constructor's signature with ``**shared`` replaced by the base's parameters."""
    own = list(inspect.signature(vars(kind)["__init__"]).parameters.values())
    names = {parameter.name for parameter in own}
    above = inspect.signature(kind.__mro__[1].__init__).parameters.values()  # type: ignore[misc]
    inherited = [parameter for parameter in above if parameter.name not in names]
    own = [parameter for parameter in own if parameter.kind is not parameter.VAR_KEYWORD]
    return inspect.Signature([*own, *inherited])
