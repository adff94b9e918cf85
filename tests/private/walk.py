"""Everything that can be reached from an object, or unpacked from a file, and the way there."""

from __future__ import annotations

import functools
import inspect
import io
import sqlite3
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Found = Iterator[tuple[str, Any]]

_ATOMS = (str, bytes, bytearray, memoryview, int, float, np.generic, Path)
_OPAQUE = (type, ModuleType, CodeType, FrameType, np.dtype)
_WITH_EFFECT = {"close", "execute", "fit", "set_params"}
_CALLS = 2


def walk(root: Any, name: str = "it") -> Found:
    """Attributes (slots, too), containers, closures, properties, results of public methods.

    Methods are called if they are ours and need no argument.
    """
    seen: dict[int, Any] = {}
    stack = [(name, root)]
    while stack:
        where, thing = stack.pop()
        # A method that returns another of its kind must not lead away for ever.
        if id(thing) in seen or isinstance(thing, _OPAQUE) or where.count("()") > _CALLS:
            continue
        seen[id(thing)] = thing  # kept alive, so that no other object gets its id
        yield where, thing
        if not isinstance(thing, _ATOMS):
            stack.extend(_inside(where, thing))


def unpacked(path: Path) -> Found:
    """What packed files hold: archives, Parquet, SQLite."""
    start = path.read_bytes()[:16]
    if start.startswith(b"PK"):
        with zipfile.ZipFile(path) as archive:
            members = {f"{path.name}/{name}": archive.read(name) for name in archive.namelist()}
        yield from members.items()
        for name, member in members.items():
            if member.startswith(b"\x93NUMPY"):
                yield name, np.load(io.BytesIO(member), allow_pickle=False)
    elif start.startswith(b"PAR1"):
        yield path.name, pq.read_table(path)
    elif start.startswith(b"SQLite format 3"):
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        yield path.name, connection
        connection.close()


def _inside(where: str, thing: Any) -> Found:
    for kind, look in _KINDS.items():
        if isinstance(thing, kind):
            return look(where, thing)
    return _attributes(where, thing)


def _of_mapping(where: str, thing: Mapping[Any, Any]) -> Found:
    for key, value in list(thing.items()):
        yield f"{where}[{key!r}]", value
        yield f"{where} key", key


def _of_collection(where: str, thing: Any) -> Found:
    yield from ((f"{where}[{place}]", part) for place, part in enumerate(thing))


def _of_array(where: str, thing: np.ndarray) -> Found:
    if isinstance(thing, np.ma.MaskedArray):
        yield f"{where}.data", np.asarray(thing.data)
    elif thing.dtype.kind == "O":
        yield from _of_collection(where, thing.ravel().tolist())


def _of_table(where: str, thing: pa.Table) -> Found:
    yield from ((f"{where}.{name}", thing[name].to_numpy()) for name in thing.column_names)


def _of_database(where: str, thing: sqlite3.Connection) -> Found:
    tables = thing.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    for (table,) in tables:
        rows = thing.execute(f"SELECT * FROM {table}").fetchall()
        yield from _of_collection(f"{where}.{table}", rows)
        yield from _of_collection(f"{where}.{table} column ", zip(*rows, strict=True))


def _of_function(where: str, thing: FunctionType) -> Found:
    yield from ((f"{where} closure", cell.cell_contents) for cell in thing.__closure__ or ())


def _of_method(where: str, thing: MethodType) -> Found:
    yield f"{where}.__self__", thing.__self__


def _of_exception(where: str, problem: BaseException) -> Found:
    """What a traceback prints, and what a handler may look at."""
    yield f"{where} message", str(problem)
    yield f"{where} args", problem.args
    yield f"{where} notes", getattr(problem, "__notes__", [])
    yield f"{where} attributes", vars(problem)
    yield f"{where} cause", problem.__cause__
    if not problem.__suppress_context__:
        yield f"{where} context", problem.__context__


_KINDS: dict[Any, Callable[[str, Any], Found]] = {
    Mapping: _of_mapping,
    (list, tuple, set, frozenset): _of_collection,
    np.ndarray: _of_array,
    pa.Table: _of_table,
    sqlite3.Connection: _of_database,
    FunctionType: _of_function,
    MethodType: _of_method,
    BaseException: _of_exception,
}


def _attributes(where: str, thing: Any) -> Found:
    names = set(getattr(thing, "__dict__", ()))
    for kind in type(thing).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        names |= {slots} if isinstance(slots, str) else set(slots)
    if isinstance(thing, functools.partial):
        names |= {"func", "args", "keywords"}
    for name in sorted(names - {"__dict__", "__weakref__"}):
        if hasattr(thing, name):  # a slot may never have been filled
            yield f"{where}.{name}", getattr(thing, name)
    yield from _offered(where, thing)


def _offered(where: str, thing: Any) -> Found:
    """Public properties, and results of public methods of ours that need no argument."""
    for name in dir(type(thing)):
        offered = inspect.getattr_static(type(thing), name)
        method = isinstance(offered, FunctionType) and _is_ours(offered)
        if name.startswith("_") or name in _WITH_EFFECT:
            continue
        if method or isinstance(offered, property | functools.cached_property):
            try:
                value = getattr(thing, name)
                value = value() if method else value
            except Exception as problem:  # what a refusal says is looked at, too
                value = problem
            value = list(value) if inspect.isgenerator(value) else value
            yield f"{where}.{name}{'()' if method else ''}", value


def _is_ours(function: FunctionType) -> bool:
    """Whether a method is our own and can be called without an argument."""
    if function.__module__.partition(".")[0] not in ("ballotine", "tests"):
        return False
    _, *others = inspect.signature(function).parameters.values()
    return all(
        p.default is not p.empty or p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in others
    )
