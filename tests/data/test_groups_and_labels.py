"""Columns that are not features: groups for individual budgets, and several labels."""

import csv
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ballotine.data import ColumnSchema, DataSpec, Schema, fingerprint, load, sources
from ballotine.data.groups import read_groups
from ballotine.data.target import label_words
from ballotine.errors import DataError, ParameterError
from ballotine.task import UNKNOWN, label_matrix


def write(path, columns):
    if path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
    return path


def patients(n, seed=0):
    """Rows whose numbers encode their group and their labels."""
    rng = np.random.default_rng(seed)
    number = rng.permutation(n) + 1000 * seed
    return {
        "number": number.astype(float).tolist(),
        "other": rng.normal(size=n).round(3).tolist(),
        "consent": [f"g{k % 3}" for k in number],
        "cough": [int(k % 2) for k in number],
        "fever": [int(k % 5 == 0) for k in number],
        "ill": ["yes" if k % 2 else "no" for k in number],
    }


def pick(columns, *names):
    return {name: columns[name] for name in names}


SCHEMA = Schema(columns={"number": ColumnSchema(low=0, high=10_000)})


@pytest.fixture
def grouped(tmp_path):
    private = pick(patients(80, 1), "number", "other", "consent", "ill")
    public = pick(patients(40, 2), "number", "other")
    return DataSpec(
        private=write(tmp_path / "private.csv", private),
        public=write(tmp_path / "public.csv", public),
        target="ill",
        classes=("no", "yes"),
        group_column="consent",
    )


@pytest.mark.parametrize("public_has_it", [False, True])
def test_a_column_of_groups_is_no_feature(tmp_path, grouped, public_has_it):
    if public_has_it:
        both = pick(patients(40, 2), "number", "other", "consent")
        grouped = replace(grouped, public=write(tmp_path / "both.csv", both))
    data = load(grouped)
    assert data.feature_names == ("number", "other")
    assert data.groups.tolist() == patients(80, 1)["consent"]
    assert load(replace(grouped, group_column=None, schema=SCHEMA)).groups is None


def test_without_individual_budgets_the_records_are_the_same_records(grouped):
    plain = replace(grouped, group_column=None, schema=SCHEMA)
    assert load(plain).fingerprint(b"s") == load(grouped).fingerprint(b"s")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_groups_travel_with_their_rows(tmp_path, monkeypatch, suffix):
    """Through batches, selection and a split, from a column and from a file beside it."""
    monkeypatch.setattr(sources, "_BLOCK", 256)
    monkeypatch.setattr(sources, "_BATCH_ROWS", 30)
    whole = pick(patients(200), "number", "consent", "ill")
    spec = DataSpec(
        private=write(tmp_path / f"all{suffix}", whole),
        target="ill",
        schema=SCHEMA,
        public_rows=50,
        test_rows=0.1,
        group_column="consent",
        split_seed=4,
    )
    beside = write(tmp_path / f"groups{suffix}", {"whatever": whole["consent"]})
    for each in (spec, replace(spec, group_column=None, groups=beside)):
        data = load(each)
        numbers = np.rint(data.X_private[:, 0] * 10_000).astype(int)
        assert len(numbers) == 130
        assert data.groups.tolist() == [f"g{k % 3}" for k in numbers]


def test_groups_of_arrays_and_named_sets_come_from_a_file(tmp_path):
    rng = np.random.default_rng(0)
    X, names = rng.normal(size=(60, 2)), np.where(np.arange(60) < 20, 1, 2)
    np.savez(tmp_path / "a.npz", X=X, y=rng.integers(0, 2, 60))
    np.save(tmp_path / "groups.npy", names)
    spec = DataSpec(private=tmp_path / "a.npz", public_rows=10, groups=tmp_path / "groups.npy")
    data = load(spec)
    where = {tuple(row): str(name) for row, name in zip(X, names, strict=True)}
    assert data.groups.tolist() == [where[tuple(row)] for row in data.X_private]
    digits = DataSpec(source="digits", groups=tmp_path / "wrong.npy")
    np.save(tmp_path / "wrong.npy", np.zeros(7))
    with pytest.raises(DataError, match="1797 rows in the set 'digits', but 7 groups"):
        load(digits)
    np.save(tmp_path / "right.npy", np.arange(1797) % 4)
    found = load(replace(digits, groups=tmp_path / "right.npy"))
    assert len(found.groups) == len(found.X_private)
    assert set(found.groups) == {"0", "1", "2", "3"}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"group_column": "agreement"}, DataError, "no column 'agreement'"),
        ({"group_column": "ill"}, ParameterError, "both groups and labels"),
        ({"groups": "g.csv"}, ParameterError, "not both"),
        (
            {"schema": Schema(columns={"consent": ColumnSchema(levels=("g0",))})},
            ParameterError,
            "'consent' cannot be a feature",
        ),
    ],
)
def test_groups_that_cannot_be(grouped, change, error, message):
    with pytest.raises(error, match=message):
        load(replace(grouped, **change))


def test_gaps_and_lengths_of_groups(tmp_path, grouped):
    gap = pick(patients(80, 1), "number", "other", "consent", "ill")
    gap["consent"][3] = ""
    with pytest.raises(DataError, match="rows without a group"):
        load(replace(grouped, private=write(tmp_path / "gap.csv", gap)))
    short = write(tmp_path / "short.csv", {"g": ["a"] * 79})
    without = replace(grouped, group_column=None, schema=SCHEMA)
    with pytest.raises(DataError, match="80 rows in the private data, but 79 groups"):
        load(replace(without, groups=short))
    two = write(tmp_path / "two.csv", {"a": [1], "b": [2]})
    with pytest.raises(DataError, match="must be in one column, but there are 2"):
        read_groups(two)
    with pytest.raises(ParameterError, match="no column of groups"):
        DataSpec(source="digits", group_column="x")
    np.savez(tmp_path / "a.npz", X=np.zeros((4, 2)), y=np.array([0, 1, 0, 1]))
    with pytest.raises(ParameterError, match="feature arrays have no column"):
        load(DataSpec(private=tmp_path / "a.npz", public_rows=1, group_column="x"))


@pytest.fixture
def labelled(tmp_path):
    columns = pick(patients(60, 1), "number", "other", "cough", "fever")
    return DataSpec(
        private=write(tmp_path / "private.csv", columns),
        public=write(tmp_path / "public.csv", pick(patients(30, 2), "number", "other")),
        test=write(
            tmp_path / "test.csv", pick(patients(20, 3), "number", "other", "cough", "fever")
        ),
        targets=("cough", "fever"),
    )


def test_several_labels_from_columns(tmp_path, labelled):
    data = load(labelled)
    assert data.task.several
    assert (data.classes, data.classes_from) == (("cough", "fever"), "schema")
    assert data.feature_names == ("number", "other")
    table = patients(60, 1)
    expected = np.column_stack([table["cough"], table["fever"]])
    assert data.y_private.tolist() == expected.tolist()
    assert data.y_public is None
    assert data.y_test.shape == (20, 2)
    assert not load(replace(labelled, targets=None, target="fever", schema=SCHEMA)).task.several
    turned = load(replace(labelled, targets=("fever", "cough")))
    assert turned.y_private.tolist() == data.y_private[:, ::-1].tolist()


def test_unknown_labels_and_spellings(tmp_path, labelled):
    table = pick(patients(60, 1), "number", "other", "cough", "fever")
    table["cough"][:6] = ["", "true", "FALSE", "1.0", "0", "-1"]
    data = load(replace(labelled, private=write(tmp_path / "odd.csv", table)))
    assert data.y_private[:6, 0].tolist() == [UNKNOWN, 1, 0, 1, 0, UNKNOWN]
    table["fever"][0] = "SECRET"
    with pytest.raises(DataError, match="'fever' of the private data must contain 0") as caught:
        load(replace(labelled, private=write(tmp_path / "bad.csv", table)))
    assert "SECRET" not in str(caught.value)


def test_several_labels_of_arrays_are_the_same_records_as_a_table(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.random((30, 2)), rng.integers(0, 2, (30, 3))
    y[4, 1] = UNKNOWN
    np.savez(tmp_path / "a.npz", X=X, y=y)
    np.savez(tmp_path / "public.npz", X=X[:5], y=y[:5])
    names = ("a", "b", "c")
    spec = DataSpec(private=tmp_path / "a.npz", public=tmp_path / "public.npz", targets=names)
    arrays = load(spec)
    assert arrays.y_private.tolist() == y.tolist()
    assert arrays.y_public.tolist() == y[:5].tolist()
    columns = {"u": X[:, 0].tolist(), "v": X[:, 1].tolist()}
    labels = {name: y[:, k].tolist() for k, name in enumerate(names)}
    table = load(
        DataSpec(
            private=write(tmp_path / "a.csv", columns | labels),
            public=write(tmp_path / "p.csv", {k: v[:5] for k, v in columns.items()}),
            targets=names,
        )
    )
    assert table.y_private.tolist() == y.tolist()
    assert table.fingerprint(b"s") == arrays.fingerprint(b"s")
    assert arrays.fingerprint(b"s") == fingerprint(X, label_words(y), b"s")
    y[7, 0] = 1 - y[7, 0]
    assert fingerprint(X, label_words(y), b"s") != arrays.fingerprint(b"s")
    by_schema = Schema(columns={"u": ColumnSchema(low=0, high=1), "v": ColumnSchema(low=0, high=1)})
    again = load(replace(spec, schema=by_schema))
    assert again.y_private.tolist() == arrays.y_private.tolist()


def test_targets_that_contradict(tmp_path, labelled):
    with pytest.raises(ParameterError, match="neither target nor classes"):
        replace(labelled, target="cough")
    with pytest.raises(ParameterError, match="twice"):
        replace(labelled, targets=("a", "a"))
    with pytest.raises(ParameterError, match="at least one"):
        replace(labelled, targets=())
    with pytest.raises(DataError, match="no column 'sneeze'"):
        load(replace(labelled, targets=("cough", "sneeze")))
    named = Schema(target="ill", columns={"number": ColumnSchema(low=0, high=1)})
    with pytest.raises(ParameterError, match="neither target nor classes"):
        load(replace(labelled, schema=named))
    np.savez(tmp_path / "a.npz", X=np.zeros((4, 2)), y=np.zeros((4, 3)))
    with pytest.raises(DataError, match=r"must have the shape \(rows, 2\), got \(4, 3\)"):
        load(DataSpec(private=tmp_path / "a.npz", public_rows=1, targets=("a", "b")))


@pytest.mark.parametrize(
    "bad", [np.array([0, 1]), np.array([[0, 2]]), np.array([["a"]]), np.array([[0.5, 1]])]
)
def test_matrices_that_are_no_labels(bad):
    with pytest.raises(DataError, match="labels of here must"):
        label_matrix(bad, None, "here")


def test_missing_numbers_are_unknown_labels():
    assert label_matrix([[0, np.nan], [1, -1]], 2, "here").tolist() == [[0, -1], [1, -1]]
    assert label_matrix([[True, False]], None, "here").tolist() == [[1, 0]]
