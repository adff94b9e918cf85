"""Write released answers to a Parquet file."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ballotine.types import IntArray
from ballotine.voting import Answers


def write_answers(stream: BinaryIO, answers: Answers, first: IntArray) -> None:
    """Write one line per public row, in the pool's order.

    The column ``repeats`` holds the earlier row that asked the same query (from ``first``, see
    `ballotine.pipeline.counting.first_occurrences`) and is empty for the first such row. The
    column ``answer`` holds the class. With several labels there is a column ``answer:NAME`` for
    each: 1, 0, or empty if that label has no answer.
    """
    status = np.full(len(answers), "answered", dtype=object)
    status[answers.abstained] = "abstained"
    status[~answers.asked] = "unasked"
    rows = np.arange(len(answers))
    columns = {
        "row": pa.array(rows, pa.int64()),
        "status": pa.array(status.tolist(), pa.string()),
        "repeats": pa.array(first, pa.int64(), mask=first == rows),
    }
    for name, given in answers.task.columns(answers.labels).items():
        columns[name] = pa.array(given.data, mask=np.ma.getmaskarray(given))
    pq.write_table(pa.table(columns), stream)
