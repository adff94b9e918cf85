"""Networks as sequences of layers: reordered to pool early, or split before the last layer."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import nn
from torch.nn import functional

from ballotine.errors import ParameterError


class HalvingPool(nn.Module):
    """2 × 2 max-pooling: on CPUs as three maxima, which takes half the time.

    The standard pooling also records where each maximum was, which only training needs.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the largest of each four values; an odd last row or column is dropped."""
        if not x.is_cpu:
            return functional.max_pool2d(x, 2)
        height, width = (side - side % 2 for side in x.shape[-2:])
        x = x[..., :height, :width]
        rows = torch.maximum(x[..., 0::2, :], x[..., 1::2, :])
        return torch.maximum(rows[..., 0::2], rows[..., 1::2])


def pooled_first(module: nn.Module) -> nn.Module:
    """Move max-pools of a sequence before the monotone layers that precede them.

    Max-pooling commutes with ReLU and with batch norm of positive scale, in floating point too:
    the result is bitwise equal, and these layers process only a quarter of the values (for
    2 × 2 pools). For predictions only: in training, batch norm must see all values.

    Args:
        module: any module; one that is not a plain sequence is returned unchanged.
    """
    if type(module) is not nn.Sequential or module.training:
        return module
    layers = _reordered(module, _keeps_order)
    return nn.Sequential(*(HalvingPool() if _halves(one) else one for one in layers)).eval()


class Split:
    """Computes a network's features as well as its logits, without changing the network.

    A plain sequence is split before its last layer. For any other module, the features are the
    input of its last dense layer.
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
            # Where a rectified maximum is zero no gradient passes in either order, so ReLU may
            # follow its pool in training, too.
            self._body = nn.Sequential(*_reordered(list(module)[:-1], _rectifies))
        else:
            self._head.register_forward_pre_hook(self._keep)

    def __call__(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return features and logits of rows."""
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


def batch_norms(module: nn.Module) -> list[nn.modules.batchnorm._BatchNorm]:
    """Return the batch norms: layers in which rows of a batch affect each other."""
    return [m for m in module.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]


def _reordered(
    chain: Iterable[nn.Module], may_follow: Callable[[nn.Module], bool]
) -> list[nn.Module]:
    """Return the layers with each max-pool moved before those that may follow it."""
    layers = list(chain)
    for end in range(1, len(layers)):
        place = end
        while place and isinstance(layers[place], nn.MaxPool2d) and may_follow(layers[place - 1]):
            layers[place - 1], layers[place] = layers[place], layers[place - 1]
            place -= 1
    return layers


def _halves(layer: nn.Module) -> bool:
    if type(layer) is not nn.MaxPool2d or layer.ceil_mode or layer.return_indices:
        return False
    given = (layer.kernel_size, layer.stride, layer.padding, layer.dilation)
    pairs = [value if isinstance(value, tuple) else (value, value) for value in given]
    return pairs == [(2, 2), (2, 2), (0, 0), (1, 1)]


def _rectifies(layer: nn.Module) -> bool:
    return isinstance(layer, nn.ReLU)


def _keeps_order(layer: nn.Module) -> bool:
    if isinstance(layer, nn.BatchNorm2d):
        known = layer.track_running_stats
        return known and (not layer.affine or bool((layer.weight > 0).all()))
    return _rectifies(layer)
