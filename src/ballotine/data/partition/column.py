"""One teacher per name in a column: a hospital, a region."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ballotine.data.partition.base import Partition, check_sizes
from ballotine.errors import DataError, ParameterError
from ballotine.types import Labels

STAYS = (
    "each record belongs to the teacher that its column names, the names are public, and a "
    "replaced record keeps its own name: a record that could change its name would touch two "
    "teachers"
)


@dataclass(frozen=True)
class Column:
    """Records with the same name share a teacher; teachers are in the sorted order of the names.

    Attributes:
        names: one per record.
    """

    names: Labels = field(repr=False)
    data_dependent: ClassVar[bool] = True

    def deal(self, labels: Labels, n_teachers: int, secret: bytes) -> Partition:  # noqa: ARG002
        """Assign records by the column, without randomness."""
        check_sizes(len(labels), n_teachers)
        names = np.asarray(self.names)
        if names.shape != (len(labels),):
            raise DataError("the column must hold one name for every private record")
        found, place = np.unique(names, return_inverse=True)
        if len(found) != n_teachers:
            raise ParameterError(
                f"the column holds {len(found)} names for {n_teachers} teachers; use "
                f"{len(found)} teachers, or merge names"
            )
        groups = tuple(np.flatnonzero(place.ravel() == name) for name in range(len(found)))
        return Partition(groups, self.data_dependent, STAYS)
