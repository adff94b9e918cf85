"""Progress of a training on disk, so that it can resume after its process ended.

The file starts with a digest of everything the training depends on: equal digests mean equal
students.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import time
from functools import partial
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np
import torch
from torch import nn

from ballotine.errors import ParameterError, RunFolderError
from ballotine.files import write_atomic
from ballotine.students.neural.pools import Pools

FORMAT = b"ballotine/student-training/1\n"
DIGEST = hashlib.sha256().digest_size
INTERVAL = 30.0
"""Seconds between two writes; progress in between stays in memory."""
UNREADABLE = (pickle.UnpicklingError, RuntimeError, ValueError, KeyError, EOFError, TypeError)
PLAIN = (str, bytes, bool, int, float, complex, type(None))

Record = dict[str, Any]
"""Numbers, strings and tensors in lists and dicts; reading it runs no code."""


def checked_path(path: Any, random_state: Any) -> Path | None:
    """Check the path of the checkpoint; None if there is none.

    Args:
        path: as given by the user.
        random_state: of the student.
    """
    if path is None:
        return None
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"checkpoint is the path of a file, got {path!r}")
    if random_state is None or random_state is np.random:
        raise ParameterError(
            "a checkpoint needs a seed, because a training without one cannot be repeated; "
            "set random_state to a number"
        )
    return Path(path)


class TrainingCheckpoint:
    """A file with the progress of each stage of a training.

    It begins with the training's digest and a checksum; tensors and numbers follow.

    Args:
        path: the file; only its owner can read it.
        name: the digest of the training; the file of another training is refused.
    """

    def __init__(self, path: Path, name: bytes) -> None:
        self._path, self._name = path, name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stages = self._read() if path.exists() else {}
        except OSError as problem:
            raise RunFolderError(
                f"{path} cannot be used as a checkpoint ({problem.strerror or problem})"
            ) from problem
        self._pending = False
        self._written = time.monotonic()

    def of(self, stage: str) -> Record | None:
        """Return the saved progress of a stage; None before its first epoch."""
        return self._stages.get(stage)

    def keep(self, stage: str, record: Record) -> None:
        """Save the progress of a stage; write it to disk if the last write is long enough ago."""
        self._stages = {**self._stages, stage: record}
        self._pending = True
        if time.monotonic() - self._written >= INTERVAL:
            self.flush()

    def flush(self) -> None:
        """Write what has not been written yet."""
        if not self._pending:
            return
        buffer = io.BytesIO()
        torch.save(self._stages, buffer)
        content = buffer.getvalue()
        head = FORMAT + self._name + hashlib.sha256(content).digest()
        write_atomic(self._path, head + content, private=True)
        self._pending = False
        self._written = time.monotonic()

    def remove(self) -> None:
        """Delete the file: the training is over."""
        self._pending = False
        self._path.unlink(missing_ok=True)

    def _read(self) -> dict[str, Record]:
        data = self._path.read_bytes()
        start = len(FORMAT)
        name, checksum = (data[at : at + DIGEST] for at in (start, start + DIGEST))
        content = data[start + 2 * DIGEST :]
        if not data.startswith(FORMAT) or hashlib.sha256(content).digest() != checksum:
            raise self._damaged()
        if name != self._name:
            raise RunFolderError(
                f"{self._path} belongs to another training: another kind of student, other "
                "parameters, another seed or other rows; give another path as checkpoint, or "
                "remove the file to start over"
            )
        try:
            stages: dict[str, Record] = torch.load(
                io.BytesIO(content), map_location="cpu", weights_only=True
            )
        except UNREADABLE as problem:
            raise self._damaged() from problem
        return stages

    def _damaged(self) -> RunFolderError:
        return RunFolderError(
            f"{self._path} is not a student's checkpoint, or it is damaged; remove it to start "
            "over, or give another path"
        )


def training_name(
    kind: type, parameters: dict[str, Any], seed: int, pools: Pools, net: nn.Module
) -> bytes:
    """Return the digest of a training.

    Args:
        kind: the class of the student.
        parameters: those that affect what is learnt.
        seed: determines all random numbers.
        pools: the rows and answers.
        net: one of its networks, because the name of a factory does not identify its result.
    """
    found = hashlib.sha256()
    weights = [(name, tuple(value.shape)) for name, value in net.state_dict().items()]
    for part in (kind, parameters, seed, vars(pools), str(net), weights):
        found.update(described(part).encode())
    return found.digest()


def described(value: Any) -> str:
    """Return a text that is equal for equal values in every process, and differs for others.

    Functions and classes are identified by name: a change to their code is not detected.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, PLAIN):
        text = repr(value)
    elif isinstance(value, torch.Tensor | np.ndarray):
        text = _array(value)
    elif isinstance(value, dict):
        text = ",".join(sorted(f"{described(k)}:{described(v)}" for k, v in value.items()))
    elif isinstance(value, list | tuple):
        text = ",".join(described(part) for part in value)
    elif isinstance(value, set | frozenset):
        text = ",".join(sorted(described(part) for part in value))
    elif isinstance(value, type | FunctionType | BuiltinFunctionType):
        text = f"{value.__module__}.{value.__qualname__}"
    elif isinstance(value, MethodType):
        text = described((value.__func__, value.__self__))
    elif isinstance(value, partial):
        text = described((value.func, value.args, value.keywords))
    elif isinstance(value, nn.Module):
        text = described((str(value), dict(value.state_dict())))
    else:
        text = described(getattr(value, "__dict__", {}))
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}({len(text)}:{text})"


def _array(value: torch.Tensor | np.ndarray[Any, Any]) -> str:
    array = value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else value
    if array.dtype.hasobject:
        return f"{array.shape} {described(array.tolist())}"
    content = hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()
    return f"{array.shape} {array.dtype.str} {content}"
