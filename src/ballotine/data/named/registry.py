"""The named data sets, read from sets.toml: their descriptions and where they come from."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from ballotine.data.layout import ImageShape
from ballotine.data.named import openml, readers
from ballotine.data.named.fetch import Package
from ballotine.errors import DataError
from ballotine.text import quoted


@dataclass(frozen=True)
class File:
    """A file that may be in a data folder; the checksum is None where none is pinned."""

    name: str
    reader: readers.Reader
    sha256: str | None = None


@dataclass(frozen=True)
class OpenML:
    """A set on OpenML, and the converter of its table."""

    data_id: int
    convert: openml.Converter


@dataclass(frozen=True)
class SetEntry:
    """The public description of a named set, and the routes to it."""

    name: str
    description: str
    task: Literal["single-label", "multi-label"]
    form: Literal["image", "table"]
    rows: int
    test_rows: int
    features: int
    classes: tuple[str | int, ...] | None
    n_classes: int
    licence: str
    origin: str
    image_shape: ImageShape | None = None
    contents: tuple[tuple[str, ...], ...] = ()
    files: tuple[File, ...] = ()
    installed: tuple[Path, readers.Reader] | None = None
    openml: OpenML | None = None
    package: Package | None = None

    @property
    def embedded(self) -> bool:
        """Whether the set is part of scikit-learn and needs no file."""
        return not (self.files or self.openml or self.package)


@cache
def registry() -> Mapping[str, SetEntry]:
    """Return all named sets, in listing order."""
    text = (resources.files("ballotine.data.named") / "sets.toml").read_text(encoding="utf-8")
    entries = {name: _entry(name, fields) for name, fields in tomllib.loads(text).items()}
    return MappingProxyType(entries)


def entry(name: str) -> SetEntry:
    """Return the entry of a named set; underscores and capitals do not matter.

    Raises:
        DataError: there is no set of this name.
    """
    known = registry()
    wanted = name.strip().lower()
    for spelling in (wanted, wanted.replace("_", "-"), wanted.replace("-", "_")):
        if spelling in known:
            return known[spelling]
    raise DataError(f"there is no data set named {quoted([name])}; there are {quoted(known, 20)}")


def _entry(name: str, fields: dict[str, Any]) -> SetEntry:
    classes = fields.pop("classes")
    package = fields.pop("package", None)
    archive = _archive(package) if package else None
    files = [File(f["name"], _reader(f), f.get("sha256")) for f in fields.pop("files", [])]
    shape, contents = fields.pop("image_shape", None), fields.pop("contents", [])
    online, installed = fields.pop("openml", None), fields.pop("installed", None)
    return SetEntry(
        name=name,
        classes=None if isinstance(classes, int) else tuple(classes),
        n_classes=classes if isinstance(classes, int) else len(classes),
        image_shape=(shape[0], shape[1], shape[2]) if shape else None,
        contents=tuple(tuple(pair) for pair in contents),
        # The package comes first: if there is also a smaller copy, the package is complete.
        files=((archive[0],) if archive else ()) + tuple(files),
        installed=(Path(installed["folder"]), _reader(installed)) if installed else None,
        openml=OpenML(online["id"], getattr(openml, online["convert"])) if online else None,
        package=archive[1] if archive else None,
        **fields,
    )


def _archive(fields: dict[str, Any]) -> tuple[File, Package]:
    file = File(fields["filename"], _reader(fields), fields["sha256"])
    kept = {key: value for key, value in fields.items() if key not in {"reader", "options"}}
    return file, Package(**kept, options=tuple(fields.get("options", ())))


def _reader(fields: dict[str, Any]) -> readers.Reader:
    reader: readers.Reader = getattr(readers, fields["reader"])
    return reader
