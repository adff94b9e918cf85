"""Small worlds in which privacy is spent: made-up files, a command, and what it leaves.

Votes are near ties and noise is fresh, so that an answer drawn twice would often be another one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Answer = int | tuple[int, ...]
Args = tuple[str, ...]

UNASKED, ABSTAINED = -2, -1
TEACHERS, CLASSES, LABELS = 10, 3, 3
NAMES = ("x", "y", "z")
LEDGER = "ledger.sqlite"
CONFIDENT = ("-m", "confident-gnmax", "--sigma", "9", "--threshold", "4", "--sigma-threshold", "12")


@dataclass
class Actor:
    """A command that spends from the world's ledger until it is done.

    Attributes:
        start: the command, as typed in the world's folder.
        resume: how it goes on where a folder was left; the same command where None.
        folder: of a run; None for a command without one.
        answers: the file of answers it writes.
        statement: the card or receipt that it writes last.
        pool: how many different rows it may ask.
    """

    start: Args
    resume: Args | None
    folder: str | None
    answers: str
    statement: str
    pool: int

    def released(self, world: Path) -> dict[int, Answer] | None:
        """The answers that left, by row; None while there is no such file."""
        path = world / self.answers
        if not path.exists():
            return None
        return _from_archive(path) if path.suffix == ".npz" else _from_table(path)

    def stated(self, world: Path) -> dict[str, Any] | None:
        """The card or receipt; None while there is none."""
        path = world / self.statement
        content: dict[str, Any] | None = json.loads(path.read_text()) if path.exists() else None
        return content


@dataclass(frozen=True)
class Scenario:
    """A kind of world.

    Attributes:
        name: for tables and options.
        furnish: makes the files.
        actors: who spends, at the same time if there are several.
    """

    name: str
    furnish: Callable[[Path], None]
    actors: tuple[Actor, ...]


def _from_archive(path: Path) -> dict[int, Answer]:
    with np.load(path, allow_pickle=False) as archive:
        rows = archive["answers"].tolist()
    found: dict[int, Answer] = {}
    for place, row in enumerate(rows):
        answer = tuple(row) if isinstance(row, list) else int(row)
        if answer not in (UNASKED, (UNASKED,) * LABELS):
            found[place] = answer
    return found


def _from_table(path: Path) -> dict[int, Answer]:
    import pyarrow.parquet as pq

    found: dict[int, Answer] = {}
    for row in pq.read_table(path).to_pylist():
        if row["status"] == "unasked":
            continue
        if "answer" in row:
            name = row["answer"]
            found[row["row"]] = ABSTAINED if name is None else NAMES.index(name)
        else:
            marks = [row[f"answer:{name}"] for name in NAMES]
            found[row["row"]] = tuple(ABSTAINED if mark is None else mark for mark in marks)
    return found


def _draw() -> np.random.Generator:
    return np.random.default_rng(20261118)


def furnish_votes(folder: Path) -> None:
    draw = _draw()
    np.save(folder / "votes.npy", draw.integers(0, CLASSES, (160, TEACHERS)))
    np.save(folder / "labels.npy", draw.integers(0, 2, (60, TEACHERS, LABELS), dtype=np.uint8))
    lines = [f"{i},{'few' if i < 4 else 'many'}" for i in range(TEACHERS)]
    (folder / "groups.csv").write_text("\n".join(["teacher,group", *lines]) + "\n")


def vote_on(file: str, pool: int, *options: str, out: str = "answers") -> Actor:
    command = ("vote", file, *options, "--delta", "1e-5", "--ledger", LEDGER)
    return Actor(
        (*command, "--out", f"{out}.npz", "--json"),
        None,
        None,
        f"{out}.npz",
        f"{out}.receipt.json",
        pool,
    )


def groups_of(how: str) -> Args:
    return ("--weights", "groups.csv", "--group-budgets", "few=3,many=5", "--individual", how)


RUNFILE = """
[run]
name = "killed"
folder = "{folder}"
[data]
private = "private.csv"
public = "public.csv"
{target}
[teachers]
number = {teachers}
kind = "{teacher}"
options = {options}
jobs = 1
[voting]
{voting}
[budget]
delta = 1e-5
{budget}
{ledger}
[student]
kind = "logistic-regression"
{more}
"""
ONE_CLASS = 'target = "label"\nclasses = ["x", "y", "z"]'
SEVERAL = 'targets = ["x", "y", "z"]'
CHECKED = 'mechanism = "confident-gnmax"\nsigma = 9.0\nthreshold = 4.0\nsigma_threshold = 12.0'
PRIVATE_ROUNDS = """
[together]
method = "averaging"
rounds = 5
steps = 2
clip = 1.0
noise_multiplier = 20.0
"""


def furnish_run(**changes: str) -> Callable[[Path], None]:
    parts = {
        "folder": "out",
        "target": ONE_CLASS,
        "teachers": str(TEACHERS),
        "teacher": "nearest-neighbours",
        "options": "{ n_neighbors = 3 }",
        "voting": CHECKED,
        "budget": "epsilon = 5.0",
        "ledger": f'ledger = "{LEDGER}"',
        "more": "",
        **changes,
    }

    def furnish(folder: Path) -> None:
        _tables(folder, several=parts["target"] == SEVERAL)
        for name in ("out", "other"):
            text = RUNFILE.format(**{**parts, "folder": name})
            (folder / f"{name}.toml").write_text(text)

    return furnish


def _tables(folder: Path, *, several: bool) -> None:
    draw = _draw()
    labels = ",".join(NAMES) if several else "label"
    for name, rows in (("private", 120), ("public", 80)):
        lines = ["a,b,who" + (f",{labels}" if name == "private" else "")]
        for row in range(rows):
            a, b = draw.normal(size=2)
            cells = [f"{a:.6f}", f"{b:.6f}", "few" if row % 3 else "many"]
            if name == "private":
                marks = [str(mark) for mark in draw.integers(0, 2, LABELS)]
                cells += marks if several else [NAMES[int(draw.integers(CLASSES))]]
            lines.append(",".join(cells))
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")


def run_in(folder: str = "out") -> Actor:
    return Actor(
        ("run", f"{folder}.toml"),
        ("run", "--resume", folder),
        folder,
        f"{folder}/answers.parquet",
        f"{folder}/card.json",
        80,
    )
