"""Files that replace others: exclusive, unpredictable, never through links, whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

import pytest

from ballotine.errors import RunFolderError
from ballotine.files import open_new, produce_atomic, write_atomic


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_planted_link_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for place in ("card.json", f".card.json.{os.getpid()}.partial"):
        (tmp_path / place).symlink_to(victim)
    write_atomic(tmp_path / "card.json", "new", private=True)
    assert victim.read_text() == "precious"
    assert not (tmp_path / "card.json").is_symlink()
    assert (tmp_path / "card.json").read_text() == "new"


@pytest.mark.parametrize("linked", [True, False])
def test_a_partial_file_is_never_one_that_was_there(tmp_path: Path, linked: bool) -> None:
    place = tmp_path / "partial"
    (tmp_path / "victim").write_text("precious")
    if linked:
        place.symlink_to(tmp_path / "victim")
    else:
        place.write_text("precious")
    with pytest.raises(FileExistsError):
        open_new(place)
    assert place.read_text() == "precious"


def test_a_partial_file_has_a_name_nobody_knows_and_its_mode_from_the_start(tmp_path: Path) -> None:
    seen: list[str] = []

    def produce(stream: BinaryIO) -> None:
        (partial,) = tmp_path.iterdir()
        assert mode(partial) == 0o600
        seen.append(partial.name)
        stream.write(b"x")
        partial.unlink()
        partial.symlink_to(tmp_path / "elsewhere")
        stream.write(b"y")

    for number in range(2):
        produce_atomic(tmp_path / "secret", produce, private=True)
        assert not (tmp_path / "elsewhere").exists(), "it was written through a link"
        (tmp_path / "secret").unlink()
        assert len(set(seen)) == number + 1
    assert not any("secret" in name or str(os.getpid()) in name for name in seen)


def test_modes_follow_what_a_file_is(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_atomic(tmp_path / "private", "x", private=True)
        write_atomic(tmp_path / "public", "x")
    finally:
        os.umask(before)
    assert (mode(tmp_path / "private"), mode(tmp_path / "public")) == (0o600, 0o644)


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    write_atomic(tmp_path / "kept", "old")

    def fail(stream: BinaryIO) -> None:
        stream.write(b"half")
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        produce_atomic(tmp_path / "kept", fail)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept").read_text() == "old"


@pytest.mark.parametrize("name", ["n" * 300, "no/such/folder", ".", ""])
def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path, name: str) -> None:
    with pytest.raises(RunFolderError, match="cannot be written"):
        write_atomic(tmp_path / name, "x")
    assert list(tmp_path.iterdir()) == []


def test_the_longest_name_can_be_written(tmp_path: Path) -> None:
    write_atomic(tmp_path / ("n" * 255), "x")
    assert (tmp_path / ("n" * 255)).read_text() == "x"
