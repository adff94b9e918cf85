"""The partition strategies by name.

A map that does not depend on the records' values meets PATE's premise, that replacing one record
affects one teacher, without further assumptions. A map that reads labels does not, and is marked
as data-dependent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ballotine.data.partition.base import Partition, Strategy
from ballotine.data.partition.column import Column
from ballotine.data.partition.even import Random, Stratified
from ballotine.data.partition.uneven import Dirichlet, Similarity
from ballotine.errors import ParameterError
from ballotine.types import Labels

STRATEGIES: dict[str, Callable[..., Strategy]] = {
    "random": Random,
    "stratified": Stratified,
    "similarity": Similarity,
    "dirichlet": Dirichlet,
    "column": Column,
}
"""Strategies by their names in run files; their options are their attributes."""


def make_partition(
    kind: str, labels: Labels, n_teachers: int, secret: bytes, **options: Any
) -> Partition:
    """Make a partition by the strategy of this name.

    Args:
        kind: one of `STRATEGIES`.
        labels: one class per record.
        n_teachers: the number of shares.
        secret: determines all randomness.
        options: ``s`` for similarity, ``alpha`` for dirichlet, ``names`` for column.
    """
    return make_strategy(kind, options).deal(labels, n_teachers, secret)


def make_strategy(kind: str, options: Mapping[str, Any]) -> Strategy:
    """Return the strategy of this name, with its options."""
    if kind not in STRATEGIES:
        raise ParameterError(f"unknown partition {kind!r}; choose one of {', '.join(STRATEGIES)}")
    try:
        return STRATEGIES[kind](**options)
    except TypeError:
        given = ", ".join(options) or "none"
        raise ParameterError(
            f"the partition {kind!r} does not take these options ({given}): similarity takes s, "
            "dirichlet takes alpha, column needs names"
        ) from None


def random_partition(n_records: int, n_teachers: int, secret: bytes) -> Partition:
    """Return equal shares of a secret permutation: independent of every value in the data."""
    return Random().deal(np.empty(n_records), n_teachers, secret)


def stratified_partition(labels: Labels, n_teachers: int, secret: bytes) -> Partition:
    """Return shares with similar class proportions: data-dependent, because it reads the labels."""
    return Stratified().deal(labels, n_teachers, secret)
