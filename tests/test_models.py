"""Models on disk: whatever is wrong with a file, the error is ours and no memory is wasted."""

from __future__ import annotations

import io
import json
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import ballotine.models
from ballotine.errors import RunFolderError
from ballotine.models import load_model, load_own_model, save_model


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.skops"
    fitted = LogisticRegression().fit(np.arange(8.0).reshape(4, 2), [0, 0, 1, 1])
    save_model(path, fitted)
    return path


def rewritten(path: Path, schema: Any, members: dict[str, bytes] | None = None) -> None:
    """The same archive with another schema, or with other arrays."""
    with zipfile.ZipFile(path) as archive:
        kept = {name: archive.read(name) for name in archive.namelist()}
    kept["schema.json"] = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (kept | (members or {})).items():
            archive.writestr(name, content)


def schema_of(path: Path) -> Any:
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("schema.json"))


def test_a_model_comes_back(model: Path) -> None:
    assert load_model(model).predict([[6.0, 7.0]]) == [1]
    assert load_own_model(model).predict([[0.0, 1.0]]) == [0]


@pytest.mark.parametrize("load", [load_model, load_own_model])
def test_damaged_models_are_errors_of_ours(model: Path, load: Any) -> None:
    whole = model.read_bytes()
    draw = np.random.default_rng(20)
    for _ in range(150):
        damaged = bytearray(whole)
        if draw.random() < 0.3:
            damaged = damaged[: draw.integers(len(damaged))]
        for _ in range(draw.integers(1, 6)):
            if damaged:
                damaged[draw.integers(len(damaged))] ^= 1 << draw.integers(8)
        model.write_bytes(damaged)
        with suppress(RunFolderError):  # some bits do not matter, and the model comes back
            load(model)


@pytest.mark.parametrize(
    "schema",
    [b"", b"\xff\xfe", b"[" * 100_000, b"null", b"[]", b"{}", b'{"content": 3}'],
    ids=["empty", "no text", "deep", "null", "list", "object", "number"],
)
def test_a_schema_that_is_none_is_an_error_of_ours(model: Path, schema: bytes) -> None:
    rewritten(model, schema)
    with pytest.raises(RunFolderError, match="not a readable model"):
        load_model(model)


@pytest.mark.parametrize("key", ["__class__", "__module__", "__loader__", "content", "protocol"])
@pytest.mark.parametrize("value", [None, 7, [], {}, "no.such"])
def test_a_schema_of_wrong_types_is_an_error_of_ours(model: Path, key: str, value: object) -> None:
    rewritten(model, schema_of(model) | {key: value})
    if (key, value) == ("content", None):  # an estimator may be without a state
        load_model(model)
        return
    with pytest.raises(RunFolderError):
        load_model(model)


def test_a_forged_array_asks_for_no_memory(model: Path) -> None:
    with zipfile.ZipFile(model) as archive:
        name = next(each for each in archive.namelist() if each.endswith(".npy"))
    forged = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**15,)}
    np.lib.format.write_array_header_1_0(forged, header)
    rewritten(model, schema_of(model), {name: forged.getvalue()})
    with pytest.raises(RunFolderError, match="OversizedError"):
        load_model(model)


def test_a_bomb_is_refused_before_it_is_unpacked(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ballotine.archives, "ALWAYS_ALLOWED", 1 << 16)
    with zipfile.ZipFile(model, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(8 << 20))
    with pytest.raises(RunFolderError, match="OversizedError"):
        load_model(model)


def test_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="No such file"):
        load_model(tmp_path / "absent.skops")


def test_what_was_checked_is_what_is_loaded(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the check of the types and the loading, the file may be exchanged."""
    check = ballotine.models._unknown_types

    def swap(path: Path, content: bytes) -> list[str]:
        found = check(path, content)
        path.write_bytes(b"something else")
        return found

    monkeypatch.setattr(ballotine.models, "_unknown_types", swap)
    assert load_model(model).predict([[6.0, 7.0]]) == [1]
