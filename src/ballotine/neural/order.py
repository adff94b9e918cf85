"""The same network for predictions, with less to compute."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional


class HalvingPool(nn.Module):
    """Max-pooling of 2 × 2: on processors as three maxima, which take half of the time.

    The usual pooling also notes where each maximum was, which only learning asks for.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The largest of each four; a last row or column without a partner is left out."""
        if not x.is_cpu:
            return functional.max_pool2d(x, 2)
        height, width = (side - side % 2 for side in x.shape[-2:])
        x = x[..., :height, :width]
        rows = torch.maximum(x[..., 0::2, :], x[..., 1::2, :])
        return torch.maximum(rows[..., 0::2], rows[..., 1::2])


def pooled_first(module: nn.Module) -> nn.Module:
    """A chain of layers with max-pools before the steps that keep the order of numbers.

    The maximum of rectified numbers is the rectified maximum, and the same holds for batch norm
    with positive scales, in floating point too: the result is equal bit by bit, and a quarter
    of the numbers (for pools of 2 × 2) go through these steps. For predictions only: while it
    learns, batch norm must see all numbers.

    Args:
        module: anything; what is not a plain chain is returned as it is.
    """
    if type(module) is not nn.Sequential or module.training:
        return module
    layers = list(module)
    for end in range(1, len(layers)):
        place = end
        while place and isinstance(layers[place], nn.MaxPool2d) and _keeps_order(layers[place - 1]):
            layers[place - 1], layers[place] = layers[place], layers[place - 1]
            place -= 1
    return nn.Sequential(*(HalvingPool() if _halves(one) else one for one in layers)).eval()


def _halves(layer: nn.Module) -> bool:
    if type(layer) is not nn.MaxPool2d or layer.ceil_mode or layer.return_indices:
        return False
    given = (layer.kernel_size, layer.stride, layer.padding, layer.dilation)
    pairs = [value if isinstance(value, tuple) else (value, value) for value in given]
    return pairs == [(2, 2), (2, 2), (0, 0), (1, 1)]


def _keeps_order(layer: nn.Module) -> bool:
    if isinstance(layer, nn.BatchNorm2d):
        known = layer.track_running_stats
        return known and (not layer.affine or bool((layer.weight > 0).all()))
    return isinstance(layer, nn.ReLU)
