"""Small networks by name, as described in the papers that use them.

Each is a factory that takes the shape of one input and the number of outputs. Images have the
shape (channels, height, width); the last layer returns logits.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import nn

from ballotine.errors import ParameterError

Shape = tuple[int, ...]
Factory = Callable[[Shape, int], nn.Module]


class ChannelsLastFlatten(nn.Module):
    """Flattens images pixel by pixel, with the channels of each pixel together.

    The following dense layer can learn any order; this one needs no copy if images are stored
    channels last.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return one row per image."""
        return x.permute(0, 2, 3, 1).flatten(1)


def individualized_cnn(shape: Shape, outputs: int) -> nn.Module:
    """Individualized PATE, Table 3: one convolution, one dense layer, batch norm after each."""
    channels, height, width = image(shape)
    flat = 32 * ((height - 2) // 2) * ((width - 2) // 2)
    net = nn.Sequential(
        nn.Conv2d(channels, 32, 3),
        nn.ReLU(),
        nn.BatchNorm2d(32),
        nn.MaxPool2d(2),
        ChannelsLastFlatten(),
        nn.Linear(flat, 100),
        nn.ReLU(),
        nn.BatchNorm1d(100),
        nn.Linear(100, outputs),
    )
    for layer in net:
        if isinstance(layer, nn.Conv2d | nn.Linear):
            nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    nn.init.xavier_uniform_(net[-1].weight)  # type: ignore[arg-type]
    return net


def _two_convolutions(kernel: int, first: int, second: int, dense: int) -> Factory:
    """Two convolutions with max-pooling, then one dense layer."""

    def factory(shape: Shape, outputs: int) -> nn.Module:
        channels, height, width = image(shape)
        return nn.Sequential(
            nn.Conv2d(channels, first, kernel, padding=kernel // 2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(first, second, kernel, padding=kernel // 2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            ChannelsLastFlatten(),
            nn.Linear(second * (height // 4) * (width // 4), dense),
            nn.ReLU(),
            nn.Linear(dense, outputs),
        )

    return factory


def deep_cnn(shape: Shape, outputs: int) -> nn.Module:
    """PATE's deep network (PATE++): seven convolutions, then two dense layers."""
    channels, _, _ = image(shape)
    plan = [(channels, 96, 1), (96, 96, 1), (96, 96, 2), (96, 192, 1), (192, 192, 1), (192, 192, 2)]
    layers: list[nn.Module] = []
    for before, after, stride in plan:
        layers += [nn.Conv2d(before, after, 3, stride, padding=1), nn.ReLU()]
        if stride == 2:
            layers.append(nn.Dropout(0.5))
    layers += [nn.Conv2d(192, 192, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2)]
    layers += [
        ChannelsLastFlatten(),
        nn.Linear(768, 192),
        nn.ReLU(),
        nn.Linear(192, 192),
        nn.ReLU(),
    ]
    return nn.Sequential(*layers, nn.Linear(192, outputs))


class ResidualBlock(nn.Module):
    """Two convolutions and a shortcut (He et al. 2016)."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(before, after, 3, stride, 1, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(),
            nn.Conv2d(after, after, 3, 1, 1, bias=False),
            nn.BatchNorm2d(after),
        )
        same = stride == 1 and before == after
        self.shortcut = (
            nn.Identity()
            if same
            else nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
            )
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the block's output."""
        return torch.relu(self.body(x) + self.shortcut(x))


def _resnet(blocks: int) -> Factory:
    def factory(shape: Shape, outputs: int) -> nn.Module:
        channels, _, _ = image(shape)
        layers: list[nn.Module] = [
            nn.Conv2d(channels, 64, 3, 1, 1, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(),
        ]
        before = 64
        for stage, after in enumerate((64, 128, 256, 512)):
            for place in range(blocks):
                layers.append(ResidualBlock(before, after, 2 if stage and not place else 1))
                before = after
        return nn.Sequential(
            *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, outputs)
        )

    return factory


def mlp(shape: Shape, outputs: int) -> nn.Module:
    """Two hidden layers, for tables."""
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(math.prod(shape), 128),
        nn.ReLU(),
        nn.Linear(128, 64),
        nn.ReLU(),
        nn.Linear(64, outputs),
    )


def linear(shape: Shape, outputs: int) -> nn.Module:
    """Logistic regression: the fewest weights, for training with noise on the weights."""
    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), outputs))


ZOO: dict[str, Factory] = {
    "individualized-cnn": individualized_cnn,
    "pate-cnn": _two_convolutions(5, 32, 64, 128),  # PATE's network for MNIST (TTAC)
    "small-cnn": _two_convolutions(3, 16, 32, 26),  # about 50,000 weights for 28 × 28
    "deep-cnn": deep_cnn,
    "resnet10": _resnet(1),
    "resnet18": _resnet(2),
    "mlp": mlp,
    "linear": linear,
}
"""Networks by their name in run files and on the command line."""


def image(shape: Shape) -> tuple[int, int, int]:
    """Return channels, height and width; a shape that is not an image raises."""
    if len(shape) != 3 or min(shape[1:]) < 8:
        raise ParameterError(
            f"this network needs images of shape (channels, height, width) with at least 8 × 8 "
            f"pixels, got {shape}; give the shape of one input"
        )
    return shape[0], shape[1], shape[2]


def make_module(network: str | Factory, shape: Shape, outputs: int) -> nn.Module:
    """Return a new network, from the zoo or from the user's own factory."""
    if callable(network):
        return network(shape, outputs)
    if network not in ZOO:
        raise ParameterError(f"unknown network {network!r}; choose one of {', '.join(ZOO)}")
    return ZOO[network](shape, outputs)
