"""What a training depends on, as one digest: the same digest, the same student."""

from __future__ import annotations

import hashlib
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np
import torch
from torch import nn

from ballotine.students.neural.pools import Pools

PLAIN = (str, bytes, bool, int, float, complex, type(None))


def training_name(
    kind: type, parameters: dict[str, Any], seed: int, pools: Pools, net: nn.Module
) -> bytes:
    """The digest of a training.

    Args:
        kind: of student.
        parameters: those that change what is learnt.
        seed: where all random numbers come from.
        pools: the rows and answers.
        net: one of its networks: a factory's name does not say what it makes.
    """
    found = hashlib.sha256()
    weights = [(name, tuple(value.shape)) for name, value in net.state_dict().items()]
    for part in (kind, parameters, seed, vars(pools), str(net), weights):
        found.update(described(part).encode())
    return found.digest()


def described(value: Any) -> str:
    """A text that is the same in every process, and another for another value.

    Functions and classes go by their names: a change within one is not noticed.
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
