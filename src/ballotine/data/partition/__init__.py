"""Partitions: which teacher learns from which records; one strategy per file."""

from ballotine.data.partition.base import Partition, Strategy, secret_permutation
from ballotine.data.partition.column import Column
from ballotine.data.partition.even import Random, Stratified
from ballotine.data.partition.figure import label_counts, label_figure
from ballotine.data.partition.strategies import (
    STRATEGIES,
    make_partition,
    make_strategy,
    random_partition,
    stratified_partition,
)
from ballotine.data.partition.uneven import Dirichlet, Similarity

__all__ = [
    "STRATEGIES",
    "Column",
    "Dirichlet",
    "Partition",
    "Random",
    "Similarity",
    "Strategy",
    "Stratified",
    "label_counts",
    "label_figure",
    "make_partition",
    "make_strategy",
    "random_partition",
    "secret_permutation",
    "stratified_partition",
]
