"""Released answers as a Parquet file: row, status, class."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ballotine.types import ABSTAIN
from ballotine.voting import UNASKED, Answers


def write_answers(path: Path, answers: Answers) -> None:
    """One line per public row, in the pool's order."""
    status = np.full(len(answers), "answered", dtype=object)
    status[answers.labels == ABSTAIN] = "abstained"
    status[answers.labels == UNASKED] = "unasked"
    named = [None if name is np.ma.masked else name for name in answers.named.tolist()]
    table = pa.table(
        {
            "row": pa.array(np.arange(len(answers)), pa.int64()),
            "status": pa.array(status.tolist(), pa.string()),
            "answer": pa.array(named, from_pandas=True),
        }
    )
    pq.write_table(table, path)
