"""Predictions for a row do not depend on the other rows of its batch, bit by bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from ballotine.errors import ParameterError
from ballotine.features import PatchFeatures
from ballotine.neural import ZOO, TorchClassifier, make_module
from ballotine.neural.predicting import IMAGES, TABLES, row_by_row
from ballotine.students.neural import VAT, PatePlus
from ballotine.teachers.ensemble import Ensemble
from ballotine.teachers.train import Teacher
from ballotine.teachers.ttac.network import TrainedNetwork, buffers_of, weights_of
from ballotine.types import FloatArray, IntArray

Asked = Callable[[FloatArray], FloatArray]
ASKED = 300
HALF = 37
TURNED = np.random.default_rng(5).permutation(HALF)
SHAPES = dict.fromkeys(ZOO, (3, 9, 11)) | {"mlp": (10,), "linear": (65,)}
"""Rows of odd lengths: each begins at another place between two vectors of the processor."""


def rows(width: int, number: int = ASKED) -> FloatArray:
    return np.random.default_rng(0).normal(size=(number, width)).astype(np.float32)


def trained(name: str, several: bool) -> TorchClassifier:
    shape = SHAPES[name]
    X = rows(int(np.prod(shape)), 40)
    classes = np.arange(40) % 7
    y = (classes[:, None] == np.arange(7)).astype(int) if several else classes
    return TorchClassifier(name, shape, epochs=1, random_state=0).fit(X, y)


def student(kind: Any, width: int) -> Any:
    X = rows(width, 60)
    return kind("mlp", epochs=2, batch=20, random_state=0).fit(X, np.arange(60) % 3)


def together() -> TrainedNetwork:
    torch.manual_seed(0)
    module = make_module("small-cnn", (1, 9, 9), 5)
    return TrainedNetwork("small-cnn", (1, 9, 9), 5, weights_of(module), buffers_of(module))


def ballots() -> Asked:
    """Of teachers with two classes that tie but for rounding.

    Both have the same weights on the same numbers, which the rows hold twice: the second time
    in another order.
    """
    draw = np.random.default_rng(1)
    voters = []
    for seed in range(4):
        weights = np.zeros((2, 2 * HALF), dtype=np.float32)
        weights[0, :HALF] = draw.normal(size=HALF)
        weights[1, HALF:] = weights[0, :HALF][TURNED]
        flat = np.append(weights, [0, 0]).astype(np.float32)
        voters.append(Teacher(seed, TrainedNetwork("linear", (2 * HALF,), 2, flat)))
    cast = Ensemble(voters, 2, b"").ballots
    return lambda X: cast(np.hstack([X, X[:, TURNED]]))


@cache
def asked(what: str) -> tuple[Asked, int]:
    """A way to ask about rows, and how long these are."""
    if what in ZOO:
        return trained(what, several=False).predict_proba, int(np.prod(SHAPES[what]))
    if what == "labels":
        return trained("mlp", several=True).predict_proba, 10
    if what == "together":
        return together().predict_proba, 81
    if what == "patches":
        X = rows(3 * 9 * 11, 80)
        features = PatchFeatures((3, 9, 11), patch=3, centres=11, components=9, random_state=0)
        return features.fit(X).transform, 3 * 9 * 11
    if what == "ballots":
        return ballots(), HALF
    return student({"vat": VAT, "peers": PatePlus}[what], 7).predict_proba, 7


EVERYTHING = (*ZOO, "labels", "together", "patches", "ballots", "vat", "peers")


@contextmanager
def threads(number: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def in_parts(ask: Asked, X: FloatArray, sizes: list[int]) -> FloatArray:
    ends = np.cumsum(sizes)
    return np.concatenate([ask(part) for part in np.split(X, ends[ends < len(X)]) if len(part)])


@pytest.mark.parametrize("what", EVERYTHING)
def test_a_row_alone_is_judged_as_among_others(what: str) -> None:
    ask, width = asked(what)
    X = rows(width)
    whole = ask(X)
    few = [0, 1, 2, 3, IMAGES - 1, IMAGES, TABLES - 1, TABLES, ASKED - 1]
    assert np.array_equal(np.concatenate([ask(X[[row]]) for row in few]), whole[few])


def test_some_ballots_hang_on_rounding() -> None:
    """Otherwise their independence would not show anything."""
    ask, width = asked("ballots")
    share = ask(rows(width)).mean()
    assert 0.1 < share < 0.9


@pytest.mark.parametrize("what", EVERYTHING)
@settings(deadline=None, max_examples=6)
@given(
    sizes=st.lists(st.integers(1, 130), min_size=1, max_size=6),
    order=st.permutations(range(ASKED)),
    number=st.integers(1, 3),
)
def test_size_order_and_threads_change_no_bit(
    what: str, sizes: list[int], order: list[int], number: int
) -> None:
    ask, width = asked(what)
    X = rows(width)
    with threads(number):
        found = in_parts(ask, X[order], sizes)
        assert torch.get_num_threads() == number
    assert np.array_equal(found, ask(X)[order])


def test_where_an_array_begins_in_memory_changes_no_bit() -> None:
    ask, width = asked("mlp")
    X = rows(width)
    moved = np.zeros(X.size + 16, dtype=np.float32)
    for start in range(1, 16):
        shifted = moved[start : start + X.size].reshape(X.shape)
        shifted[:] = X
        assert np.array_equal(ask(shifted), ask(X))


def test_no_rows_are_no_rows() -> None:
    assert together().predict_proba(np.zeros((0, 81))).shape == (0, 5)
    assert row_by_row(lambda batch: batch, torch.zeros((0, 3))).shape == (0, 3)


def mixing(shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Batch norm with the statistics of the current batch, in predictions too."""
    norm = nn.BatchNorm1d(shape[0], track_running_stats=False)
    return nn.Sequential(norm, nn.Linear(shape[0], outputs))


def merging(shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Two rows become one."""
    return nn.Sequential(nn.Flatten(0), nn.Unflatten(0, (-1, 20)), nn.Linear(20, outputs))


@pytest.mark.parametrize(
    ("network", "match"), [(mixing, "depend on other rows"), (merging, "one for each")]
)
@pytest.mark.parametrize("kind", [TorchClassifier, VAT])
def test_a_network_that_needs_other_rows_is_refused(kind: Any, network: Any, match: str) -> None:
    X: FloatArray = rows(10, 40)
    y: IntArray = np.arange(40) % 3
    with pytest.raises(ParameterError, match=match):
        kind(network, epochs=1, random_state=0).fit(X, y)
