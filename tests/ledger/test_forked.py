"""A forked process has a copy of the ledger, and must not spend from it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ballotine.ledger import Ledger
from tests.ledger.conftest import BUDGET

ROOT = Path(__file__).parents[2]
SCRIPT = """
import os, sys
from ballotine.errors import LedgerError
from ballotine.ledger import Ledger
from tests.ledger.conftest import BUDGET, labels, opened, queries

ledger = Ledger.open({path!r}, BUDGET)
before = labels(opened(ledger), queries(3)).tolist()
session = opened(ledger)
if os.fork() == 0:
    for start in {child}:
        try:
            print("child", labels(session, queries(3, start)).tolist() == before, flush=True)
        except LedgerError as refused:
            print("child", refused, flush=True)
    os._exit(0)
os.wait()
print("parent", len(labels(session, queries(3, 10))), ledger.spending().recorded)
"""


def forked(path: Path | None, *child: int) -> list[str]:
    """What child and parent print; in a separate process without threads."""
    text = SCRIPT.format(path=None if path is None else str(path), child=child)
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_one_query_is_not_answered_twice_from_one_ledger_in_memory() -> None:
    stored, fresh, parent = forked(None, 0, 10)
    assert stored == "child True", "answers that were released before may be read"
    assert "copy of an in-memory ledger" in fresh
    assert parent == "parent 3 6"


def test_a_file_is_opened_again_by_the_process_that_wants_it(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    stored, fresh, parent = forked(path, 0, 10)
    assert "open it again" in stored
    assert "open it again" in fresh
    assert parent == "parent 3 6"
    with Ledger.open(path, BUDGET) as ledger:
        assert ledger.spending().recorded == 6
