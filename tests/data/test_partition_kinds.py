"""Uneven shares: their contents, and whether they are marked as data-dependent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ballotine.data.partition import (
    STRATEGIES,
    Partition,
    label_counts,
    label_figure,
    make_partition,
)
from ballotine.errors import DataError, ParameterError

LABELS = np.repeat(np.arange(10), 60)


def counts_of(partition: Partition, labels: np.ndarray) -> np.ndarray:
    """Classes per teacher, counted one by one."""
    table = np.zeros((len(partition.shares), 10), dtype=int)
    for teacher, group in enumerate(partition.shares):
        for position in group:
            table[teacher, labels[position]] += 1
    return table


@settings(deadline=None, max_examples=60)
@given(
    kind=st.sampled_from([("similarity", "s"), ("dirichlet", "alpha")]),
    value=st.sampled_from([0.05, 1.0, 33.3, 99.0, 100.0]),
    teachers=st.integers(1, 20),
    more=st.integers(0, 80),
    secret=st.binary(min_size=1, max_size=16),
)
def test_every_record_has_one_teacher_and_every_teacher_a_record(
    kind: tuple[str, str], value: float, teachers: int, more: int, secret: bytes
) -> None:
    n = teachers + more
    name, option = kind
    groups = make_partition(name, np.arange(n) % 3, teachers, secret, **{option: value}).shares
    assert len(groups) == teachers
    assert sorted(np.concatenate(groups).tolist()) == list(range(n))
    sizes = [len(group) for group in groups]
    assert min(sizes) >= 1
    if name == "similarity":
        assert max(sizes) - min(sizes) <= 1


def test_without_similarity_a_teacher_sees_few_classes() -> None:
    found = counts_of(make_partition("similarity", LABELS, 10, b"s", s=0), LABELS)
    np.testing.assert_array_equal(found, 60 * np.eye(10, dtype=int))


def test_some_similarity_deals_that_share_at_random() -> None:
    found = counts_of(make_partition("similarity", LABELS, 10, b"s", s=10), LABELS)
    away = found.sum() - np.trace(found)
    # 60 of 600 records are dealt at random: nine in ten of those end up elsewhere, and a
    # class that lost records to others shifts the borders of those after it.
    assert 40 <= away <= 160
    assert np.all(np.diag(found) >= 30)


def test_full_similarity_is_the_random_partition() -> None:
    full = make_partition("similarity", LABELS, 7, b"s", s=100)
    plain = make_partition("random", LABELS, 7, b"s")
    assert all(np.array_equal(a, b) for a, b in zip(full.shares, plain.shares, strict=True))
    assert full.assumption is None


def test_alpha_decides_how_even_classes_are_spread() -> None:
    def largest(alpha: float) -> float:
        found = counts_of(make_partition("dirichlet", LABELS, 10, b"s", alpha=alpha), LABELS)
        return float((found / 60).max(axis=0).mean())

    assert largest(0.05) > 0.7
    assert largest(1000.0) < 0.3


def test_a_column_is_the_map() -> None:
    names = np.array(["north", "south", "east"])[np.arange(30) % 3]
    partition = make_partition("column", np.zeros(30), 3, b"s", names=names)
    assert [set(names[group].tolist()) for group in partition.shares] == [
        {"east"},
        {"north"},
        {"south"},
    ]
    assert partition.data_dependent
    assert "keeps its own name" in str(partition.assumption)


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("similarity", {"s": 1}, "similarity of 1 %"),
        ("dirichlet", {"alpha": 0.5}, "Dirichlet(0.5)"),
        ("stratified", {}, "stratified"),
    ],
)
def test_a_map_that_looked_at_labels_says_so(
    kind: str, options: dict[str, float], said: str
) -> None:
    partition = make_partition(kind, LABELS, 5, b"s", **options)
    assert partition.data_dependent
    assert said in str(partition.assumption)
    assert "labels" in str(partition.assumption)


@pytest.mark.parametrize(("kind", "options"), [("similarity", {"s": 20}), ("dirichlet", {})])
def test_the_secret_decides(kind: str, options: dict[str, float]) -> None:
    def groups(secret: bytes) -> list[list[int]]:
        return [g.tolist() for g in make_partition(kind, LABELS, 5, secret, **options).shares]

    assert groups(b"a") == groups(b"a")
    assert groups(b"a") != groups(b"b")


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("similarity", {"s": 101}, "percentage"),
        ("similarity", {"s": float("nan")}, "percentage"),
        ("dirichlet", {"alpha": 0.0}, "positive"),
        ("dirichlet", {"s": 3}, "does not take these options"),
        ("random", {"alpha": 3}, "does not take these options"),
        ("column", {}, "column needs names"),
        ("column", {"names": np.arange(600) % 4}, "4 names for 5 teachers"),
    ],
)
def test_wrong_options(kind: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make_partition(kind, LABELS, 5, b"s", **options)


def test_a_column_needs_a_name_for_every_record() -> None:
    with pytest.raises(DataError, match="one name for every private record"):
        make_partition("column", LABELS, 5, b"s", names=np.arange(5))


@pytest.mark.parametrize("kind", ["stratified", "similarity", "dirichlet"])
def test_rows_of_several_labels_have_no_class_to_sort_by(kind: str) -> None:
    assert kind in STRATEGIES
    with pytest.raises(ParameterError, match="several labels"):
        make_partition(kind, np.zeros((20, 3)), 5, b"s")


def test_the_picture_holds_every_teachers_classes_and_says_that_it_is_private() -> None:
    partition = make_partition("similarity", LABELS, 10, b"s", s=10)
    names, counts = label_counts(partition, LABELS)
    np.testing.assert_array_equal(counts, counts_of(partition, LABELS))
    assert names.tolist() == list(range(10))
    figure = label_figure(partition, LABELS)
    np.testing.assert_allclose(np.asarray(figure.data[0].z).sum(axis=0), 1.0)
    assert "private" in figure.layout.title.text
