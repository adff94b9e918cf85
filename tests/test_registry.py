"""Registries: what ships, what is registered, and what other packages bring along."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import field, make_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.linear_model import LogisticRegression

import ballotine
from ballotine import estimators, shipped
from ballotine.errors import ParameterError, RunFileError, RunFolderError
from ballotine.estimators import STUDENTS, TRANSFORMERS, register_student, register_transformer
from ballotine.models import PARTS, TRUSTED, load_model, save_model
from ballotine.pipeline import RunFile, embedded_runfile
from ballotine.pipeline.estimators import make_estimator, make_transformer
from ballotine.pipeline.features import ROW_BY_ROW, feature_assumptions
from ballotine.pipeline.sections import FeaturesSection
from ballotine.registry import Registry
from ballotine.voting import MECHANISMS, GNMax, LNMax, make_mechanism, register
from ballotine.voting.parameters import declared, parameter, shared
from tests.conftest import Command

Install = Callable[[str, str], None]


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    for registry in (MECHANISMS, STUDENTS, TRANSFORMERS):
        monkeypatch.setattr(registry, "_registered", {})
        monkeypatch.setattr(registry, "_loaded", {})
        monkeypatch.delitem(registry.__dict__, "installed", raising=False)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Make a package with these entry points and this module findable, as pip would."""

    def call(points: str, module: str) -> None:
        folder = tmp_path / "site"
        info = folder / "acme_votes-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-votes\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(points)
        (folder / "acme_votes.py").write_text(module)
        monkeypatch.syspath_prepend(folder)
        monkeypatch.delitem(sys.modules, "acme_votes", raising=False)

    return call


class Loud(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that holds something of its own."""

    trusted_types = (f"{__name__}.Voice",)

    def fit(self, X: object, y: object) -> Loud:
        self.voice_ = Voice()
        return self


class Voice:
    def __init__(self) -> None:
        self.volume = 11


class Halved(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    def transform(self, X: np.ndarray) -> np.ndarray:
        return X / 2


# What ships


def test_names_that_ship_are_those_of_their_classes() -> None:
    for name, path in shipped.MECHANISMS.items():
        assert MECHANISMS[name].name == name
        assert f"{MECHANISMS[name].__module__}:{MECHANISMS[name].__qualname__}" == path
    assert list(MECHANISMS) == list(shipped.MECHANISMS)
    assert len(MECHANISMS) == len(shipped.MECHANISMS)
    for origin in (*STUDENTS.shipped.values(), *TRANSFORMERS.shipped.values()):
        if origin.path.startswith("ballotine."):
            module, name = origin.path.split(":")
            source = (
                Path(ballotine.__file__).parents[1].joinpath(*module.split(".")).with_suffix(".py")
            )
            # A file names a type by where it is defined. Read, not imported: some need torch.
            assert f"\nclass {name}(" in source.read_text(encoding="utf-8")


def test_every_mechanism_that_ships_is_public() -> None:
    for kind in MECHANISMS.values():
        assert getattr(ballotine, kind.__name__) is kind
        assert kind.__name__ in ballotine.__all__


def test_every_estimator_of_ours_is_trusted() -> None:
    assert "ballotine.students.spreading.SpreadingClassifier" in TRUSTED - PARTS
    assert "ballotine.features.patches.PatchFeatures" in TRUSTED - PARTS
    assert not any(name.startswith("sklearn.") for name in TRUSTED - PARTS)


def test_parameters_that_mechanisms_share_are_one_option() -> None:
    found = shared(MECHANISMS.usable())
    assert list(found) == [
        *("sigma", "threshold", "sigma_threshold", "gamma", "variant", "tau", "norm"),
    ]
    assert found["tau"].type is float
    assert found["tau"].help == (
        "Largest norm of a ballot (clipped); most labels that a set may name (powerset)."
    )
    assert found["threshold"].above is None
    assert declared(GNMax)["sigma"].option == "--sigma"


# What is registered


def test_a_name_cannot_be_taken_twice() -> None:
    with pytest.raises(ParameterError, match="there is already a mechanism called 'gnmax'"):
        register(GNMax)
    register_student("loud", Loud)
    register_student("loud", Loud)
    with pytest.raises(ParameterError, match="there is already a classifier called 'loud'"):
        register_student("loud", LogisticRegression)


@pytest.mark.parametrize("thing", [3, LogisticRegression, "gnmax"])
def test_only_mechanisms_are_registered_as_such(thing: object) -> None:
    with pytest.raises(ParameterError, match="must be a subclass of Mechanism"):
        MECHANISMS.register("x", thing)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="is not named 'x'"):
        MECHANISMS.register("x", GNMax)


def test_a_registered_student_has_a_short_name_and_is_trusted(tmp_path: Path) -> None:
    path = tmp_path / "loud.skops"
    save_model(path, Loud().fit([[1.0]], [0]))
    with pytest.raises(RunFolderError, match="types that are not trusted"):
        load_model(path)
    register_student("loud", Loud)
    assert isinstance(make_estimator("loud", {}, "student"), Loud)
    assert load_model(path).voice_.volume == 11


def test_a_registered_transformer_has_a_short_name(tmp_path: Path) -> None:
    register_transformer("halved", Halved)
    assert isinstance(make_transformer("halved", {}, "features"), Halved)
    assert feature_assumptions(FeaturesSection(kind="halved")) == (ROW_BY_ROW,), (
        "it is not one of ours"
    )
    assert feature_assumptions(FeaturesSection(kind="patches")) == ()
    save_model(tmp_path / "halved.skops", Halved())
    assert isinstance(load_model(tmp_path / "halved.skops"), Halved)


def test_a_class_is_what_is_registered() -> None:
    with pytest.raises(ParameterError, match="must name an estimator class"):
        register_student("loud", Loud())  # type: ignore[arg-type]


# What other packages bring along

MODULE = """
from dataclasses import dataclass
from typing import ClassVar
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from ballotine.voting import GNMax

@dataclass(frozen=True)
class Acme(GNMax):
    name: ClassVar[str] = "acme"

class Student(LogisticRegression):
    pass

class Scaler(StandardScaler):
    pass
"""
POINTS = """
[ballotine.mechanisms]
acme = acme_votes:Acme
gnmax = acme_votes:Acme
misnamed = acme_votes:Acme
broken = acme_votes:Missing
gone = no_such_module:Thing
[ballotine.students]
acme-student = acme_votes:Student
acme-broken = acme_votes:Missing
[ballotine.transformers]
acme-scaler = acme_votes:Scaler
"""


def test_other_packages_register_by_entry_points(install: Install, tmp_path: Path) -> None:
    install(POINTS, MODULE)
    assert make_mechanism("acme", {"sigma": 2.0}).name == "acme"
    assert MECHANISMS["gnmax"] is GNMax, "what ships cannot be replaced"
    student = make_estimator("acme-student", {"C": 2.0}, "student")
    assert type(student).__module__ == "acme_votes"
    assert type(make_transformer("acme-scaler", {}, "features")).__name__ == "Scaler"
    path = tmp_path / "student.skops"
    save_model(path, student.fit([[0.0], [1.0]], [0, 1]))
    assert load_model(path).predict([[1.0]]) == [1]
    assert "acme_votes.Student" in estimators.added_types()


def test_a_broken_package_is_named_and_breaks_nothing_else(
    install: Install, ballotine: Command
) -> None:
    install(POINTS, MODULE)
    usable = MECHANISMS.usable()
    assert set(usable) == {*shipped.MECHANISMS, "acme"}
    for name, problem in (
        ("broken", "AttributeError"),
        ("gone", "No module named 'no_such_module'"),
        ("misnamed", "is not named 'misnamed'"),
    ):
        with pytest.raises(
            ParameterError, match=f"'{name}' of the package 'acme-votes'.*{problem}"
        ):
            make_mechanism(name, {})
    with pytest.raises(RunFileError, match=r"\[student\] kind: .*package 'acme-votes' cannot be"):
        make_estimator("acme-broken", {}, "student")
    text = embedded_runfile("template").replace('"confident-gnmax"\n', '"broken"\nvolume = 3\n', 1)
    with pytest.raises(RunFileError, match=r"\[voting\] the mechanism 'broken' of the package"):
        RunFile.parse(text, "run.toml")
    assert "acme_votes.Student" in estimators.added_types()
    plan = ("plan", "--queries", "10", "--epsilon", "3", "--delta", "1e-5")
    assert ballotine(*plan, "-m", "acme").returncode == 0
    done = ballotine(*plan, "-m", "broken")
    assert done.returncode == 2
    assert "of the package 'acme-votes' cannot be loaded" in done.stderr
    assert ballotine(*plan, "-m", "gnmax").returncode == 0


def test_what_ships_fails_as_it_is() -> None:
    registry = Registry(
        "thing", "ballotine.tests", {"a": "no_such_module:A"}, lambda _, thing: thing
    )
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        registry["a"]
    assert "a" in registry
    with pytest.raises(ParameterError, match="unknown thing 'b'; choose one of a"):
        registry.require("b")
    with pytest.raises(KeyError):
        registry["b"]


def test_a_parameter_can_be_typed() -> None:
    odd = make_dataclass("Odd", [("x", list[int], field(metadata=parameter("Odd.")))])
    with pytest.raises(TypeError, match="cannot be of type"):
        declared(odd)


@pytest.mark.parametrize(
    ("promised", "words"),
    [
        ({"analyses": frozenset({"tight", "exact"})}, "declares a cost without _exact"),
        ({"publishable": True}, "declares a cost without envelope"),
        ({"planned_by": "volume"}, "a parameter in planned_by"),
        ({"analyses": frozenset()}, "must list 'tight'"),
    ],
)
def test_a_mechanism_cannot_promise_what_it_lacks(promised: dict[str, Any], words: str) -> None:
    kind = type("Loudest", (LNMax,), {"name": "loudest", **promised})
    with pytest.raises(ParameterError, match=words):
        MECHANISMS.register("loudest", kind)
