"""Checks the documentation by executing it: code, commands, tables of keys, links and names."""

from __future__ import annotations

import json
import re
import runpy
import shlex
import sys
import tomllib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import tomli_w
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from typer.testing import CliRunner

import ballotine
from ballotine.cli import app
from ballotine.cli.reference import reference
from ballotine.data import ColumnSchema, Schema
from ballotine.estimators import STUDENTS
from ballotine.ledger import Ledger
from ballotine.pipeline import RunFile
from ballotine.pipeline.privacy_sections import VotingSection
from ballotine.privacy.guarantee import NEIGHBOURING
from ballotine.voting import MECHANISMS
from scripts import layers

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
AT_THE_TOP = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
PAGES = [ROOT / name for name in AT_THE_TOP] + sorted(DOCS.rglob("*.md"))

BLOCK = re.compile(
    r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$', re.M | re.S
)
LINK = re.compile(r"!?\[[^\]]*\]\((?P<target>[^)\s]+)\)")
FOLDERS = "src|tests|docs|reproduction|examples|experiments|benchmarks|scripts"
PATH = re.compile(rf"(?<![\w/.-])((?:{FOLDERS})/[\w./-]*[\w/-])")
AT_THE_ROOT = re.compile(r"`(\.ci/run|[\w-]+\.(?:toml|md))`")
CODE = re.compile(r"`([^`\n]+)`")


class Block(NamedTuple):
    """One fenced block of a page."""

    language: str
    title: str
    text: str


def blocks(page: Path) -> list[Block]:
    found = BLOCK.finditer(page.read_text(encoding="utf-8"))
    return [Block(m["language"], m["title"] or "", m["text"]) for m in found]


def section(page: Path, heading: str) -> str:
    """The text under a second-level heading, up to the next one."""
    parts = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.M)
    (text,) = [part for part in parts if part.partition("\n")[0] == heading]
    return text


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to run in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BALLOTINE_DATA", raising=False)
    return tmp_path


def test_the_ten_lines_of_the_readme(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = [block.text for block in blocks(ROOT / "README.md") if block.language == "python"]
    assert len([line for line in code.splitlines() if line.strip()]) == 10
    assert (ROOT / "examples" / "digits.py").read_text(encoding="utf-8").endswith("\n\n" + code)
    runpy.run_path(str(ROOT / "examples" / "digits.py"))
    printed = capsys.readouterr().out
    stated = re.search(r"^\(ε = ([\d.]+), δ = ([\d.e-]+)\)-differential privacy$", printed, re.M)
    assert stated is not None
    assert 0 < float(stated[1]) <= 8
    assert float(stated[2]) == 1e-4
    assert f"neighbouring: {NEIGHBOURING}" in printed
    accuracy = re.search(r"(\d+)% of new digits right", printed)
    assert accuracy is not None
    assert int(accuracy[1]) > 50
    # The printed lines differ in their numbers from those of the README, and in nothing else.
    shown = next(block.text for block in blocks(ROOT / "README.md") if block.language == "text")
    numbers = re.compile(r"\d+")
    assert numbers.sub("#", printed).startswith(numbers.sub("#", shown))


def test_a_table_of_ones_own(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = ROOT / "examples" / "own_table.py"
    monkeypatch.setattr(sys, "argv", [str(script), "patients"])
    runpy.run_path(str(script), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed.count(f"neighbouring: {NEIGHBOURING}") == 2
    assert "for these records, now and ever: (ε = 2, δ = 1e-05)" in printed
    first, second = (
        json.loads((here / "patients" / name / "card.json").read_text())
        for name in ("first", "second")
    )
    assert first["guarantee"]["epsilon"] < 2
    assert second["guarantee"]["epsilon"] == 2
    assert first["ledger"]["id"] == second["ledger"]["id"]
    assert (first["ledger"]["runs"], second["ledger"]["runs"]) == (1, 2)
    assert second["queries"]["unasked"] > 0
    for card in (first, second):
        assert card["experiment"] is None
        assert not card["run"]["seeded"]
        assert card["evaluation"]["accuracy"] > 0.6
    # The tutorial shows these very files.
    for block in blocks(DOCS / "tutorial.md"):
        if block.language == "toml":
            assert (here / "patients" / block.title).read_text() == block.text
        if block.title == "make_patients.py":
            shared = block.text.partition("COLUMNS = ")[2].partition("\n\nwrite_patients(")[0]
            assert len(shared) > 500
            assert shared in script.read_text(encoding="utf-8")


def test_models_of_ones_own(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = ROOT / "examples" / "own_models.py"
    monkeypatch.setattr(sys, "argv", [str(script), "flowers.sqlite"])
    shown = []
    for _ in range(2):
        runpy.run_path(str(script), run_name="__main__")
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1], "the same models and rows: the same answers, paid once"
    found = re.search(r"^(\d+) answers, (\d+)% of them right$", shown[0], re.M)
    assert found is not None
    assert int(found[1]) == 40
    assert int(found[2]) >= 70
    assert f"neighbouring: {NEIGHBOURING}" in shown[0]
    assert "kind: conditional" in shown[0]
    assert "assumes: every private record was seen by one of the models" in shown[0]
    with Ledger.existing(here / "flowers.sqlite") as ledger:
        assert ledger.spending().asked == 40


def test_the_tutorial_from_the_command_line(here: Path) -> None:
    """Every block in turn: files are written, Python is run, commands end with 0."""
    names: dict[str, Any] = {}
    for block in blocks(DOCS / "tutorial.md"):
        if block.title:
            (here / block.title).write_text(block.text)
        elif block.language == "python":
            exec(compile(block.text, "tutorial", "exec"), names)
        elif block.language == "console":
            for line in block.text.splitlines():
                follow(line.removeprefix("$ "))
    assert set(names["student"].predict(names["rows"])) <= {"no", "yes"}
    with Ledger.existing("patients.ledger.sqlite") as ledger:
        assert ledger.spending().guaranteed_epsilon() == 2
        assert {e.payload["run"] for e in ledger.entries() if e.kind == "reserve"} == {
            "first",
            "second",
        }


def follow(command: str) -> None:
    """Carry out one command of the tutorial."""
    program, *arguments = shlex.split(command)
    if program == "python":
        runpy.run_path(arguments[0])
    elif program == "ballotine":
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, (command, result.output)
    else:
        assert command == "make run"


@pytest.mark.parametrize(
    ("name", "count"),
    [("accounting", 4), ("engine", 2), ("extending", 1), ("individual", 3), ("voting", 4)],
)
def test_the_numbers_of_a_page(name: str, count: int, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    page = blocks(DOCS / f"{name}.md")
    pairs = [
        (block.text, after.text) for block, after in pairwise(page) if block.language == "python"
    ]
    assert len(pairs) == count
    for code, expected in pairs:
        exec(compile(code, name, "exec"), names)
        assert capsys.readouterr().out == expected


@pytest.mark.parametrize("width", ["40", "250"])
def test_the_command_line_page_is_generated(width: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("COLUMNS", "TERMINAL_WIDTH"):
        monkeypatch.setenv(variable, width)
    assert (DOCS / "cli.md").read_text(encoding="utf-8") == reference(), (
        "write it again: python -m ballotine.cli.reference docs/cli.md"
    )


@dataclass(frozen=True)
class Key:
    """A key of a run file, as model or page has it."""

    name: str
    default: str


def keys_of(model: type[BaseModel]) -> list[Key]:
    if model is VotingSection:
        mechanism, *others = own_keys_of(model)
        return [mechanism, *own_keys_of(VotingSection.parameters()), *others]
    return own_keys_of(model)


def own_keys_of(model: type[BaseModel]) -> list[Key]:
    return [
        Key(field.alias or name, default_of(field)) for name, field in model.model_fields.items()
    ]


def default_of(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    return shown(field.get_default(call_default_factory=True, validated_data={}))


def shown(value: Any) -> str:
    """A default as TOML; none where the key may be left out."""
    if value is None:
        return "none"
    if value == {}:
        return "`{}`"
    return f"`{tomli_w.dumps({'x': value}).strip().removeprefix('x = ')}`"


SECTIONS: dict[str, type[BaseModel]] = {
    name: field.annotation
    for name, field in RunFile.model_fields.items()
    if isinstance(field.annotation, type)
}


@pytest.mark.parametrize("name", RunFile.model_fields)
def test_every_key_of_a_run_file_is_documented_with_its_default(name: str) -> None:
    text = section(DOCS / "runfile.md", f"`[{name}]`")
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\| ([^|]*) \|", text, re.M)
    assert [Key(*row) for row in rows] == keys_of(SECTIONS[name])


def test_the_run_file_page_names_mechanisms_estimators_and_the_schema() -> None:
    page = (DOCS / "runfile.md").read_text(encoding="utf-8")
    for name in (*MECHANISMS, *STUDENTS.shipped):
        assert f"`{name}`" in page
    text = section(DOCS / "runfile.md", "The schema")
    for key in (*Schema.model_fields, *ColumnSchema.model_fields):
        assert f"`{key}`" in text


def test_run_files_and_schemas_on_the_pages_are_valid() -> None:
    checked = 0
    for block in (block for page in PAGES for block in blocks(page) if block.language == "toml"):
        if block.title == "schema.toml":
            Schema.from_mapping(tomllib.loads(block.text))
        else:
            RunFile.parse(block.text, block.title)
        checked += 1
    assert checked >= 4


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    for match in LINK.finditer(text):
        target, _, anchor = match["target"].partition("#")
        if target.startswith("https://"):
            continue
        found = page.parent / target if target else page
        assert found.is_file(), f"{page.name} links to {match['target']}"
        if anchor:
            assert anchor in anchors(found), f"{page.name} links to {match['target']}"


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", h.lower()).strip()) for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_paths_in_the_text_exist(page: Path) -> None:
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    for path in {path for code in CODE.findall(text) for path in PATH.findall(code)}:
        if "NAME" not in path:  # a placeholder of a guide
            assert (ROOT / path).exists(), f"{page.name} names {path}"


def test_the_text_names_paths() -> None:
    """The patterns above find what they look for."""
    text = "`python scripts/layers.py docs/x.md`, `src/ballotine/`, `site-docs/no`, `a/docs/no`"
    found = [path for code in CODE.findall(text) for path in PATH.findall(code)]
    assert found == ["scripts/layers.py", "docs/x.md", "src/ballotine/"]


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_files_at_the_root_exist(name: str) -> None:
    left_by_a_run = {"card.md", "run.toml"}
    named = set(AT_THE_ROOT.findall((ROOT / name).read_text(encoding="utf-8")))
    for path in named - left_by_a_run:
        assert (ROOT / path).exists(), path


def test_the_package_layout_is_complete() -> None:
    tree = section(ROOT / "README.md", "Package layout")
    package = ROOT / "src" / "ballotine"
    packages = [path.parent for path in package.rglob("__init__.py") if path.parent != package]
    assert len(packages) > 5
    for each in packages:
        assert re.search(rf"^ +{each.name}/ ", tree, re.M), each.name
    modules = {path.name for path in package.glob("*.py") if not path.name.startswith("__")}
    assert set(re.findall(r"^  (\w+\.py)", tree, re.M)) == modules


def test_every_step_of_the_walk_is_where_it_says() -> None:
    """CONTRIBUTING follows a row through the code: files and names in backticks."""
    text = section(ROOT / "CONTRIBUTING.md", "From a CSV row to the report")
    steps = re.findall(r"^\| `(src/[^`]+)` \| ([^|]+) \|", text, re.M)
    assert len(steps) > 20
    for path, names in steps:
        code = (ROOT / path).read_text(encoding="utf-8")
        for part in (part for name in CODE.findall(names) for part in name.split(".")):
            assert re.search(rf"^ *(?:class|def) {part}\b", code, re.M), f"{path}: {part}"


@pytest.mark.parametrize("page", layers.PAGES, ids=lambda page: page.name)
def test_the_layer_diagram_is_generated(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == layers.with_diagram(text), "write it again: python scripts/layers.py"
    (contract,) = [each for each in layers.contracts() if each["type"] == "layers"]
    assert len(contract["layers"]) > 5
    for name in re.findall(r"ballotine\.(\w+)", " ".join(contract["layers"])):
        assert re.search(rf"^ ?\d+ .*\b{name}\b", text, re.M), name


def test_the_site_holds_every_page_and_asks_nothing_of_the_network() -> None:
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"[\w/-]+\.md", config.partition("\nnav:")[2])
    assert sorted(listed) == sorted(p.relative_to(DOCS).as_posix() for p in DOCS.rglob("*.md"))
    assert re.search(r"^  font: false$", config, re.M)
    assert "http" not in config


def test_every_public_name_is_on_the_start_page() -> None:
    text = section(DOCS / "index.md", "The library")
    for name in ballotine.__all__:
        assert f"`{name}`" in text


def test_the_changelog_speaks_of_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[([\d.]+)\]", text, re.M)
    assert newest is not None
    assert newest[1] == ballotine.__version__
    for heading in ("Added", "Privacy", "Security"):
        assert f"\n### {heading}\n" in text
