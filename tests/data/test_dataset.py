"""Specifications and the choice of rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ballotine.data import DataSpec, split
from ballotine.data.dataset import amount_of
from ballotine.errors import DataError, ParameterError


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 60), st.integers(0, 30), st.integers(0, 30), st.integers(0, 2**130))
def test_split_deals_every_row_once(n, first, second, seed):
    if first + second > n:
        with pytest.raises(DataError, match=f"{n} rows cannot be split into {first}"):
            split(n, [first, second], seed)
        return
    a, b, rest = split(n, [first, second], seed)
    assert (len(a), len(b)) == (first, second)
    assert sorted([*a, *b, *rest]) == list(range(n))
    assert (np.diff(rest) > 0).all()


def test_split_follows_from_the_seed_alone():
    one, two = split(1000, [100], 1), split(1000, [100], 1)
    assert all((x == y).all() for x, y in zip(one, two, strict=True))
    assert (split(1000, [100], 2)[0] != one[0]).any()


def test_split_is_uniform():
    """Each row is chosen about equally often: a chi-square statistic far from its tail."""
    counts = np.zeros(20)
    for seed in range(2000):
        counts[split(20, [5], seed)[0]] += 1
    expected, variance = 500, 2000 * 0.25 * 0.75
    assert ((counts - expected) ** 2).sum() / variance < 50


def test_amounts():
    assert amount_of(None, 10) == 0
    assert amount_of(7, 10) == 7
    assert amount_of(0.25, 10) == 2
    assert amount_of(0.9, 1000) == 900


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "name a data set"),
        ({"public": "p.csv"}, "name a data set"),
        ({"source": "digits", "private": "p.csv"}, "not both"),
        ({"source": "digits", "split_seed": -1}, "split_seed"),
        ({"source": "digits", "public_rows": -1}, "public_rows must not be negative"),
        ({"source": "digits", "public_rows": 1.0}, "a fraction below 1"),
        ({"source": "digits", "test_rows": float("nan")}, "test_rows"),
        ({"source": "digits", "test_rows": True}, "test_rows must be a number"),
        ({"private": "p.csv", "classes": ("a",)}, "at least two classes"),
        ({"private": "p.csv", "classes": ("1", 1)}, "listed twice"),
    ],
)
def test_specifications_that_contradict_themselves(fields, message):
    with pytest.raises(ParameterError, match=message):
        DataSpec(**fields)
