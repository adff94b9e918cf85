"""A run's folder: who may read what, and what a failed start leaves behind."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ballotine.errors import RunFolderError
from ballotine.pipeline import Run, RunFile, create_folder, folder, open_folder, provisional_folder
from ballotine.pipeline.folder import close_log, discard_unused, open_log
from ballotine.report import build_card, write_card

PUBLIC = {"card.json", "card.md", "report.html", "student.skops", "answers.parquet"}


def test_only_what_may_leave_is_readable_by_others(table: Path) -> None:
    before = os.umask(0)
    try:
        settings = RunFile.load(table / "run.toml")
        place = create_folder(settings)
        write_card(place, build_card(Run(settings, place).execute()))
    finally:
        os.umask(before)
        close_log()
    files = {path for path in place.root.rglob("*") if path.is_file()}
    loose = {path.name for path in files if stat.S_IMODE(path.stat().st_mode) & 0o077}
    assert loose == PUBLIC
    assert {"run.toml", "run.log"} <= {path.name for path in files}
    assert stat.S_IMODE(place.private.stat().st_mode) == 0o700


def test_a_log_of_an_earlier_version_becomes_its_owners_alone(table: Path) -> None:
    create_folder(RunFile.load(table / "run.toml"))
    place, _ = open_folder(table / "out")
    place.log.write_text("earlier\n")
    place.log.chmod(0o644)
    open_log(place).info("later")
    close_log()
    assert stat.S_IMODE(place.log.stat().st_mode) == 0o600
    assert [line.split()[-1] for line in place.log.read_text().splitlines()] == [
        "earlier",
        "later",
    ]


def inside(table: Path) -> set[str]:
    return {str(path.relative_to(table)) for path in table.rglob("*")}


def test_a_folder_that_cannot_be_finished_is_not_begun(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a folder would be neither new nor a run's."""

    def fail(*_: object, **__: object) -> None:
        raise RunFolderError("run.toml cannot be written")

    text = (table / "run.toml").read_text().replace('"out"', '"deep/er/out"')
    (table / "run.toml").write_text(text)
    before = inside(table)
    with monkeypatch.context() as broken:
        broken.setattr(folder, "write_atomic", fail)
        with pytest.raises(RunFolderError, match="cannot be written"):
            create_folder(RunFile.load(table / "run.toml"))
    assert inside(table) == before
    assert create_folder(RunFile.load(table / "run.toml")).runfile.is_file()


@pytest.mark.parametrize("error", [RunFolderError, RuntimeError])
def test_a_failed_start_leaves_nothing_and_a_begun_run_everything(
    table: Path, error: type[Exception]
) -> None:
    text = (table / "run.toml").read_text().replace('"out"', '"deep/er/out"')
    (table / "run.toml").write_text(text)
    settings, before = RunFile.load(table / "run.toml"), inside(table)

    def fail(*, begun: bool) -> None:
        with provisional_folder(settings) as place:
            open_log(place).info("it starts")
            place.secret.write_bytes(b"secret")
            if begun:
                place.teachers.mkdir()
            raise error("a typo")

    with pytest.raises(error):
        fail(begun=False)
    assert inside(table) == before
    with pytest.raises(error):
        fail(begun=True)
    close_log()
    assert open_folder(table / "deep/er/out")[0].teachers.is_dir()


def test_what_is_the_holders_own_is_never_removed(table: Path) -> None:
    place = create_folder(RunFile.load(table / "run.toml"))
    (place.root / "notes.txt").write_text("mine")
    discard_unused(place)
    assert (place.root / "notes.txt").read_text() == "mine"
