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
    """Records that share a name share a teacher; teachers stand in the names' sorted order.

    Attributes:
        names: one per record.
    """

    names: Labels = field(repr=False)
    data_dependent: ClassVar[bool] = True

    def deal(self, labels: Labels, n_teachers: int, secret: bytes) -> Partition:  # noqa: ARG002
        """Nothing is drawn: the map is the column."""
        check_sizes(len(labels), n_teachers)
        names = np.asarray(self.names)
        if names.shape != (len(labels),):
            raise DataError("a column of names needs one for every private record")
        found, place = np.unique(names, return_inverse=True)
        if len(found) != n_teachers:
            raise ParameterError(
                f"the column holds {len(found)} names for {n_teachers} teachers; ask for "
                f"{len(found)} teachers, or merge names"
            )
        groups = tuple(np.flatnonzero(place.ravel() == name) for name in range(len(found)))
        return Partition(groups, self.data_dependent, STAYS)
