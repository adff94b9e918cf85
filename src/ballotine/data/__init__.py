"""Data: files, named sets, schemas, and the arrays that a run works on."""

from ballotine.data.dataset import Dataset, DataSpec, split
from ballotine.data.encode import Encoder
from ballotine.data.identity import fingerprint, row_keys
from ballotine.data.loading import load
from ballotine.data.schema import ColumnSchema, Schema

__all__ = [
    "ColumnSchema",
    "DataSpec",
    "Dataset",
    "Encoder",
    "Schema",
    "fingerprint",
    "load",
    "row_keys",
    "split",
]
