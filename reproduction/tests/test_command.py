"""`ballotine paper`: found through its entry point, and what happens where it is not."""

from __future__ import annotations

import importlib.metadata
import io
import json
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

import ballotine_reproduction
from ballotine.cli import app, main, plugins
from ballotine_reproduction.individualized import sets

Result = tuple[int, str, str]
Call = Callable[..., Result]


def distribution(folder: Path, name: str, target: str) -> Path:
    """The metadata of an installed package that adds one command."""
    info = folder / f"{name}_package-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{plugins.GROUP}]\n{name} = {target}\n")
    return folder


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """The command line in this process, in a folder of its own, with the package installed."""
    if not _installed():
        folder = distribution(tmp_path / "site", "paper", "ballotine_reproduction.command")
        monkeypatch.syspath_prepend(folder)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*arguments: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["ballotine", *arguments])
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as end:
            main()
        return int(end.value.code or 0), out.getvalue(), err.getvalue()

    return run


def _installed() -> bool:
    points = importlib.metadata.entry_points(group=plugins.GROUP)
    return any(point.name == "paper" for point in points)


def test_an_installed_package_registers_the_command() -> None:
    if not _installed():
        pytest.skip("ballotine-reproduction is not installed as a distribution here")
    (point,) = [
        each
        for each in importlib.metadata.entry_points(group=plugins.GROUP)
        if each.name == "paper"
    ]
    assert point.load().__name__ == "ballotine_reproduction.command"


def test_the_project_declares_the_entry_point() -> None:
    import tomllib

    project = Path(__file__).parents[1] / "pyproject.toml"
    declared = tomllib.loads(project.read_text())["project"]["entry-points"]
    module = declared[plugins.GROUP]["paper"]
    found = importlib.metadata.EntryPoint("paper", module, plugins.GROUP).load()
    assert callable(found.run)
    assert "table or figure" in found.HELP


def test_the_command_is_found_through_its_entry_point(call: Call) -> None:
    code, out, err = call("--help")
    assert code == 0, err
    assert "paper" in out
    code, out, err = call("paper")
    assert (code, err) == (0, "")
    for experiment in ballotine_reproduction.EXPERIMENTS:
        assert experiment.name in out


def test_the_app_itself_has_no_command_of_another_package(call: Call) -> None:
    call("paper")
    assert "paper" not in {command.name for command in app.registered_commands}


def test_a_table_is_shown_and_written(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"QUICK_RECORDS": 8, "QUICK_PUBLIC": 300, "QUICK_TEST": 60}.items():
        monkeypatch.setattr(sets, name, value)
    asked = ("paper", "individualized", "table11", "--quick", "--seeds", "1", "--jobs", "1")
    code, out, err = call(*asked, "--json", "--out", "results")
    assert code == 0, err
    facts = json.loads(out)
    assert facts == json.loads(Path("results/individualized-table11.json").read_text())
    assert [row["paper"] for row in facts["rows"]] == [88, 108, 162]
    code, out, err = call("paper", "multiwinner", "figure4", "--quick", "--out", "results")
    assert code == 0, err
    assert "Figure 4" in Path("results/multiwinner-figure4.md").read_text()
    assert "plotly" in Path("results/multiwinner-figure4-queries.html").read_text()


def test_an_unknown_table_is_an_error_of_the_user(call: Call) -> None:
    code, _, err = call("paper", "ttac", "table99")
    assert code == 2
    assert "ttac has no experiment 'table99'" in err
    code, _, err = call("paper", "nobody", "table1")
    assert code == 2
    assert "no experiments for 'nobody'" in err


@pytest.mark.parametrize("arguments", [(), ("ttac", "table1", "--quick"), ("--help",)])
def test_without_the_package_the_command_says_what_to_install(
    call: Call, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "entry_points", lambda group: ())
    code, out, err = call("paper", *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "pip install ./reproduction" in err
    assert "paper" not in call("--help")[1]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("import a_module_that_is_missing", "ModuleNotFoundError"),
        ("raise RuntimeError('broken')", "RuntimeError: broken"),
        ("def run(): pass", "AttributeError"),
    ],
)
def test_a_package_that_cannot_be_loaded_breaks_nothing(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, problem: str
) -> None:
    monkeypatch.delitem(sys.modules, "made_up", raising=False)
    (tmp_path / "made_up.py").write_text(content)
    monkeypatch.syspath_prepend(distribution(tmp_path, "extra", "made_up"))
    code, out, err = call("--help")
    assert code == 0
    assert "account" in out
    assert err.count("\n") == 1
    assert "'extra' of extra-package cannot be loaded" in err
    assert problem in err


@pytest.mark.parametrize("name", ["run", "ledger"])
def test_no_package_replaces_a_command_of_ballotine(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.syspath_prepend(distribution(tmp_path, name, "ballotine_reproduction.command"))
    code, out, err = call(name, "--help")
    assert code == 0
    assert "table or figure" not in out
    assert err.count("\n") == 1
    assert f"{name!r} of {name}-package is omitted" in err
