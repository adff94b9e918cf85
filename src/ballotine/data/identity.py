"""Recognise the same records and the same query again.

Both are identified by values, not by files: a row is its features as little-endian doubles, with
one zero and one NaN, so CSV, Parquet and NumPy copies of the same rows are the same rows.
Records are identified by the content of their file, before any schema scales or encodes it:
a budget belongs to the records, however a run encodes them.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ballotine.data.table import cells
from ballotine.errors import DataError
from ballotine.types import Labels, Matrix

_CHUNK_BYTES = 32 << 20
_DIGEST = 32
_SEPARATOR = "\x1f"


@dataclass(frozen=True)
class Records:
    """One SHA-256 per record: enough to identify the data, not to read it. Still private."""

    count: int
    width: int
    digests: bytes = field(repr=False)

    def fingerprint(self, salt: bytes) -> str:
        """Return a keyed hash of the multiset of records."""
        head = f"ballotine records {self.count} x {self.width}\n".encode()
        seal = hmac.new(salt, head, hashlib.sha256)
        seal.update(_sorted_digests(self.digests))
        return seal.hexdigest()

    def grouped(self, groups: Labels, key: bytes) -> str:
        """Return a keyed hash of the group of every record, independent of their order."""
        if len(groups) != self.count:
            raise DataError(f"there are {self.count} records but {len(groups)} groups")
        names = {name: hashlib.sha256(str(name).encode()).digest() for name in set(groups.tolist())}
        pairs = sorted(
            self.digests[_DIGEST * place : _DIGEST * (place + 1)] + names[name]
            for place, name in enumerate(groups.tolist())
        )
        return hmac.digest(key, b"ballotine groups\n" + b"".join(pairs), "sha256").hex()


def fingerprint(X: Matrix, y: Labels | None, salt: bytes) -> str:
    """Return a keyed hash of the multiset of records (features and label text).

    The order of the rows does not matter; how often a row occurs does. Without the salt, the
    hash would let anyone test a guess of the data set.

    Args:
        X: features, one row per record.
        y: one label per record (numbers or texts; 3 and '3' are the same), or None.
        salt: the key of the HMAC; the same salt must be used to recognise the data again.
    """
    return records_of(X, y).fingerprint(salt)


def row_keys(X: Matrix) -> list[bytes]:
    """Return the SHA-256 of each row's canonical bytes: equal keys mean the same query."""
    return [hashlib.sha256(row).digest() for row in _canonical_rows(X)]


def records_of(X: Matrix, y: Labels | None) -> Records:
    """Return the records of a feature array and its labels."""
    return _records(X, y, [b""] * len(X))


def records_in(table: pa.Table, targets: Collection[str], labels: Labels) -> Records:
    """Return the records of a table, from its cells as they are in the file.

    A cell that parses as a number is identified by its value, any other by its text, so a table
    of numbers has the same records as the equal array. The order of the columns matters.
    """
    columns = [cells(table[name]) for name in table.column_names if name not in targets]
    X = np.column_stack([values for values, _ in columns])
    if all(texts is None for _, texts in columns):
        return records_of(X, labels)
    # Columns of numbers keep their position, so that text columns do too.
    texts = [pa.scalar("") if texts is None else texts for _, texts in columns]
    lines = pc.binary_join_element_wise(*texts, _SEPARATOR).to_pylist()
    return _records(X, labels, [_suffix(line) for line in lines])


def joined(parts: Iterable[Records]) -> Records:
    """Join the records of several batches of one table."""
    every = list(parts)
    width = max((part.width for part in every), default=0)
    digests = b"".join(part.digests for part in every)
    return Records(sum(part.count for part in every), width, digests)


def _records(X: Matrix, y: Labels | None, suffixes: Sequence[bytes]) -> Records:
    if y is not None and len(y) != len(X):
        raise DataError(f"there are {len(X)} rows of features but {len(y)} labels")
    names, which = _label_bytes(y, len(X))
    digests = b"".join(
        hashlib.sha256(row + names[which[index]] + suffixes[index]).digest()
        for index, row in enumerate(_canonical_rows(X))
    )
    return Records(len(X), int(np.prod(X.shape[1:], dtype=np.int64)), digests)


def _suffix(text: str) -> bytes:
    return f"{_SEPARATOR}{text}".encode() if text.strip(_SEPARATOR) else b""


def _canonical_rows(X: Matrix) -> Iterator[bytes]:
    array = np.asarray(X)
    flat = array.reshape(len(array), int(np.prod(array.shape[1:], dtype=np.int64)))
    width = 8 * flat.shape[1]
    step = max(1, _CHUNK_BYTES // max(width, 1))
    for start in range(0, len(flat), step):
        # Adding zero turns -0.0 into 0.0, and makes the copy that is modified below.
        block = flat[start : start + step].astype("<f8") + 0.0
        block[np.isnan(block)] = np.nan
        raw = np.ascontiguousarray(block, dtype="<f8").tobytes()
        for row in range(len(block)):
            yield raw[row * width : (row + 1) * width]


def _label_bytes(y: Labels | None, rows: int) -> tuple[list[bytes], list[int]]:
    if y is None:
        return [b""], [0] * rows
    values, which = np.unique(np.asarray(y), return_inverse=True)
    return [_label_text(value).encode() for value in values.tolist()], which.ravel().tolist()


def _label_text(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _sorted_digests(digests: bytes) -> bytes:
    words = np.frombuffer(digests, dtype=">u8").reshape(-1, _DIGEST // 8)
    order = np.lexsort(words.T[::-1])
    return bytes(words[order].tobytes())
