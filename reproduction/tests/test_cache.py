"""The cache: names that follow from everything, and files that do not hold what they should."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ballotine_reproduction.cache import (
    ArrayKind,
    cache_path,
    cached_arrays,
    digest,
    read_json,
    write_json,
)

KINDS: dict[str, ArrayKind] = {"votes": (np.uint8, (2, None))}


def counted(calls: list[int]) -> dict[str, np.ndarray]:
    calls.append(1)
    return {"votes": np.array([[1, 2, 3], [4, 5, 6]])}


def test_every_fact_changes_the_digest() -> None:
    array = np.arange(6)
    others = [
        (array.reshape(2, 3), 1),
        (array.astype(np.int32), 1),
        (np.array([0, 1, 2, 3, 5, 4]), 1),
        (array, 2),
        (array, "1"),
        (array, b"1"),
        (array,),
        (1, array),
        (array, 1, None),
    ]
    digests = {digest(*facts) for facts in [(array, 1), *others]}
    assert len(digests) == len(others) + 1
    assert digest(array[::2], {"a": 1, "b": 2}) == digest(array[::2].copy(), {"b": 2, "a": 1})


def test_a_result_is_computed_once(tmp_path: Path) -> None:
    path = cache_path(tmp_path / "cache", "votes", ".npz", "facts")
    assert path is not None
    assert path != cache_path(tmp_path / "cache", "other", ".npz", "facts")
    calls: list[int] = []
    first = cached_arrays(path, KINDS, lambda: counted(calls))
    second = cached_arrays(path, KINDS, lambda: counted(calls))
    assert len(calls) == 1
    assert first["votes"].dtype == second["votes"].dtype == np.uint8
    np.testing.assert_array_equal(first["votes"], second["votes"])
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "arrays",
    [
        None,
        {"other": np.zeros((2, 3), dtype=np.uint8)},
        {"votes": np.zeros((3, 3), dtype=np.uint8)},
        {"votes": np.zeros(2, dtype=np.uint8)},
        {"votes": np.zeros((2, 3))},
        {"votes": np.array([[object()] * 3] * 2)},
    ],
)
def test_a_file_that_does_not_hold_the_arrays_is_replaced(
    tmp_path: Path, arrays: dict[str, np.ndarray] | None
) -> None:
    path = tmp_path / "votes.npz"
    if arrays is None:
        path.write_bytes(b"damaged")
    else:
        np.savez(path, allow_pickle=True, **arrays)
    calls: list[int] = []
    for _ in range(2):
        assert cached_arrays(path, KINDS, lambda: counted(calls))["votes"][1, 2] == 6
    assert len(calls) == 1


def test_without_a_folder_nothing_is_stored() -> None:
    assert cache_path(None, "votes", ".npz", 1) is None
    calls: list[int] = []
    cached_arrays(None, KINDS, lambda: counted(calls))
    cached_arrays(None, KINDS, lambda: counted(calls))
    assert len(calls) == 2
    write_json(None, 1)
    assert read_json(None) is None


def test_json_that_cannot_be_read_counts_as_absent(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    assert read_json(path) is None
    write_json(path, {"accuracy": 0.1 + 0.2})
    assert read_json(path) == {"accuracy": 0.1 + 0.2}
    path.write_text("{")
    assert read_json(path) is None
