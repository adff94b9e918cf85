"""Saved votes: the same rows from every kind of file, in chunks, and clear errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ballotine.data import ballots as room
from ballotine.data.ballots import open_votes
from ballotine.errors import DataError

VOTES = np.random.default_rng(0).integers(0, 5, size=(57, 8))


def save(path: Path) -> Path:
    if path.suffix == ".npy":
        np.save(path, VOTES)
    elif path.suffix == ".npz":
        np.savez(path, ballots=VOTES, labels=np.zeros(57))
    else:
        columns = {f"t{i}": VOTES[:, i] for i in range(8)}
        pq.write_table(pa.table(columns), path, row_group_size=10)
    return path


@pytest.mark.parametrize("name", ["v.npy", "v.npz", "v.parquet"])
@pytest.mark.parametrize("cells", [8, 50, 10_000])
def test_chunks_are_the_file(
    tmp_path: Path, name: str, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "CHUNK_CELLS", cells)
    file = open_votes(save(tmp_path / name))
    assert (file.queries, file.columns) == (57, 8)
    assert np.array_equal(np.vstack(list(file.chunks())), VOTES)
    assert np.array_equal(np.vstack(list(file.chunks(23))), VOTES[:23])
    assert max(len(chunk) for chunk in file.chunks()) <= max(1, cells // 8)


def test_a_mapped_file_is_not_loaded_whole(tmp_path: Path) -> None:
    path = tmp_path / "v.npy"
    np.save(path, VOTES)
    assert isinstance(room._array(path), np.memmap)


def write(path: Path, array: np.ndarray) -> Path:
    np.save(path, array)
    return path


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no file"):
        open_votes(tmp_path / "missing.npy")
    for name in ("text.npy", "text.npz", "text.parquet", "text.csv"):
        (tmp_path / name).write_text("not what it says")
        with pytest.raises(DataError):
            open_votes(tmp_path / name)
    np.savez(tmp_path / "two.npz", a=VOTES, b=VOTES)
    with pytest.raises(DataError, match="holds 2 arrays"):
        open_votes(tmp_path / "two.npz")
    for array in (np.zeros(3), np.zeros((0, 3)), np.zeros((2, 2, 2, 2))):
        with pytest.raises(DataError, match="shape"):
            open_votes(write(tmp_path / "shape.npy", array))
    for array, word in ((-VOTES - 1, "negative"), (np.full((2, 2), np.nan), "finite")):
        with pytest.raises(DataError, match=word):
            list(open_votes(write(tmp_path / "cells.npy", array)).chunks())
