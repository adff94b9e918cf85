"""A training on disk, so that an interrupted one goes on where it was."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from ballotine.errors import RunFolderError
from ballotine.files import produce_atomic
from ballotine.teachers.ttac.local import Buffers
from ballotine.teachers.ttac.rounds import State

FORMAT = b"ballotine/ttac-state/1\0"
UNREADABLE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile)


class RoundsCheckpoint:
    """One file that holds the state after the last finished round. Private.

    Args:
        path: the file; only its owner can read it.
        name: names the training (settings, secret, teachers); a state of another is refused.
        every: keep the state after every so many rounds, and after the last.
    """

    def __init__(self, path: Path, name: bytes, every: int = 1) -> None:
        self._path = path
        self._label = name
        self._name = hashlib.sha256(FORMAT + name).digest()
        self._every = every
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)

    def narrowed(self, detail: bytes) -> RoundsCheckpoint:
        """The same file, for a training whose name has this detail too."""
        name = len(self._label).to_bytes(4, "big") + self._label + detail
        return RoundsCheckpoint(self._path, name, self._every)

    def load(self) -> State | None:
        """The state that was kept, bit for bit; None before the first."""
        if not self._path.exists():
            return None
        try:
            with self._path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            if arrays.pop("name").tobytes() != self._name:
                raise RunFolderError(
                    f"{self._path.name} was kept by a training with other settings; use another "
                    "folder, or remove it"
                )
            return _state(arrays)
        except UNREADABLE as problem:
            raise RunFolderError(
                f"{self._path.name} is no state of a training; remove it to start again"
            ) from problem

    def save(self, state: State, rounds: int) -> None:
        """Keep a state, if it is its turn."""
        if state.done % self._every and state.done < rounds:
            return
        arrays = {**_arrays(state), "name": np.frombuffer(self._name, dtype=np.uint8)}
        produce_atomic(self._path, lambda stream: np.savez(stream, **arrays), private=True)


def _arrays(state: State) -> dict[str, Any]:
    arrays: dict[str, Any] = {
        "done": np.array(state.done),
        "theta": state.theta,
        "common": state.common,
        "own": state.own,
        "weights": state.weights,
        "broken": state.broken,
        "losses": np.array(state.losses, dtype=np.float64),
        "started": np.array([buffers is not None for buffers in state.buffers]),
    }
    for place, buffers in enumerate(state.buffers):
        for name, value in (buffers or {}).items():
            arrays[f"buffer/{place}/{name}"] = value
    return arrays


def _state(arrays: dict[str, Any]) -> State:
    kept: list[Buffers | None] = [{} if begun else None for begun in arrays["started"]]
    for key, value in arrays.items():
        if key.startswith("buffer/"):
            _, place, name = key.split("/", 2)
            own = kept[int(place)]
            if own is None:
                raise ValueError("buffers of a teacher that has not begun")
            own[name] = value
    return State(
        int(arrays["done"]),
        arrays["theta"],
        arrays["common"],
        arrays["own"],
        arrays["weights"],
        tuple(kept),
        arrays["broken"],
        tuple(float(loss) for loss in arrays["losses"]),
    )
