"""Files: what is read, in which batches, and the message for each broken file."""

import csv as pycsv

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ballotine.data import sources
from ballotine.data.sources import (
    column_names,
    read_arrays,
    read_batches,
    read_table,
    source_kind,
)
from ballotine.errors import DataError

HOSTILE = [
    '=HYPERLINK("http://evil","x")',
    "<script>alert(1)</script>",
    "\x1b[31mred\x1b[0m\x07",
    'quote " and, comma',
    "two\nlines",
    "@SUM(A1)",
    "\u202ereversed",
    "NULL",
]


def write_csv(path, header, rows, **options):
    with path.open("w", newline="", encoding="utf-8") as file:
        pycsv.writer(file, **options).writerows([header, *rows])
    return path


def test_hostile_cells_and_names_are_carried_as_text(tmp_path):
    path = write_csv(tmp_path / "h.csv", ["=1+1", "\x1b[2J"], [[cell, "x"] for cell in HOSTILE])
    table = read_table(path)
    assert table.column_names == ["=1+1", "\x1b[2J"]
    assert table["=1+1"].to_pylist() == HOSTILE


def test_csv_is_text_whatever_it_looks_like(tmp_path, monkeypatch):
    """A column that turns from digits to words far into the file changes nothing."""
    monkeypatch.setattr(sources, "_BLOCK", 4096)
    rows = [[f"{i:05d}", ""] for i in range(3000)] + [["word", "1"]]
    path = write_csv(tmp_path / "t.csv", ["code", "rare"], rows)
    batches = list(read_batches(path))
    assert len(batches) > 3
    table = pa.concat_tables(batches)
    assert table["code"].to_pylist()[:2] == ["00000", "00001"]
    assert table["code"].to_pylist()[-1] == "word"
    assert table.num_rows == 3001


def test_quoted_line_breaks_survive_block_borders(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "_BLOCK", 256)
    cells = [f'line {i}\nand, "more"\n' for i in range(200)]
    path = write_csv(tmp_path / "q.csv", ["a", "b"], [[cell, "x"] for cell in cells])
    table = read_table(path)
    assert table["a"].to_pylist() == cells


def test_tsv_and_byte_order_mark(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_bytes("\ufeffa\tb\n1\t2\n".encode())
    assert column_names(path) == ["a", "b"]
    assert read_table(path).to_pydict() == {"a": ["1"], "b": ["2"]}


def test_parquet_comes_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "_BATCH_ROWS", 100)
    table = pa.table({"n": list(range(250)), "t": ["é"] * 250})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=120)
    batches = list(read_batches(tmp_path / "t.parquet"))
    assert max(batch.num_rows for batch in batches) <= 100
    assert pa.concat_tables(batches).to_pydict() == table.to_pydict()


def test_numpy_archives_are_arrays_or_columns(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.ones((2, 3)), y=np.array(["u", "v"]))
    np.savez(tmp_path / "c.npz", age=np.array([1.0, np.nan]), ward=np.array(["A", "B"]))
    np.save(tmp_path / "f.npy", np.zeros((4, 2)))
    assert source_kind(tmp_path / "a.npz") == source_kind(tmp_path / "f.npy") == "arrays"
    assert source_kind(tmp_path / "c.npz") == "table"
    arrays = read_arrays(tmp_path / "a.npz")
    assert arrays.X.shape == (2, 3)
    assert arrays.y is not None
    assert arrays.y.tolist() == ["u", "v"]
    assert read_arrays(tmp_path / "f.npy").y is None
    assert read_table(tmp_path / "c.npz").to_pydict() == {"age": [1.0, None], "ward": ["A", "B"]}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "is empty: it has no columns"),
        ("a.csv", b"\n\n", "is empty: it has no columns"),
        ("a.csv", b"a,b\n", "columns but no rows"),
        ("a.csv", b"a,b\n1,2\nSECRET\n", "a row has 1 cells where the header has 2"),
        ("a.csv", b"a,b\n1,2,SECRET\n", "a row has 3 cells where the header has 2"),
        ("a.csv", b"a,b\nSECRET\xff,2\n", "is not UTF-8 text"),
        ("a.csv", b"\xff\xfe,b\n1,2\n", "is not UTF-8 text"),
        ("a.csv", b"a,a\n1,2\n", "columns of the same name"),
        ("a.csv", b",a\n1,2\n", "a column without a name"),
        ("a.parquet", b"SECRET", "cannot be read as a Parquet file"),
        ("a.npz", b"SECRET", "cannot be read as a NumPy file"),
        ("a.npz", b"", "cannot be read as a NumPy file"),
        ("a.npy", b"SECRET", "cannot be read as a NumPy file"),
        ("a.xlsx", b"SECRET", "unknown extension; Ballotine reads .csv"),
    ],
)
def test_broken_files(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)

    def read():
        if source_kind(path) == "arrays":
            return read_arrays(path)
        return read_table(path)

    with pytest.raises(DataError) as caught:
        read()
    assert message in str(caught.value)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_rows_wider_than_a_block_are_refused_politely(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "_BLOCK", 64)
    path = write_csv(tmp_path / "w.csv", ["a", "b"], [["x" * 500, "y"]] * 3)
    with pytest.raises(DataError, match="not well-formed CSV"):
        read_table(path)


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(DataError, match=r"none\.csv does not exist"):
        source_kind(tmp_path / "none.csv")
    with pytest.raises(DataError, match="is not a file"):
        read_table(tmp_path)


def test_pickles_are_never_loaded(tmp_path):
    np.savez(tmp_path / "p.npz", X=np.array([object()], dtype=object))
    np.savez(tmp_path / "c.npz", a=np.array([{}], dtype=object))
    with pytest.raises(DataError, match="pickled objects, which are never loaded"):
        read_arrays(tmp_path / "p.npz")
    with pytest.raises(DataError, match="pickled objects, which are never loaded"):
        read_table(tmp_path / "c.npz")


def test_archives_with_other_arrays(tmp_path):
    np.savez(tmp_path / "o.npz", X=np.ones((2, 2)), weights=np.ones(2))
    with pytest.raises(DataError, match="should hold X and y"):
        read_arrays(tmp_path / "o.npz")
    np.savez(tmp_path / "l.npz", a=np.ones(2), b=np.ones(3))
    with pytest.raises(DataError, match="differ in length"):
        read_table(tmp_path / "l.npz")
    np.save(tmp_path / "n.npy", np.ones(2))
    (tmp_path / "n.npy").rename(tmp_path / "n.npz")
    with pytest.raises(DataError, match="cannot be read as a NumPy file"):
        source_kind(tmp_path / "n.npz")
