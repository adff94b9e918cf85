"""One cache on disk for everything that tables share: teachers' votes and students' trainings.

A file's name is a hash of everything its content depends on, so that it never has to be
invalidated. A file that does not hold what its name promises is computed again.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt

from ballotine.files import produce_atomic, write_atomic

Array: TypeAlias = npt.NDArray[Any]
ArrayKind: TypeAlias = tuple[npt.DTypeLike, tuple[int | None, ...]]
"""The type and shape of an array; None where any length will do."""

FORMAT = "ballotine-reproduction/1"


def digest(*facts: object) -> bytes:
    """A hash that differs whenever one of the facts does.

    Args:
        facts: arrays, bytes, and values that JSON can represent.
    """
    found = hashlib.sha256()
    for fact in facts:
        if isinstance(fact, np.ndarray):
            head, body = f"array {fact.dtype.str} {fact.shape}", fact.tobytes()
        elif isinstance(fact, bytes):
            head, body = f"bytes {len(fact)}", fact
        else:
            body = json.dumps(fact, sort_keys=True).encode()
            head = f"json {len(body)}"
        found.update(head.encode() + b"\0" + body)
    return found.digest()


def cache_path(folder: Path | None, kind: str, suffix: str, *facts: object) -> Path | None:
    """The file of a result that follows from these facts; None without a cache."""
    if folder is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{kind}-{digest(FORMAT, kind, *facts).hex()[:40]}{suffix}"


def cached_arrays(
    path: Path | None,
    kinds: Mapping[str, ArrayKind],
    compute: Callable[[], Mapping[str, Array]],
) -> dict[str, Array]:
    """The arrays of a file, computed and stored if it does not hold them yet.

    Args:
        path: from `cache_path`.
        kinds: the arrays' types and shapes, by name.
        compute: makes the arrays; they are converted to these types.
    """
    found = None if path is None else _read_arrays(path, kinds)
    if found is None:
        computed = compute()
        found = {name: np.asarray(computed[name], dtype) for name, (dtype, _) in kinds.items()}
        if path is not None:
            produce_atomic(path, partial(_write_arrays, arrays=found), private=True)
    return found


def read_json(path: Path | None) -> Any:
    """The value of a JSON file; None if there is none that can be read."""
    if path is None or not path.is_file():
        return None
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None


def write_json(path: Path | None, value: object) -> None:
    """Store a value as JSON, if there is a cache."""
    if path is not None:
        write_atomic(path, json.dumps(value), private=True)


def _write_arrays(stream: BinaryIO, arrays: Mapping[str, Any]) -> None:
    np.savez_compressed(stream, **arrays)


def _read_arrays(path: Path, kinds: Mapping[str, ArrayKind]) -> dict[str, Array] | None:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            found = {name: archive[name] for name in kinds}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    return found if all(_fits(found[name], kind) for name, kind in kinds.items()) else None


def _fits(array: Array, kind: ArrayKind) -> bool:
    dtype, shape = kind
    return (
        array.dtype == np.dtype(dtype)
        and array.ndim == len(shape)
        and all(want in (None, have) for want, have in zip(shape, array.shape, strict=True))
    )
