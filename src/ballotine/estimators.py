"""Classifiers and transformers by short name, and the types that their files may hold."""

from __future__ import annotations

from typing import Any

from ballotine import shipped
from ballotine.errors import ParameterError
from ballotine.registry import Origin, Registry


def _class(name: str, found: Any) -> type[Any]:
    if not isinstance(found, type):
        raise ParameterError(f"{name!r} must name a class of estimators")
    return found


STUDENTS: Registry[type[Any]] = Registry(
    "classifier", "ballotine.students", shipped.STUDENTS, _class
)
"""What run files may call a teacher or a student."""
TRANSFORMERS: Registry[type[Any]] = Registry(
    "transformer", "ballotine.transformers", shipped.TRANSFORMERS, _class
)
"""What run files may call a transformer of features."""


def register_student(name: str, kind: type[Any]) -> None:
    """Give a classifier a short name, and trust its type in model files.

    Further types that a fitted one holds are named by its class, in ``trusted_types``: a tuple
    of full names. Another package does the same by an entry point ``name = "module:Class"`` of
    the group ``ballotine.students``.
    """
    STUDENTS.register(name, kind)


def register_transformer(name: str, kind: type[Any]) -> None:
    """The same for a transformer; the group of entry points is ``ballotine.transformers``."""
    TRANSFORMERS.register(name, kind)


def shipped_types() -> frozenset[str]:
    """Full names of the classes that ship with Ballotine and have a short name."""
    origins = (*STUDENTS.shipped.values(), *TRANSFORMERS.shipped.values())
    return frozenset(
        _full_name(origin) for origin in origins if origin.path.startswith("ballotine.")
    )


def added_types() -> frozenset[str]:
    """Full names of the classes that were registered, and of the types they trust.

    Whoever registers a class, or installs a package that does, trusts it to run as code; no
    other type of that package is trusted.
    """
    found = set()
    for registry in (STUDENTS, TRANSFORMERS):
        for kind in registry.usable(shipped=False).values():
            found |= {f"{kind.__module__}.{kind.__qualname__}", *getattr(kind, "trusted_types", ())}
    return frozenset(found)


def _full_name(origin: Origin) -> str:
    return origin.path.replace(":", ".")
