"""A run's folder: who may read what, and what a failed start leaves behind."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ballotine.pipeline import Run, RunFile, create_folder, open_folder
from ballotine.pipeline.folder import close_log, open_log
from ballotine.report import build_card, write_card

PUBLIC = {"card.json", "card.md", "report.html", "student.skops", "answers.parquet"}


def test_only_what_may_leave_is_readable_by_others(table: Path) -> None:
    before = os.umask(0)
    try:
        settings = RunFile.load(table / "run.toml")
        folder = create_folder(settings)
        write_card(folder, build_card(Run(settings, folder).execute()))
    finally:
        os.umask(before)
        close_log()
    files = {path for path in folder.root.rglob("*") if path.is_file()}
    loose = {path.name for path in files if stat.S_IMODE(path.stat().st_mode) & 0o077}
    assert loose == PUBLIC
    assert {"run.toml", "run.log"} <= {path.name for path in files}
    assert stat.S_IMODE(folder.private.stat().st_mode) == 0o700


def test_a_log_of_an_earlier_version_becomes_its_owners_alone(table: Path) -> None:
    create_folder(RunFile.load(table / "run.toml"))
    folder, _ = open_folder(table / "out")
    folder.log.write_text("earlier\n")
    folder.log.chmod(0o644)
    open_log(folder).info("later")
    close_log()
    assert stat.S_IMODE(folder.log.stat().st_mode) == 0o600
    assert [line.split()[-1] for line in folder.log.read_text().splitlines()] == [
        "earlier",
        "later",
    ]
