"""Run files: every key known, every error pointing at its key."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from ballotine.errors import RunFileError
from ballotine.pipeline import RunFile, embedded_runfile
from ballotine.pipeline.estimators import make_estimator
from ballotine.pipeline.privacy_sections import VotingSection
from ballotine.pipeline.sections import StudentSection
from ballotine.voting import ConfidentGNMax, GNMax

GOOD = """
[run]
experiment = true
[data]
source = "digits"
public_rows = 0.2
[voting]
mechanism = "gnmax"
sigma = 8.0
[budget]
epsilon = 4.0
delta = 1e-5
"""


def test_a_small_file_is_enough() -> None:
    run = RunFile.parse(GOOD, "run.toml")
    assert run.voting.build() == GNMax(8.0)
    assert run.teachers.number == 50


@pytest.mark.parametrize("name", ["digits", "template"])
def test_embedded_files_are_valid(name: str) -> None:
    run = RunFile.parse(embedded_runfile(name), name)
    assert isinstance(run.voting.build(), ConfidentGNMax)
    make_estimator(run.teachers.kind, run.teachers.options, "teachers")
    make_estimator(*run.learner(), "student")


def test_the_template_shows_every_section_and_key() -> None:
    text = embedded_runfile("template")
    for section, model in RunFile.model_fields.items():
        assert f"[{section}]" in text
        keys = model.annotation.model_fields.items()  # type: ignore[union-attr]
        for key, field in keys:
            if (section, key) not in {("data", "folder"), ("teachers", "jobs")}:
                assert f"{field.alias or key} = " in text, f"[{section}] {key}"
    for key in VotingSection.parameters().model_fields:
        assert f"{key} = " in text, f"[voting] {key}"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("sigma = 8.0", "sigma = 0", r"\[voting\] sigma: .*greater than 0"),
        ("sigma = 8.0", "sigma = nan", r"\[voting\] sigma: "),
        ("sigma = 8.0", 'sigma = "much"', r"\[voting\] sigma: .*number"),
        ("sigma = 8.0", "", r"\[voting\] gnmax needs sigma"),
        ("sigma = 8.0", "sigma = 8.0\ngamma = 0.1", r"\[voting\] gnmax does not use gamma"),
        ('"gnmax"', '"lnmax"', r"\[voting\] lnmax needs gamma"),
        ("sigma = 8.0", "sigma = 8.0\nsgima = 3", r"\[voting\] sgima: unknown key"),
        ("sigma = 8.0", "sigma = 8.0\nthreshold = 3", r"\[voting\] gnmax does not use threshold"),
        (
            '"gnmax"',
            '"confident-gnmax"',
            r"\[voting\] confident-gnmax needs sigma_threshold, threshold",
        ),
        ('"gnmax"', '"loudest"', r"\[voting\] unknown mechanism 'loudest'"),
        ("epsilon = 4.0", "epsilon = -1", r"\[budget\] epsilon: "),
        ("delta = 1e-5", "delta = 1", r"\[budget\] delta: .*less than 1"),
        ("[budget]", "[bugdet]", r"\[budget\] field required|\[bugdet\] unknown key"),
        ('source = "digits"', "", r"\[data\] give either source"),
        ("public_rows = 0.2", "", r"\[data\] there are no public rows"),
        ("experiment = true", "", r"\[budget\] ledger is missing"),
        ("[run]", "[teachers]\nnumber = 0\n[run]", r"\[teachers\] number: "),
        ("[run]", '[run]\nname = "../escape"', r"\[run\] name: "),
        ("[run]", "[run\n", r"not valid TOML"),
    ],
)
def test_errors_point_at_the_key(old: str, new: str, expected: str) -> None:
    with pytest.raises(RunFileError, match=expected) as problem:
        RunFile.parse(GOOD.replace(old, new, 1), "run.toml")
    assert str(problem.value).startswith("run.toml")
    assert "\n" not in str(problem.value)


def test_a_real_run_may_not_be_seeded() -> None:
    text = GOOD.replace("experiment = true", "seed = 1").replace(
        "delta = 1e-5", 'delta = 1e-5\nledger = "x.sqlite"'
    )
    with pytest.raises(RunFileError, match=r"\[run\] seed: whoever knows the seed"):
        RunFile.parse(text, "run.toml")


def test_paths_are_relative_to_the_file_and_survive_resolution(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(embedded_runfile("template"))
    run = RunFile.load(path)
    assert run.data.private == tmp_path / "private.csv"
    assert run.budget.ledger == tmp_path / "private.ledger.sqlite"
    again = RunFile.parse(run.to_toml(), "resolved")
    assert again == run
    assert tomllib.loads(run.to_toml())["teachers"]["engine"] == "local"


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match="cannot be read"):
        RunFile.load(tmp_path / "missing.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RunFileError, match="UTF-8"):
        RunFile.load(tmp_path / "binary.toml")


@pytest.mark.parametrize(
    ("kind", "options", "expected"),
    [
        ("oracle", {}, r"\[teachers\] kind: unknown classifier 'oracle'"),
        ("sklearn.nowhere.Thing", {}, "cannot be used"),
        ("sklearn.linear_model.LinearRegression", {}, "not a scikit-learn classifier"),
        ("os.path.join", {}, "cannot be used"),
        ("random-forest", {"trees": 3}, r"\[teachers.options\] trees: RandomForestClassifier has"),
    ],
)
def test_estimators_are_checked(kind: str, options: dict[str, object], expected: str) -> None:
    with pytest.raises(RunFileError, match=expected):
        make_estimator(kind, options, "teachers")


@pytest.mark.neural
def test_the_student_follows_from_the_kind_of_data() -> None:
    section = StudentSection()
    assert section.resolve(several=False, patches=False) == ("spreading", {})
    assert section.resolve(several=True, patches=True)[0] == "logistic-regression"
    kind, options = section.resolve(several=False, patches=True)
    assert make_estimator(kind, options, "student").get_params()["ema"] == 0.99
    named = StudentSection(kind="svm", options={"C": 2.0})
    assert named.resolve(several=True, patches=True) == ("svm", {"C": 2.0})
    with pytest.raises(ValueError, match="options need a kind"):
        StudentSection(options={"C": 2.0})
