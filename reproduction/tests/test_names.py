"""Every class of the reproductions has a name of its own, also among Ballotine's."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import ballotine
import ballotine_reproduction


def test_no_class_shares_its_name() -> None:
    own = Path(ballotine_reproduction.__file__).parent
    places: dict[str, list[Path]] = defaultdict(list)
    for folder in (own, Path(ballotine.__file__).parent):
        for path in folder.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.ClassDef):
                    places[node.name].append(path)
    shared = {
        name: paths
        for name, paths in places.items()
        if len(paths) > 1 and any(path.is_relative_to(own) for path in paths)
    }
    assert shared == {}
