"""Who teaches whom: the map from records to teachers.

A map that does not depend on the records' values keeps PATE's premise, that replacing
one record touches one teacher, without further assumptions. A map that looks at labels
does not, and says so.
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
"""Ways to deal records, by the name that run files use; options are their attributes."""


def make_partition(
    kind: str, labels: Labels, n_teachers: int, secret: bytes, **options: Any
) -> Partition:
    """The partition of that name.

    Args:
        kind: one of `STRATEGIES`.
        labels: one class per record.
        n_teachers: how many shares.
        secret: what everything random follows from.
        options: ``s`` for similarity, ``alpha`` for dirichlet, ``names`` for column.
    """
    return make_strategy(kind, options).deal(labels, n_teachers, secret)


def make_strategy(kind: str, options: Mapping[str, Any]) -> Strategy:
    """The way to deal of that name, with its options."""
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
    """Equal shares of a secret permutation: independent of every value in the data."""
    return Random().deal(np.empty(n_records), n_teachers, secret)


def stratified_partition(labels: Labels, n_teachers: int, secret: bytes) -> Partition:
    """Shares with similar class proportions: it reads the labels, and says so."""
    return Stratified().deal(labels, n_teachers, secret)
