"""The state of training, in memory and on disk, so that it can be resumed."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ballotine.errors import RunFolderError
from ballotine.files import produce_atomic
from ballotine.teachers.ttac.network import Buffers, Weights
from ballotine.types import BoolArray

FORMAT = b"ballotine/ttac-state/1\0"
UNREADABLE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile)


@dataclass(frozen=True)
class State:
    """The state of training: private, except for θ and c if they were released.

    Attributes:
        done: how many rounds are finished.
        theta: the averaging model.
        common: c.
        own: c_i, shape (N, d).
        weights: θ_i, shape (N, d).
        buffers: each teacher's batch-norm statistics; None before its first round.
        broken: which teachers' weights were not finite after their last round.
        losses: the averaging model's mean loss on the teachers' records, by round.
    """

    done: int
    theta: Weights
    common: Weights
    own: Weights
    weights: Weights
    buffers: tuple[Buffers | None, ...]
    broken: BoolArray
    losses: tuple[float, ...] = ()

    def __repr__(self) -> str:
        return f"<State after {self.done} rounds of {len(self.weights)} teachers: private>"


class RoundsCheckpoint:
    """A file with the state after the last finished round. Private.

    Args:
        path: the file; only its owner can read it.
        name: identifies the training (settings, secret, teachers); other states are refused.
    """

    def __init__(self, path: Path, name: bytes) -> None:
        self._path = path
        self._name = hashlib.sha256(FORMAT + name).digest()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)

    def load(self) -> State | None:
        """Return the stored state, bit for bit, or None."""
        if not self._path.exists():
            return None
        try:
            with self._path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            if arrays.pop("name").tobytes() != self._name:
                raise RunFolderError(
                    f"{self._path.name} belongs to training with other settings; use another "
                    "folder, or remove the file"
                )
            return _state(arrays)
        except UNREADABLE as problem:
            raise RunFolderError(
                f"{self._path.name} is not the state of a training; remove it to start over"
            ) from problem

    def save(self, state: State) -> None:
        """Replace the stored state."""
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
