"""The oracle does not import the code that it checks."""

from __future__ import annotations

import ast
from pathlib import Path

import ballotine.oracle

ALLOWED = ("ballotine.errors", "ballotine.oracle", "ballotine.types")


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(node.module or "")
    return {name for name in names if name.partition(".")[0] == "ballotine"}


def test_the_oracle_imports_no_code_under_test() -> None:
    (folder,) = ballotine.oracle.__path__
    files = sorted(Path(folder).rglob("*.py"))
    assert len(files) > 8
    found = set().union(*(imported(path) for path in files))
    assert found
    assert {name for name in found if not name.startswith(ALLOWED)} == set()
