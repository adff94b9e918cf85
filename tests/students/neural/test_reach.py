"""No student can reach private data or tallies: by types, not by promises."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys
import typing
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import ballotine.students
from ballotine.privacy.private import Locked, Sealed
from ballotine.students import SpreadingClassifier, fit_label_students, fit_student
from ballotine.students.neural import NeuralStudent, Supervised
from ballotine.voting import Tallies
from tests.private.walk import walk
from tests.students.neural.digits import METHODS, digits, student

DATA = digits()


def modules() -> Iterator[ModuleType]:
    yield ballotine.students
    for found in pkgutil.walk_packages(ballotine.students.__path__, "ballotine.students."):
        yield importlib.import_module(found.name)


def private_rooms() -> tuple[str, ...]:
    return ("ballotine.privacy", "ballotine.voting", "ballotine.teachers", "ballotine.data")


def test_no_module_of_students_knows_a_room_where_private_things_are() -> None:
    seen = list(modules())
    assert len(seen) > 20
    for module in seen:
        for name, value in vars(module).items():
            home = (
                value.__name__
                if isinstance(value, ModuleType)
                else getattr(value, "__module__", "")
            )
            assert not str(home).startswith(private_rooms()), (module.__name__, name)


def test_importing_students_does_not_even_load_these_rooms() -> None:
    program = (
        "import sys, ballotine.students.neural\n"
        f"print([name for name in sys.modules if name.startswith({private_rooms()!r})])"
    )
    # The package's own front page imports everything: students are loaded without it.
    stub = (
        "import sys, types, pathlib\n"
        "package = types.ModuleType('ballotine')\n"
        f"package.__path__ = [{str(next(iter(importlib.import_module('ballotine').__path__)))!r}]\n"
        "sys.modules['ballotine'] = package\n"
    )
    found = subprocess.run([sys.executable, "-c", stub + program], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("kind", [*METHODS, SpreadingClassifier])
def test_fit_takes_arrays_of_public_rows_and_answers(kind: type[Any]) -> None:
    parameters = inspect.signature(kind.fit).parameters
    assert set(parameters) <= {"self", "X", "y", "X_unlabelled"}
    hints = typing.get_type_hints(kind.fit)
    for name in set(parameters) - {"self"}:
        kinds = typing.get_args(hints[name]) or (hints[name],)
        assert not any(isinstance(part, type) and issubclass(part, Locked) for part in kinds)


@pytest.mark.parametrize("kind", METHODS)
def test_tallies_are_refused_wherever_they_are_put(kind: type[NeuralStudent]) -> None:
    tallies = Tallies(np.random.default_rng(0).integers(1, 9, (len(DATA.X), 10)).astype(float))
    model = student(kind, epochs=1)
    for arguments in ((tallies, DATA.answers), (DATA.X, tallies), (DATA.X, DATA.answers, tallies)):
        with pytest.raises((TypeError, ValueError)):
            model.fit(*arguments)


@pytest.mark.parametrize("kind", METHODS)
def test_nothing_private_is_reachable_from_a_fitted_student(kind: type[NeuralStudent]) -> None:
    model = student(kind, epochs=1).fit(DATA.X, DATA.answers, DATA.others[:60])
    reached = 0
    for where, thing in walk(model, kind.__name__):
        reached += 1
        assert not isinstance(thing, Locked | Sealed), where
        assert not type(thing).__module__.startswith(private_rooms()), where
    assert reached > 50


def test_the_roads_to_students_take_arrays_only() -> None:
    tallies = Tallies(np.ones((len(DATA.X), 10)))
    for fit in (fit_student, fit_label_students):
        assert list(inspect.signature(fit).parameters) == ["estimator", "X", "labels", "seed"]
        with pytest.raises((TypeError, ValueError, AttributeError)):
            fit(Supervised(), DATA.X, tallies)
