"""Networks of the zoo: their sizes, written out, and what they give."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from ballotine.errors import ParameterError
from ballotine.neural import AUGMENTATIONS, ZOO, RotateShift, make_module
from ballotine.neural.layers import HalvingPool, pooled_first
from ballotine.neural.predicting import logits_of
from ballotine.neural.training import batches

GREY, COLOUR = (1, 28, 28), (3, 32, 32)


def convolution(before: int, after: int, side: int, bias: bool = True) -> int:
    return before * after * side * side + (after if bias else 0)


def dense(before: int, after: int) -> int:
    return before * after + after


def deep(channels: int) -> int:
    widths = [channels, 96, 96, 96, 192, 192, 192, 192]
    layers = sum(convolution(a, b, 3) for a, b in pairwise(widths))
    return layers + dense(768, 192) + dense(192, 192) + dense(192, 10)


SIZES = {
    ("individualized-cnn", GREY): convolution(1, 32, 3) + 64 + dense(32 * 13 * 13, 100)
    + 200 + dense(100, 10),
    ("individualized-cnn", COLOUR): convolution(3, 32, 3) + 64 + dense(32 * 15 * 15, 100)
    + 200 + dense(100, 10),
    ("pate-cnn", GREY): convolution(1, 32, 5) + convolution(32, 64, 5) + dense(64 * 49, 128)
    + dense(128, 10),
    ("small-cnn", GREY): convolution(1, 16, 3) + convolution(16, 32, 3) + dense(32 * 49, 26)
    + dense(26, 10),
    ("deep-cnn", GREY): deep(1),
    ("deep-cnn", COLOUR): deep(3),
    ("resnet10", COLOUR): 4_903_242,
    ("resnet18", COLOUR): 11_173_962,  # the usual ResNet-18 for CIFAR-10
    ("mlp", GREY): dense(784, 128) + dense(128, 64) + dense(64, 10),
    ("linear", GREY): dense(784, 10),
}  # fmt: skip


@pytest.mark.parametrize(("name", "shape"), list(SIZES))
def test_sizes(name: str, shape: tuple[int, ...]) -> None:
    module = make_module(name, shape, 10)
    assert sum(weight.numel() for weight in module.parameters()) == SIZES[name, shape]


@pytest.mark.parametrize("shape", [GREY, COLOUR, (1, 32, 32), (3, 28, 28)], ids=str)
@pytest.mark.parametrize("name", list(ZOO))
def test_every_network_gives_logits(name: str, shape: tuple[int, ...]) -> None:
    module = make_module(name, shape, 7)
    images = torch.rand((2, *shape))
    usual = logits_of(module, images)
    assert usual.shape == (2, 7)
    faster = module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    torch.testing.assert_close(logits_of(faster, images), usual, rtol=1e-4, atol=1e-4)


def test_networks_for_images_refuse_rows() -> None:
    for name in set(ZOO) - {"mlp", "linear"}:
        with pytest.raises(ParameterError, match="needs images"):
            make_module(name, (784,), 10)
        with pytest.raises(ParameterError, match="8 × 8"):
            make_module(name, (1, 4, 28), 10)


@pytest.mark.parametrize("name", ["individualized-cnn", "pate-cnn", "small-cnn", "deep-cnn"])
def test_pooling_first_changes_no_bit(name: str) -> None:
    module = make_module(name, GREY, 10)
    for layer in module.modules():
        if isinstance(layer, nn.BatchNorm2d):
            nn.init.uniform_(layer.weight, 0.1, 2.0)
            nn.init.normal_(layer.bias)
            nn.init.normal_(layer.running_mean)  # type: ignore[arg-type]
    images = torch.randn((5, *GREY))
    assert torch.equal(logits_of(pooled_first(module.eval()), images), logits_of(module, images))


@pytest.mark.parametrize("order", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("sides", [(8, 8), (7, 9), (2, 3)])
def test_halving_is_max_pooling(sides: tuple[int, int], order: torch.memory_format) -> None:
    images = torch.randn((3, 4, *sides)).to(memory_format=order)
    images[0, 0, 0, 0] = torch.nan
    wanted = nn.functional.max_pool2d(images, 2)
    torch.testing.assert_close(HalvingPool()(images), wanted, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize(
    "pool",
    [
        nn.MaxPool2d(3),
        nn.MaxPool2d(2, 1),
        nn.MaxPool2d(2, padding=1),
        nn.MaxPool2d(2, dilation=2),
        nn.MaxPool2d(2, ceil_mode=True),
        nn.MaxPool2d((2, 1)),
        nn.MaxPool2d((2, 2), (2, 2)),
    ],
    ids=str,
)
def test_every_pool_gives_what_it_gave(pool: nn.MaxPool2d) -> None:
    module = nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), pool).eval()
    images = torch.randn((2, 1, 13, 12))
    assert torch.equal(pooled_first(module)(images), module(images))


def test_pooling_first_leaves_alone_what_it_must() -> None:
    norm = nn.BatchNorm2d(2)
    nn.init.constant_(norm.weight, -1.0)
    falling = nn.Sequential(nn.ReLU(), norm, nn.MaxPool2d(2)).eval()
    images = torch.randn((3, 2, 4, 4))
    assert [type(layer) for layer in pooled_first(falling).children()] == [
        nn.ReLU,
        nn.BatchNorm2d,
        HalvingPool,
    ]
    assert torch.equal(pooled_first(falling)(images), falling(images))
    learning = nn.Sequential(nn.ReLU(), nn.MaxPool2d(2)).train()
    assert pooled_first(learning) is learning


def test_rotation_and_shift_stay_within_their_bounds() -> None:
    generator = torch.Generator().manual_seed(0)
    images = torch.zeros((200, 1, 29, 29))
    images[:, :, 14, 14] = 1.0  # the centre: rotation does not move it
    moved = AUGMENTATIONS["rotate-shift"](images, generator)
    assert moved.shape == images.shape
    heat = moved.sum(dim=(0, 1)).numpy()
    rows, columns = np.nonzero(heat > 1e-6)
    reach = int(np.ceil(0.07 * 29))
    assert rows.min() >= 14 - reach
    assert rows.max() <= 14 + reach
    assert columns.max() - columns.min() >= 3
    still = RotateShift(0.0, 0.0)(images, generator)
    torch.testing.assert_close(still, images)


def test_rotation_turns_every_image_by_less_than_the_angle() -> None:
    """A point on the rim moves along it, no further than the largest angle."""
    images = torch.zeros((300, 1, 41, 41))
    images[:, :, 20, 38] = 1.0  # 18 to the right of the centre
    turned = RotateShift(30.0, 0.0)(images, torch.Generator().manual_seed(0))[:, 0].numpy()
    places = np.arange(41) - 20.0
    mass = turned.sum(axis=(1, 2))
    down = (turned.sum(axis=2) @ places) / mass
    right = (turned.sum(axis=1) @ places) / mass
    angles = np.degrees(np.arctan2(down, right))
    assert np.abs(angles).max() < 31.5
    assert angles.max() > 25
    assert angles.min() < -25
    np.testing.assert_allclose(np.hypot(down, right), 18.0, atol=0.5)


@pytest.mark.parametrize(("rows", "size"), [(1, 4), (4, 4), (5, 4), (9, 4), (10, 3), (7, 32)])
def test_batches_hold_every_row_once_and_never_one_alone(rows: int, size: int) -> None:
    found = list(batches(rows, size, torch.Generator().manual_seed(1)))
    assert sorted(torch.cat(found).tolist()) == list(range(rows))
    assert all(len(batch) > 1 for batch in found) or rows == 1
    assert max(len(batch) for batch in found) <= size + 1
