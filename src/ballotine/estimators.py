"""Classifiers and transformers by short name, and the types their model files may contain."""

from __future__ import annotations

from typing import Any

from ballotine import shipped
from ballotine.errors import ParameterError
from ballotine.registry import Registry


def _class(name: str, found: Any) -> type[Any]:
    if not isinstance(found, type):
        raise ParameterError(f"{name!r} must name an estimator class")
    return found


STUDENTS: Registry[type[Any]] = Registry(
    "classifier", "ballotine.students", shipped.STUDENTS, _class
)
"""Names of teachers and students in run files."""
TRANSFORMERS: Registry[type[Any]] = Registry(
    "transformer", "ballotine.transformers", shipped.TRANSFORMERS, _class
)
"""Names of feature transformers in run files."""


def register_student(name: str, kind: type[Any]) -> None:
    """Give a classifier a short name, and trust its type in model files.

    If a fitted one holds further types, its class lists their full names in a tuple,
    ``trusted_types``. Other packages register through an entry point ``name = "module:Class"``
    in the group ``ballotine.students``.
    """
    STUDENTS.register(name, kind)


def register_transformer(name: str, kind: type[Any]) -> None:
    """Do the same for a transformer; the entry-point group is ``ballotine.transformers``."""
    TRANSFORMERS.register(name, kind)


def shipped_types() -> frozenset[str]:
    """Return the full names of Ballotine's own classes that have a short name."""
    origins = (*STUDENTS.shipped.values(), *TRANSFORMERS.shipped.values())
    return frozenset(
        each.path.replace(":", ".") for each in origins if each.path.startswith("ballotine.")
    )


def added_types() -> frozenset[str]:
    """Return the full names of registered classes, and of the types they trust.

    Registering a class, or installing a package that does, means trusting its code to run; no
    other type of that package is trusted.
    """
    found = set()
    for registry in (STUDENTS, TRANSFORMERS):
        for kind in registry.usable(shipped=False).values():
            found |= {f"{kind.__module__}.{kind.__qualname__}", *getattr(kind, "trusted_types", ())}
    return frozenset(found)
