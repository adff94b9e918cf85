"""Ways to deal records to teachers, one small strategy each."""

from ballotine.data.partitions.base import Partition, Strategy, secret_permutation
from ballotine.data.partitions.column import Column
from ballotine.data.partitions.even import Random, Stratified
from ballotine.data.partitions.figure import label_counts, label_figure
from ballotine.data.partitions.uneven import Dirichlet, Similarity

__all__ = [
    "Column",
    "Dirichlet",
    "Partition",
    "Random",
    "Similarity",
    "Strategy",
    "Stratified",
    "label_counts",
    "label_figure",
    "secret_permutation",
]
