"""A file without a header: its first record would be read as names, and shown to nobody."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ballotine.data import DataSpec, load
from ballotine.data.ballots import open_votes
from ballotine.errors import BallotineError
from ballotine.pipeline.folder import close_log
from ballotine.voting.individual.saved import group_names, parse_budgets, read_groups
from tests.conftest import Command

MARK = "Alice-Adams-HIV"
SCHEMA = 'target = "label"\nclasses = ["no", "yes"]\n[columns.age]\nlow = 0\nhigh = 99\n'


def headerless(
    folder: Path, name: str = "private.csv", first: str = f"{MARK},44,north,yes"
) -> Path:
    """A table of the run whose header line is lost, and whose first record is marked."""
    path = folder / name
    path.write_text("\n".join([first, *path.read_text().splitlines()[1:]]) + "\n")
    return path


def change(folder: Path, old: str, new: str) -> None:
    text = (folder / "run.toml").read_text()
    assert old in text
    (folder / "run.toml").write_text(text.replace(old, new))


def no_target(folder: Path) -> None:
    headerless(folder)
    change(folder, 'target = "label"\n', "")


def with_schema(folder: Path) -> None:
    headerless(folder)
    (folder / "schema.toml").write_text(SCHEMA)
    change(folder, 'target = "label"\n', 'schema = "schema.toml"\n')


def same_cells(folder: Path) -> None:
    headerless(folder, first=f"{MARK},{MARK},north,yes")


def only_the_target(folder: Path) -> None:
    headerless(folder, first=f"{MARK},44,north,label")


def of_the_test(folder: Path) -> None:
    headerless(folder, "test.csv")


def one_file(folder: Path) -> None:
    headerless(folder)
    change(folder, 'public = "public.csv"\ntest = "test.csv"\n', "public_rows = 50\n")


def as_parquet(folder: Path) -> None:
    rows = [{MARK: 1, "label": "no"}, {MARK: 2, "label": "yes"}]
    pq.write_table(pa.Table.from_pylist(rows), folder / "private.parquet")
    change(folder, '"private.csv"', '"private.parquet"')


def nested(folder: Path) -> None:
    rows = [{"age": {MARK: 1}, "label": "no"}, {"age": {MARK: 2}, "label": "yes"}]
    pq.write_table(pa.Table.from_pylist(rows), folder / "private.parquet")
    (folder / "schema.toml").write_text(SCHEMA)
    change(folder, '"private.csv"', '"private.parquet"')
    change(folder, 'target = "label"\n', 'schema = "schema.toml"\n')


def as_archive(folder: Path) -> None:
    np.savez(folder / "private.npz", **{MARK: np.zeros((3, 3)), "label": np.zeros(3)})
    change(folder, '"private.csv"', '"private.npz"')


def beside_x(folder: Path) -> None:
    np.savez(folder / "private.npz", **{MARK: np.zeros(3), "X": np.zeros((3, 3))})
    for name in ("public.csv", "test.csv", "private.csv"):
        change(folder, f'"{name}"', '"private.npz"')


def as_groups(folder: Path) -> None:
    (folder / "groups.csv").write_text(f"{MARK}\n\nold\n")
    change(folder, "epsilon = 6.0\n", "groups = { old = 1.0, young = 2.0 }\n")
    text = (folder / "run.toml").read_text()
    (folder / "run.toml").write_text(
        f'{text}\n[individual]\nmethod = "weighting"\ngroups = "groups.csv"\n'
    )


def unknown_label(folder: Path) -> None:
    """Classes that were read from private labels are not shown either."""
    path = folder / "private.csv"
    path.write_text(path.read_text().replace(",yes", f",{MARK}"))


SPOIL: list[Callable[[Path], None]] = [
    no_target, with_schema, same_cells, only_the_target, of_the_test, one_file, as_parquet, nested,
    as_archive, beside_x, as_groups, unknown_label,
]  # fmt: skip


@pytest.mark.parametrize("spoil", SPOIL, ids=lambda each: each.__name__)
def test_a_run_shows_no_name_that_a_private_file_gave(
    ballotine: Command, table: Path, spoil: Callable[[Path], None]
) -> None:
    spoil(table)
    ended = ballotine("run", "run.toml")
    close_log()
    assert ended.returncode in (2, 3), ended.stderr
    assert ended.stderr.count("error: ") == 1
    assert MARK not in ended.stdout + ended.stderr
    logs = [path.read_text() for path in table.rglob("*.log")]
    assert not any(MARK in text for text in logs)


@pytest.mark.parametrize("public", ["public.csv", None])
def test_nor_does_an_exception_or_one_behind_it(table: Path, public: str | None) -> None:
    path = headerless(table)
    spec = DataSpec(
        private=path,
        public=None if public is None else table / public,
        public_rows=50 if public is None else None,
        target="label",
    )
    with pytest.raises(BallotineError) as caught:
        load(spec)
    assert MARK not in "".join(traceback.format_exception(caught.value))


def test_arrays_of_votes_are_counted_and_not_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "votes.npz", **{MARK: np.zeros((2, 2)), "b": np.zeros((2, 2))})
    with pytest.raises(BallotineError, match="holds 2 arrays") as caught:
        open_votes(tmp_path / "votes.npz")
    assert MARK not in str(caught.value)


@pytest.mark.parametrize("budgets", ["1,2,3", "a=1", "a=1,b=2"])
def test_groups_of_a_file_are_counted_and_not_named(tmp_path: Path, budgets: str) -> None:
    (tmp_path / "groups.csv").write_text(f"teacher,group\n0,{MARK}\n1,young\n")
    groups = group_names(read_groups(tmp_path / "groups.csv"))
    with pytest.raises(BallotineError) as caught:
        parse_budgets(budgets, groups)
    assert MARK not in str(caught.value)
