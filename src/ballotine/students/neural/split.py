"""A network seen as features and a head: its last dense layer."""

from __future__ import annotations

import torch
from torch import nn

from ballotine.errors import ParameterError


class Split:
    """Gives a network's features beside its logits; the network itself stays as it is.

    A plain chain is cut before its last layer. Of any other module, the features are what its
    last dense layer was given.
    """

    def __init__(self, module: nn.Module) -> None:
        dense = [layer for layer in module.modules() if isinstance(layer, nn.Linear)]
        if not dense:
            raise ParameterError(
                "matching features needs a network whose last layer is dense (torch.nn.Linear)"
            )
        self._head, self._module = dense[-1], module
        self._seen: torch.Tensor | None = None
        self._body: nn.Module | None = None
        if isinstance(module, nn.Sequential) and module[-1] is self._head:
            self._body = nn.Sequential(*_pooled_first(list(module)[:-1]))
        else:
            self._head.register_forward_pre_hook(self._keep)

    def __call__(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Features and logits of rows."""
        if self._body is not None:
            features: torch.Tensor = self._body(rows)
            return features, self._head(features)
        logits: torch.Tensor = self._module(rows)
        if self._seen is None:
            raise ParameterError("the network does not use its last dense layer")
        features, self._seen = self._seen, None
        return features.flatten(1), logits

    def _keep(self, _layer: nn.Module, given: tuple[torch.Tensor, ...]) -> None:
        self._seen = given[0]


def _pooled_first(layers: list[nn.Module]) -> list[nn.Module]:
    """Max-pools before the rectifiers they follow: the same numbers and gradients, for less.

    The maximum of rectified numbers is the rectified maximum, and where it is zero no gradient
    passes either way. (`ballotine.neural.order` does more, for predictions only.)
    """
    for place in range(1, len(layers)):
        pair = layers[place - 1 : place + 1]
        if isinstance(pair[0], nn.ReLU) and isinstance(pair[1], nn.MaxPool2d):
            layers[place - 1 : place + 1] = pair[::-1]
    return layers
