"""Who teaches whom when records have budgets of their own.

Records are cut at random into segments. A segment whose records may be taught several times has
several *layers*: in each, its records are dealt again to as many teachers as in the first. So
every teacher holds records of one segment only, and a record never twice; the first layers of
all segments are a standard ensemble, and, weighted by segment, the ensemble of weighting;
further layers make upsampling out of it. One set of teachers serves every budget split whose
cuts are among the segments' edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ballotine.errors import ParameterError
from ballotine.types import IntArray


@dataclass(frozen=True)
class Layout:
    """Segments of records, the most generous first.

    Attributes:
        edges: where segments end, as shares of all records; the last is 1.
        layers: how often each segment's records may be taught.
    """

    edges: tuple[float, ...]
    layers: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.edges) != len(self.layers) or self.edges[-1] != 1.0:
            raise ParameterError("a layout needs layers for every segment, and to end at 1")

    def cuts(self, number: int) -> IntArray:
        """How many of ``number`` records or teachers each segment gets."""
        ends = np.round(np.array([0.0, *self.edges]) * number).astype(np.int64)
        return np.diff(ends)

    def deal(self, records: IntArray, teachers: int, seed: int) -> Allocation:
        """Deal records to teachers: one array of positions per teacher."""
        draw = np.random.default_rng([seed, 2])
        shuffled = draw.permutation(records)
        parts = np.split(shuffled, np.cumsum(self.cuts(len(records)))[:-1])
        shares: list[IntArray] = []
        places: list[tuple[int, int]] = []
        for segment, (part, number) in enumerate(zip(parts, self.cuts(teachers), strict=True)):
            for layer in range(self.layers[segment]):
                shares += np.array_split(draw.permutation(part), number)
                places += [(segment, layer)] * int(number)
        where = np.array(places, dtype=np.int64)
        return Allocation(tuple(shares), where[:, 0], where[:, 1])


@dataclass(frozen=True, eq=False)
class Allocation:
    """Each teacher's records, the segment they come from, and the layer that dealt them."""

    shares: tuple[IntArray, ...]
    segment: IntArray
    layer: IntArray


QUARTERS = Layout((0.25, 0.5, 0.75, 1.0), (4, 4, 4, 1))
"""Two groups, a quarter, half or three quarters generous, taught up to four times."""

THIRDS = Layout((0.09, 0.23, 0.46, 0.66, 1.0), (3, 3, 2, 2, 1))
"""Three groups, 34/43/23 % or 54/37/9 %, taught once, twice and three times."""
