"""Saved votes stream: memory does not grow with their number."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ballotine.data import ballots

CLASSES = 10
FLAT = 16.0
"""MB by which twice the queries may take more: a whole file would take several times that."""

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="peak memory is read from Linux's /proc"
)

# The peak of a process that was started by one with more memory: getrusage would report the
# starter's, so the kernel's own account of this process is read.
SCRIPT = """
import json, re, sys
from pathlib import Path
import numpy as np
from ballotine.data.ballots import open_votes
from ballotine.noise import source
from ballotine.voting import GNMax, Plan, Rules, Tallies
from ballotine.voting.account import Accountant
from ballotine.voting.saved import SavedVotes, vote

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024

def saved(path):
    return SavedVotes.of(open_votes(path), mechanism, 10, tallies=path.name.startswith("tallies"))

def account(path):
    votes = saved(path)
    plan = Plan.standard_of(mechanism, votes.teachers, 1e-5)
    accountant = Accountant(plan, "tight", source(None))
    for chunk in votes.chunks():
        accountant.add(chunk, votes.classes, 1e-5)
    return accountant.result(1e-5).queries

def answer(path):
    votes = saved(path)
    rules = Rules(Plan.standard_of(mechanism, votes.teachers, 1e-5, 1e5), votes.classes)
    ledger = path.with_suffix(".sqlite")
    return int(vote(votes, rules, ledger, source(None))[0].asked.sum())

def whole(path):
    return len(Tallies.of(np.load(path), 10))

mechanism = GNMax(400.0)
steps = {"account": account, "vote": answer, "whole": whole}
found = [("start", 0, peak())]
for job, path in json.loads(sys.argv[1]):
    done = steps[job](Path(path))
    found.append((job, done, peak()))
print(json.dumps(found))
"""


def peaks(*steps: tuple[str, Path]) -> list[float]:
    """Peak memory in MB after the start and after each step, in a process of its own."""
    single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    wanted = json.dumps([(job, str(path)) for job, path in steps])
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, wanted],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **single},
    )
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    for (_, path), (_, queries, _) in zip(steps, found[1:], strict=True):
        assert queries == int(path.stem.split("-")[1])
    return [memory for _, _, memory in found]


def block(queries: int, teachers: int) -> np.ndarray:
    return np.random.default_rng(0).integers(CLASSES, size=(queries, teachers), dtype=np.uint8)


def mapped(folder: Path, queries: int, teachers: int) -> Path:
    """Ballots as .npy, written by repeating a block of 1,000 queries."""
    path, part = folder / f"ballots-{queries}.npy", block(1000, teachers)
    array = np.lib.format.open_memmap(path, "w+", np.uint8, (queries, teachers))
    for start in range(0, queries, len(part)):
        array[start : start + len(part)] = part
    return path


def parquet(folder: Path, queries: int, teachers: int) -> Path:
    """Ballots as Parquet, in groups of 4,000 rows and as large as such a file can be."""
    path, part = folder / f"ballots-{queries}.parquet", block(4000, teachers)
    table = pa.table({str(place): column for place, column in enumerate(part.T.copy())})
    options = {"use_dictionary": False, "compression": "none"}
    with pq.ParquetWriter(path, table.schema, **options) as writer:
        for _ in range(0, queries, len(part)):
            writer.write_table(table)
    return path


def tallies(folder: Path, queries: int) -> Path:
    path = folder / f"tallies-{queries}.npy"
    counts = np.random.default_rng(0).multinomial(1000, np.full(CLASSES, 0.1), size=1000)
    np.save(path, np.tile(counts, (queries // 1000, 1)))
    return path


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", [np.uint8, np.int64, ">i2"])
def test_blocks_put_together_are_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: Any, kind: Any
) -> None:
    monkeypatch.setattr(ballots, "CHUNK_ROWS", 7)
    votes = block(50, 12).astype(kind)
    for shape, name in (((50, 12), "two.npy"), ((50, 4, 3), "three.npy")):
        stored = votes.reshape(shape)
        np.save(tmp_path / name, np.asarray(stored, order=order))
        parts = list(ballots.open_votes(tmp_path / name).chunks())
        assert {len(part) for part in parts} == {7, 1}
        assert np.array_equal(np.concatenate(parts), stored)


def test_mapped_ballots_take_no_more_memory_when_there_are_more(tmp_path: Path) -> None:
    once, twice = mapped(tmp_path, 10_000, 4000), mapped(tmp_path, 20_000, 4000)
    assert twice.stat().st_size - once.stat().st_size > 2 * FLAT * 2**20
    steps = [("account", once), ("account", twice), ("vote", once), ("vote", twice)]
    _, account, more, vote, more_votes, whole = peaks(*steps, ("whole", twice))
    assert more - account < FLAT
    assert more_votes - vote < FLAT
    assert whole - more_votes > 10 * FLAT, "this measure would not see a file that is loaded"


def test_parquet_takes_no_more_memory_when_there_are_more(tmp_path: Path) -> None:
    """In processes of their own: Arrow gives back what it has used when it pleases."""
    once, twice = parquet(tmp_path, 12_000, 2000), parquet(tmp_path, 24_000, 2000)
    for job in ("account", "vote"):
        taken = []
        for path in (once, twice):
            start, end = peaks((job, path))
            taken.append(end - start)
        allowed = 0.15 * taken[0]
        assert (twice.stat().st_size - once.stat().st_size) / 2**20 > 2 * allowed
        assert taken[1] - taken[0] < allowed, job


def test_short_rows_take_no_more_memory_when_there_are_more(tmp_path: Path) -> None:
    """Costs on a hundred orders follow from each row: these must not pile up either."""
    once, twice = tallies(tmp_path, 50_000), tallies(tmp_path, 100_000)
    start, account, more = peaks(("account", once), ("account", twice))
    assert more - account < FLAT
    assert account - start < 120.0


def test_a_million_queries_of_five_thousand_teachers_would_fit(tmp_path: Path) -> None:
    """Chunks are as large as they will ever be; what grows are the answers that are returned."""
    votes = mapped(tmp_path, 20_000, 5000)
    columns = parquet(tmp_path, 4_000, 5000)
    start, *_, beyond = peaks(("account", votes), ("vote", votes), ("account", columns))
    answers = 2 * 8 * 1_000_000 / 2**20  # collected in parts, then put together
    assert beyond - start + answers < 1000.0
