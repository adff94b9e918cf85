"""The group of each record, for individual budgets: a column, or a separate file.

Group membership is considered public: it decides how many teachers a group has and what its
records are charged. The names themselves are compared and never shown.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from ballotine.data.sources import column_names, read_arrays, read_table, source_kind
from ballotine.data.table import as_column, texts
from ballotine.errors import DataError
from ballotine.text import printable
from ballotine.types import Labels

GROUPS = "groups"
"""How messages call the only column of a file: its name may be the first record's group."""


def group_names(column: pa.ChunkedArray, name: str, where: str) -> Labels:
    """Return the group of each row as text; the number 3.0 becomes '3'."""
    found = texts(column, name, where)
    if found.null_count:
        raise DataError(f"column '{printable(name)}' of {where} has rows without a group")
    return np.asarray(found.to_pylist(), dtype=str)


def read_groups(path: str | Path) -> Labels:
    """Read the groups from a file, one per record: one column, or one array.

    Raises:
        DataError: the file has several columns, gaps, or cannot be read.
    """
    where = f"the groups in {printable(Path(path).name, 80)}"
    if source_kind(path) == "arrays":
        return group_names(as_column(read_arrays(path).X, where), GROUPS, where)
    names = column_names(path)
    if len(names) != 1:
        raise DataError(f"{where} must be in one column, but there are {len(names)}")
    return group_names(read_table(path)[names[0]], GROUPS, where)


def check_length(groups: Labels, rows: int, where: str) -> None:
    """Raise DataError unless there is one group per record."""
    if len(groups) != rows:
        raise DataError(f"there are {rows} rows in {where}, but {len(groups)} groups")
