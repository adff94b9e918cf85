"""Real files to spoil: small tables, votes, and the folder of a finished run."""

from __future__ import annotations

import io
import tempfile
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.conftest import write_table
from tests.fuzz.commands import Case, judge

RUNFILE = """
[run]
name = "small"
folder = "out"
experiment = true
seed = 3
[data]
private = "private.csv"
public = "public.csv"
target = "label"
classes = ["no", "yes"]
[teachers]
number = 3
[voting]
mechanism = "gnmax"
sigma = 20.0
max_queries = 4
[budget]
epsilon = 6.0
delta = 1e-5
ledger = "book.sqlite"
[student]
kind = "logistic-regression"
"""
SCHEMA = """
target = "label"
classes = ["no", "yes"]
[columns.age]
low = 0
high = 100
missing = 50
[columns.income]
low = 0
high = 100
[columns.region]
levels = ["north", "south"]
"""
GROUPS = "teacher,group\n" + "".join(f"{i},{'old' if i % 2 else 'young'}\n" for i in range(9))
VOTES = np.random.default_rng(5).integers(0, 3, (12, 9)).astype(np.int64)
LABELS = np.random.default_rng(6).integers(0, 2, (6, 5, 3)).astype(np.int64)


@lru_cache(maxsize=1)
def tables() -> dict[str, bytes]:
    """The files of a small run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder / "private.csv", 40, 1)
        write_table(folder / "public.csv", 12, 2, labelled=False)
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
    return {**files, "run.toml": RUNFILE.encode(), "schema.toml": SCHEMA.encode()}


@lru_cache(maxsize=1)
def labelled() -> dict[str, bytes]:
    """Tables with several labels per record."""
    draw = np.random.default_rng(7)

    def rows(number: int, labels: int) -> bytes:
        header = "x,y" + ",a,b,c"[: 2 * labels]
        lines = []
        for x, y in draw.normal(0, 1, (number, 2)):
            cells = [f"{x:.2f}", f"{y:.2f}", *("01"[int(v > 0)] for v in (x, y, x + y)[:labels])]
            lines.append(",".join(cells))
        return "\n".join([header, *lines, ""]).encode()

    return {"private.csv": rows(40, 3), "public.csv": rows(12, 0)}


def settings() -> dict[str, Any]:
    """The run file as nested mappings."""
    return tomllib.loads(RUNFILE)


@lru_cache(maxsize=1)
def finished() -> dict[str, bytes]:
    """All files of a run that was carried out, and of its ledger."""
    kept: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, content in tables().items():
            (folder / path).write_bytes(content)
        (folder / "run.toml").write_text(RUNFILE.replace("max_queries = 4\n", ""))
        ended, faults = judge(Case("real", ("run", str(folder / "run.toml"), "--quiet")))
        assert (ended.code, faults) == (0, []), (ended, faults)
        for path in folder.rglob("*"):
            if path.is_file() and "-" not in path.suffix:
                kept[str(path.relative_to(folder))] = path.read_bytes()
    # It is resumed from another folder than it was made in.
    whole = kept["out/run.toml"].replace(f"{folder.resolve()}/".encode(), b"../")
    return kept | {"out/run.toml": whole}


def parquet(array: Any) -> bytes:
    """A table of columns c0, c1, …"""
    stream = io.BytesIO()
    flat = array.reshape(len(array), -1)
    pq.write_table(pa.table({f"c{i}": flat[:, i] for i in range(flat.shape[1])}), stream)
    return stream.getvalue()


def csv_as_parquet(content: bytes) -> bytes:
    """A CSV's cells as a Parquet file."""
    header, *rows = (line.split(",") for line in content.decode().split())
    stream = io.BytesIO()
    columns = {name: [row[i] for row in rows] for i, name in enumerate(header)}
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()
