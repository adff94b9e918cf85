"""From the user's files to the arrays of a run."""

import csv as pycsv
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ballotine.data import ColumnSchema, DataSpec, Schema, load, sources
from ballotine.errors import DataError, ParameterError

SCHEMA = Schema(
    target="ill",
    classes=("no", "yes"),
    columns={"age": ColumnSchema(low=0, high=100), "ward": ColumnSchema(levels=("A", "B", "C"))},
)


def people(n, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "age": rng.integers(20, 90, n).astype(float).tolist(),
        "ward": rng.choice(["A", "B", "C"], n).tolist(),
        "ill": rng.choice(["no", "yes"], n).tolist(),
    }


def write(path, columns):
    if path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
    elif path.suffix == ".npz":
        np.savez(path, **{name: np.array(values) for name, values in columns.items()})
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = pycsv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
    return path


def without(columns, name):
    return {key: value for key, value in columns.items() if key != name}


@pytest.fixture
def files(tmp_path):
    """Private and public CSV files, the public one unlabelled."""
    return DataSpec(
        private=write(tmp_path / "private.csv", people(60, 1)),
        public=write(tmp_path / "public.csv", without(people(30, 2), "ill")),
        target="ill",
        schema=SCHEMA,
    )


def test_csv_parquet_and_npz_give_the_same_matrix_and_fingerprint(tmp_path, files):
    base = load(files)
    assert base.X_private.shape == (60, 4)
    assert base.n_features == 4
    for suffix in (".parquet", ".npz"):
        private = write(tmp_path / f"again{suffix}", people(60, 1))
        again = load(replace(files, private=private))
        assert again.X_private.tobytes() == base.X_private.tobytes()
        assert again.y_private.tolist() == base.y_private.tolist()
        assert again.fingerprint(b"s") == base.fingerprint(b"s")
    assert load(replace(files, private=tmp_path / "again.npz")).fingerprint(b"t") != (
        base.fingerprint(b"s")
    )


def test_row_order_does_not_change_the_fingerprint(tmp_path, files):
    table = people(60, 1)
    order = np.random.default_rng(3).permutation(60)
    turned = {name: [values[i] for i in order] for name, values in table.items()}
    again = load(replace(files, private=write(tmp_path / "turned.csv", turned)))
    assert again.fingerprint(b"s") == load(files).fingerprint(b"s")
    assert again.X_private.tobytes() != load(files).X_private.tobytes()


def test_with_a_schema_everything_comes_from_it(files):
    data = load(files)
    assert (data.classes, data.classes_from) == (("no", "yes"), "schema")
    assert data.preprocessing_from == "schema"
    assert data.public_from == "public file"
    assert data.feature_names == ("age", "ward=A", "ward=B", "ward=C")
    assert data.y_public is None
    assert data.X_test is None
    assert data.task.decode(np.array([1, 0])).tolist() == ["yes", "no"]
    assert (data.name, data.origin, data.verified) == ("private", "files", None)


def test_many_batches_are_one_matrix(files, monkeypatch):
    base = load(files)
    monkeypatch.setattr(sources, "_BLOCK", 64)
    assert load(files).X_private.tobytes() == base.X_private.tobytes()


def test_without_a_schema_ranges_and_levels_come_from_public_rows(tmp_path, files):
    private = people(60, 1)
    private["age"][0], private["ward"][0] = 1e6, "SECRET-WARD"
    spec = replace(files, schema=None, private=write(tmp_path / "odd.csv", private))
    data = load(spec)
    public = people(30, 2)["age"]
    assert data.preprocessing_from == "public data"
    assert data.classes_from == "private labels"
    assert data.feature_names == ("age", "ward=A", "ward=B", "ward=C")
    assert data.X_private[0].tolist() == [1, 0, 0, 0]
    age = (people(60, 1)["age"][1] - min(public)) / (max(public) - min(public))
    assert data.X_private[1, 0] == pytest.approx(min(max(age, 0), 1))


def test_private_rows_change_nothing_but_themselves(tmp_path, files):
    """Replacing one private record leaves every other row of every matrix alone."""
    spec = replace(files, schema=None, classes=("no", "yes"))
    base = load(spec)
    changed = people(60, 1)
    changed["age"][7], changed["ward"][7], changed["ill"][7] = -5e9, "Z", "yes"
    other = load(replace(spec, private=write(tmp_path / "changed.csv", changed)))
    keep = np.arange(60) != 7
    assert other.X_private[keep].tobytes() == base.X_private[keep].tobytes()
    assert other.X_public.tobytes() == base.X_public.tobytes()
    assert (other.classes, other.feature_names) == (base.classes, base.feature_names)


def test_labelled_public_rows(tmp_path, files):
    public = write(tmp_path / "labelled.csv", people(30, 2))
    spec = replace(files, public=public, schema=None)
    data = load(spec)
    assert data.classes_from == "public labels"
    assert data.y_public is not None
    assert data.task.decode(data.y_public).tolist() == people(30, 2)["ill"]
    silent = load(replace(spec, public_labels=False))
    assert (silent.y_public, silent.classes_from) == (None, "private labels")


def test_half_labelled_public_rows_count_as_unlabelled(tmp_path, files):
    public = people(30, 2)
    public["ill"][3] = ""
    spec = replace(files, public=write(tmp_path / "half.csv", public))
    assert load(spec).y_public is None
    with pytest.raises(DataError, match="should be labelled"):
        load(replace(spec, public_labels=True))
    with pytest.raises(DataError, match="should be labelled"):
        load(replace(files, public_labels=True))


def test_private_labels_beyond_the_classes_are_not_shown(tmp_path, files):
    private = people(60, 1)
    private["ill"][5] = "SECRET"
    spec = replace(files, private=write(tmp_path / "odd.csv", private))
    with pytest.raises(DataError, match="none of the classes") as caught:
        load(spec)
    assert "SECRET" not in str(caught.value)


def test_one_file_split_three_ways(tmp_path):
    private = write(tmp_path / "all.csv", people(100))
    spec = DataSpec(private=private, target="ill", public_rows=0.3, test_rows=10, split_seed=5)
    data = load(spec)
    assert (len(data.X_private), len(data.X_public)) == (60, 30)
    assert data.X_test is not None
    assert len(data.X_test) == 10
    assert data.public_from == "rows of the private file"
    assert data.y_public is not None
    assert load(spec).X_public.tobytes() == data.X_public.tobytes()
    assert load(replace(spec, split_seed=6)).X_public.tobytes() != data.X_public.tobytes()


def test_a_split_keeps_rows_whole(tmp_path, monkeypatch):
    """Labels travel with their features, through batches, selection and shuffling."""
    monkeypatch.setattr(sources, "_BLOCK", 512)
    monkeypatch.setattr(sources, "_BATCH_ROWS", 70)
    ids = list(range(500))
    table = {
        "id": [float(i) for i in ids],
        "parity": ["even" if i % 2 == 0 else "odd" for i in ids],
    }
    schema = Schema(columns={"id": ColumnSchema(low=0, high=1000)})
    for suffix in (".csv", ".parquet", ".npz"):
        spec = DataSpec(
            private=write(tmp_path / f"ids{suffix}", table),
            target="parity",
            schema=schema,
            public_rows=100,
            test_rows=0.2,
        )
        data = load(spec)
        seen = []
        for X, y in (
            (data.X_private, data.y_private),
            (data.X_public, data.y_public),
            (data.X_test, data.y_test),
        ):
            numbers = np.rint(X[:, 0] * 1000).astype(int)
            assert data.task.decode(y).tolist() == ["odd" if i % 2 else "even" for i in numbers]
            seen += numbers.tolist()
        assert sorted(seen) == ids


def test_test_rows_come_from_the_labelled_public_file(tmp_path, files):
    public = write(tmp_path / "labelled.csv", people(30, 2))
    data = load(replace(files, public=public, test_rows=10))
    assert (len(data.X_public), len(data.y_test)) == (20, 10)
    assert len(data.X_private) == 60
    with pytest.raises(DataError, match="no column 'ill'"):
        load(replace(files, test_rows=10))
    own = load(replace(files, test=write(tmp_path / "test.csv", people(5, 9)), test_rows=3))
    assert len(own.y_test) == 5


def test_arrays_are_used_as_they_are(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2, 3)), rng.integers(0, 3, 40)
    np.savez(tmp_path / "private.npz", X=X, y=y)
    np.save(tmp_path / "public.npy", X[:10].reshape(10, 6))
    data = load(DataSpec(private=tmp_path / "private.npz", public=tmp_path / "public.npy"))
    assert data.X_private.tobytes() == X.reshape(40, 6).tobytes()
    assert (data.classes, data.classes_from) == ((0, 1, 2), "private labels")
    assert data.preprocessing_from == "none"
    assert data.feature_names is None
    np.savez(tmp_path / "single.npz", X=X.astype(np.float32), y=y.astype(str))
    single = load(DataSpec(private=tmp_path / "single.npz", public_rows=10, classes=(2, 1, 0)))
    assert single.X_private.dtype == np.float32
    assert (single.classes, single.classes_from) == ((2, 1, 0), "schema")


def test_a_csv_of_the_same_numbers_is_the_same_data(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.random((30, 2)), rng.integers(0, 2, 30)
    np.savez(tmp_path / "a.npz", X=X, y=y)
    np.savez(tmp_path / "public.npz", X=X[:5])
    arrays = load(DataSpec(private=tmp_path / "a.npz", public=tmp_path / "public.npz"))
    columns = {"u": X[:, 0].tolist(), "v": X[:, 1].tolist(), "y": y.tolist()}
    private = write(tmp_path / "a.csv", columns)
    public = write(tmp_path / "public.csv", without(columns, "y"))
    table = load(DataSpec(private=private, public=public, target="y"))
    assert table.fingerprint(b"s") == arrays.fingerprint(b"s")
    assert table.X_private.tobytes() != arrays.X_private.tobytes()


def test_records_are_the_same_under_another_schema_or_public_file(tmp_path, files):
    """A budget belongs to the records: a run that scales them otherwise finds the same ledger."""
    base = load(files).fingerprint(b"s")
    wide = Schema(target="ill", columns={"age": ColumnSchema(low=-5, high=500)})
    assert load(replace(files, schema=wide)).fingerprint(b"s") == base
    other = write(tmp_path / "other.csv", without(people(7, 8), "ill"))
    assert load(replace(files, schema=None, public=other)).fingerprint(b"s") == base
    changed = people(60, 1)
    changed["ward"][0] = "Z" if changed["ward"][0] != "Z" else "A"
    again = replace(files, private=write(tmp_path / "changed.csv", changed))
    assert load(again).fingerprint(b"s") != base


def test_a_schema_fills_the_gaps_of_arrays(tmp_path):
    X = np.array([[50.0, np.nan], [np.nan, 3.0], [25.0, 1.0]])
    np.savez(tmp_path / "a.npz", X=X, y=np.array([0, 1, 1]))
    np.save(tmp_path / "p.npy", X[:2])
    spec = DataSpec(private=tmp_path / "a.npz", public=tmp_path / "p.npy")
    with pytest.raises(DataError, match="hold NaN; fill the gaps yourself, or give a schema"):
        load(spec)
    schema = Schema(
        columns={"a": ColumnSchema(low=0, high=100), "b": ColumnSchema(low=0, high=4, missing=0)}
    )
    data = load(replace(spec, schema=schema))
    assert data.X_private.tolist() == [[0.5, 0], [0.5, 0.75], [0.25, 0.25]]
    with pytest.raises(DataError, match=r"shape \(3, 2\), but the schema describes 1"):
        load(replace(spec, schema=Schema(columns={"a": ColumnSchema(low=0, high=1)})))


def test_schema_files_and_remarks(tmp_path, files):
    path = tmp_path / "s.toml"
    path.write_text(SCHEMA.to_toml())
    assert load(replace(files, schema=path)).notes == ()
    shouted = Schema(target="ill", columns={"ward": ColumnSchema(levels=("WARD A",))})
    (note,) = load(replace(files, schema=shouted)).notes
    assert "column 'ward'" in note


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"public": None}, DataError, "no public rows to answer"),
        ({"public": None, "public_rows": 60}, DataError, "no private rows are left"),
        ({"public": None, "public_rows": 0.001}, DataError, "public pool is empty"),
        ({"public": None, "public_rows": 70}, DataError, "60 rows cannot be split"),
        ({"public_rows": 5}, ParameterError, "public_rows is for data without"),
        ({"target": "sick"}, ParameterError, "'sick' in the run and 'ill' in the schema"),
        ({"target": "sick", "schema": None}, DataError, "has no column 'sick' among its"),
        (
            {"target": None, "schema": None},
            ParameterError,
            "name the target in the run",
        ),
        ({"private": "nowhere.csv"}, DataError, r"nowhere\.csv does not exist"),
        ({"schema": "nowhere.toml"}, DataError, "cannot be read"),
    ],
)
def test_what_cannot_be_loaded(files, change, error, message):
    with pytest.raises(error, match=message):
        load(replace(files, **change))


def test_columns_that_differ_are_named_if_they_are_public(tmp_path, files):
    public = without(people(30, 2), "ill")
    public["wing"] = public.pop("ward")
    spec = replace(files, public=write(tmp_path / "p.csv", public), schema=None)
    with pytest.raises(
        DataError, match="private data has no 'wing', and the public data lacks 1 of its columns"
    ) as caught:
        load(spec)
    assert "ward" not in str(caught.value)


def test_text_in_a_numeric_private_column_is_not_shown(tmp_path, files):
    private = people(60, 1)
    private["age"][4] = "SECRET"
    spec = replace(files, private=write(tmp_path / "odd.csv", private), schema=None)
    with pytest.raises(DataError, match="'age' of the private data should be numeric") as caught:
        load(spec)
    assert "SECRET" not in str(caught.value)


def test_files_of_different_kinds_and_widths(tmp_path, files):
    np.savez(tmp_path / "a.npz", X=np.ones((4, 2)), y=np.array([0, 1, 0, 1]))
    np.save(tmp_path / "w.npy", np.ones((4, 3)))
    arrays = DataSpec(private=tmp_path / "a.npz", public=tmp_path / "w.npy")
    with pytest.raises(DataError, match="has 2 features, but the public data has 3"):
        load(arrays)
    with pytest.raises(DataError, match="use one kind"):
        load(replace(files, private=tmp_path / "a.npz", schema=None))
    with pytest.raises(DataError, match="holds no labels"):
        load(DataSpec(private=tmp_path / "w.npy", public=tmp_path / "w.npy"))
    np.savez(tmp_path / "m.npz", X=np.ones((4, 3)), y=np.ones((4, 2)))
    with pytest.raises(DataError, match="must be one per row"):
        load(DataSpec(private=tmp_path / "m.npz", public=tmp_path / "w.npy"))


def test_too_few_and_too_many_classes(tmp_path, files):
    one = people(60, 1) | {"ill": ["no"] * 60}
    spec = replace(files, schema=None, private=write(tmp_path / "one.csv", one))
    with pytest.raises(DataError, match="fewer than two classes"):
        load(spec)
    many = {name: values * 30 for name, values in people(60, 1).items()}
    many["ill"] = [f"{i}.5" for i in range(1800)]
    with pytest.raises(DataError, match="looks like a quantity"):
        load(replace(spec, private=write(tmp_path / "many.csv", many)))
