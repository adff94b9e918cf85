"""Shares of records: disjoint, complete, secret, and marked if they depend on the data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ballotine.data.partition import make_partition, random_partition, stratified_partition
from ballotine.errors import DataError, ParameterError


@settings(deadline=None, max_examples=60)
@given(
    teachers=st.integers(1, 20),
    more=st.integers(0, 80),
    secret=st.binary(min_size=1, max_size=16),
    kind=st.sampled_from(["random", "stratified"]),
)
def test_every_record_has_one_teacher_and_shares_are_even(
    teachers: int, more: int, secret: bytes, kind: str
) -> None:
    n = teachers + more
    groups = make_partition(kind, np.arange(n) % 3, teachers, secret).shares
    assert len(groups) == teachers
    assert sorted(np.concatenate(groups).tolist()) == list(range(n))
    sizes = [len(group) for group in groups]
    assert max(sizes) - min(sizes) <= 1


def test_a_random_map_never_looks_at_the_values() -> None:
    one = make_partition("random", np.zeros(100), 7, b"secret")
    other = make_partition("random", np.arange(100), 7, b"secret")
    assert all(np.array_equal(a, b) for a, b in zip(one.shares, other.shares, strict=True))
    assert not one.data_dependent
    assert one.assumption is None


def test_a_stratified_map_says_that_it_looked() -> None:
    labels = np.repeat([0, 1], [90, 10])
    partition = stratified_partition(labels, 10, b"secret")
    assert partition.data_dependent
    assert "labels" in str(partition.assumption)
    assert all(np.sum(labels[group] == 1) == 1 for group in partition.shares)


def test_another_secret_deals_otherwise() -> None:
    one, other = (random_partition(200, 5, secret) for secret in (b"a", b"b"))
    same = [np.array_equal(a, b) for a, b in zip(one.shares, other.shares, strict=True)]
    assert not any(same)


def test_impossible_partitions() -> None:
    with pytest.raises(DataError, match="3 private records cannot fill 4 teachers"):
        random_partition(3, 4, b"s")
    with pytest.raises(ParameterError, match="at least one teacher"):
        random_partition(3, 0, b"s")
    with pytest.raises(ParameterError, match="unknown partition"):
        make_partition("alphabetical", np.zeros(3), 1, b"s")
