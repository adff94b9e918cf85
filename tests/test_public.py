"""The public names exist, are documented, and are quick to import."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import ballotine

API = Path(__file__).parent.parent / "docs" / "api.md"
MODULES = {"errors", "noise"}
"""Modules that the reference covers as a whole."""


def test_every_public_name_is_there() -> None:
    for name in ballotine.__all__:
        assert getattr(ballotine, name) is not None
    assert set(ballotine._HOMES) | {"__version__"} == set(ballotine.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Teapot'"):
        ballotine.Teapot  # noqa: B018


def test_everything_that_answers_ones_own_models_is_public() -> None:
    assert {"FittedModels", "GNMax", "Ledger", "Plan", "Rules", "Session"} <= set(ballotine.__all__)


def test_every_public_name_is_in_the_api_reference_and_has_a_docstring() -> None:
    text = API.read_text(encoding="utf-8")
    listed = set(re.findall(r"^::: ballotine\.(\w+)$", text, re.M)) - MODULES
    assert listed == set(ballotine.__all__) - {"__version__"}
    assert "`ballotine.__version__`" in text
    for name in listed:
        assert inspect.cleandoc(getattr(ballotine, name).__doc__ or ""), name


def test_every_public_method_has_a_docstring() -> None:
    for name in set(ballotine.__all__) - {"__version__"}:
        for member, value in vars(getattr(ballotine, name)).items():
            if inspect.isfunction(value) and not member.startswith("_"):
                assert inspect.getdoc(value), f"{name}.{member}"


def test_the_command_line_starts_without_the_heavy_libraries() -> None:
    heavy = "{'sklearn', 'scipy', 'pyarrow', 'plotly'}"
    code = f"import sys, ballotine.cli; print(sorted({heavy} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_no_two_classes_share_a_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in Path(ballotine.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path.name)
    assert {name: files for name, files in places.items() if len(files) > 1} == {}
