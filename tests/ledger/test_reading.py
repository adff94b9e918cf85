"""Readers change nothing, never wait, and see one snapshot while others write."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ballotine.errors import LedgerError
from ballotine.ledger import Ledger, verify
from ballotine.privacy.guarantee import Budget
from ballotine.voting import GNMax
from tests.conftest import Command
from tests.ledger.conftest import BUDGET, answer, labels, opened, queries
from tests.ledger.test_migration import OLD

PLENTY = Budget(500.0, 1e-5)


def everything(folder: Path) -> dict[str, tuple[str, int, int]]:
    """Every file with its content, length and time."""
    return {
        file.name: (
            hashlib.sha256(file.read_bytes()).hexdigest(),
            file.stat().st_mtime_ns,
            file.stat().st_ino,
        )
        for file in sorted(folder.iterdir())
    }


@pytest.fixture
def used(path: Path) -> Path:
    with Ledger.open(path, BUDGET) as ledger:
        answer(ledger, 20)
    return path


def test_looking_changes_nothing(used: Path, ballotine: Command) -> None:
    before = everything(used.parent)
    assert list(before) == [used.name]
    for command in ("show", "verify", "export"):
        assert ballotine("ledger", command, used).returncode == 0
        assert everything(used.parent) == before, command
    with Ledger.existing(used) as one, Ledger.existing(used) as two:
        verify(one)
        assert two.spending().recorded == 20
    assert everything(used.parent) == before


def test_looking_through_a_link_changes_nothing(used: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = elsewhere / "link.sqlite"
    link.symlink_to(used)
    before = everything(used.parent / "elsewhere"), sorted(used.parent.iterdir())
    with Ledger.existing(link) as ledger:
        verify(ledger)
    assert (everything(used.parent / "elsewhere"), sorted(used.parent.iterdir())) == before


def test_a_refused_look_changes_nothing_either(used: Path) -> None:
    content = bytearray(used.read_bytes())
    content[60:64] = (99).to_bytes(4, "big")  # the version of the schema
    used.write_bytes(content)
    before = everything(used.parent)
    with pytest.raises(LedgerError, match="newer"):
        Ledger.existing(used)
    assert everything(used.parent) == before


def test_a_reader_leaves_what_a_writer_needs(used: Path) -> None:
    with Ledger.open(used, BUDGET) as writer:
        with Ledger.existing(used) as reader:
            answer(writer, 5, start=100)
            assert reader.spending().recorded == 25
        answer(writer, 5, start=200)
    with Ledger.existing(used) as reader:
        writer = Ledger.open(used, BUDGET)
        answer(writer, 5, start=300)
    answer(writer, 5, start=400)
    writer.close()
    with Ledger.existing(used) as reader:
        assert reader.spending().recorded == 40
        verify(reader)


def test_a_reader_cannot_write(used: Path) -> None:
    with Ledger.existing(used) as ledger, pytest.raises(LedgerError):
        answer(ledger, 1, start=500)


READ = """
import sys, pathlib
from ballotine.ledger import Ledger, verify
path = pathlib.Path(sys.argv[1])
try:
    (path.parent / "probe").touch()
except OSError:
    pass
else:
    sys.exit("the folder can be written to")
with Ledger.existing(path) as ledger:
    print(verify(ledger).queries, ledger.spending().recorded)
"""


def _namespaces() -> bool:
    return (
        shutil.which("unshare") is not None
        and subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode == 0
    )


def read_on_read_only_medium(path: Path) -> subprocess.CompletedProcess[str]:
    """Verify a ledger in a folder that is mounted read-only, for this one process."""
    folder = str(path.parent)
    script = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && exec "$2" -c "$3" "$4"'
    command = ["unshare", "-rm", "sh", "-c", script, "sh", folder, sys.executable, READ, str(path)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.skipif(not _namespaces(), reason="mounting needs namespaces of its own")
def test_a_ledger_on_read_only_media_opens_as_it_is(used: Path) -> None:
    before = everything(used.parent)
    ended = read_on_read_only_medium(used)
    assert (ended.stdout, ended.stderr) == ("20 20\n", "")
    assert everything(used.parent) == before


@pytest.mark.skipif(not _namespaces(), reason="mounting needs namespaces of its own")
def test_an_unfinished_ledger_on_read_only_media_is_refused_with_advice(tmp_path: Path) -> None:
    for file in OLD.glob("killed.sqlite*"):
        shutil.copy(file, tmp_path)
    ended = read_on_read_only_medium(tmp_path / "killed.sqlite")
    assert "copy all of them to a folder that you may write to" in ended.stderr


def as_somebody_else(act: Callable[[], None]) -> None:
    """Run this as a user without root's permissions."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            act()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_ledger_in_a_folder_of_others_can_be_read(used: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy = folder / "ledger.sqlite"
        shutil.copy(used, copy)
        copy.chmod(0o444)
        folder.chmod(0o555)
        before = everything(folder)

        def look() -> None:
            with pytest.raises(PermissionError):
                (folder / "probe").touch()
            with Ledger.existing(copy) as ledger:
                assert verify(ledger).queries == 20

        as_somebody_else(look)
        assert everything(folder) == before
        folder.chmod(0o755)


@contextmanager
def stopped(act: Callable[[Callable[[], None]], None]) -> Iterator[None]:
    """A process that is stopped in the middle of a transaction."""
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        act(lambda: (os.write(tell, b"!"), os.kill(os.getpid(), signal.SIGSTOP))[0])
        os._exit(0)
    try:
        assert os.read(told, 1) == b"!"
        os.waitpid(child, os.WUNTRACED)
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_readers_do_not_wait_for_a_stopped_writer(used: Path, ballotine: Command) -> None:
    """The stopped process never continues, so waiting for it would raise an error."""

    def write(stop: Callable[[], None]) -> None:
        ledger = Ledger.open(used, BUDGET)
        answer(ledger, 3, start=50)
        with ledger.store.writing() as pen:  # BEGIN IMMEDIATE
            pen.set_meta("half", b"written")
            stop()

    with stopped(write):
        for command in ("show", "verify", "export"):
            ended = ballotine("ledger", command, used)
            assert (ended.returncode, ended.stderr) == (0, "")
        with Ledger.existing(used) as ledger:
            assert ledger.spending().recorded == 23


def keep_writing(path: Path, done: Any) -> None:
    with Ledger.open(path, PLENTY) as ledger:
        session = opened(ledger, GNMax(300.0), chunk=1)
        number = 0
        while not done.is_set():
            labels(session, queries(5, number))
            number += 5


@pytest.mark.parametrize("kind", ["reader", "writer"])
def test_verify_sees_one_moment_while_others_write(path: Path, kind: str) -> None:
    """A regression: entries and queries were read separately, which looked like tampering."""
    with Ledger.open(path, PLENTY) as ledger:  # long enough for somebody to write meanwhile
        labels(opened(ledger, GNMax(300.0), chunk=1), queries(500, 10**6))
    fork = multiprocessing.get_context("fork")
    done = fork.Event()
    writer = fork.Process(target=keep_writing, args=(path, done))
    writer.start()
    try:
        heads = []
        while len(heads) < 40 or len(set(heads)) < 20:
            ledger = Ledger.existing(path) if kind == "reader" else Ledger.open(path, PLENTY)
            with ledger:
                heads.append(verify(ledger).head.seq)
    finally:
        done.set()
        writer.join()
    assert writer.exitcode == 0


def test_verify_sees_one_moment_whenever_somebody_writes(path: Path) -> None:
    with Ledger.open(path, PLENTY) as writer, Ledger.existing(path) as reader:
        session = opened(writer, GNMax(300.0), chunk=1)
        labels(session, queries(8))
        head = writer.head()
        more = iter(range(100, 200))

        def write(*_: object) -> None:
            labels(session, queries(1, next(more)))

        found = verify(reader, head, write)
        assert (found.head, found.queries) == (head, 8)
        assert verify(reader, head).queries == 8 + head.seq


def test_counts_and_head_of_a_reader_are_of_one_moment(path: Path) -> None:
    Ledger.open(path, PLENTY).close()
    fork = multiprocessing.get_context("fork")
    done = fork.Event()
    writer = fork.Process(target=keep_writing, args=(path, done))
    writer.start()
    try:
        seen = set()
        with Ledger.existing(path) as reader:
            while len(seen) < 40:
                with reader.snapshot():
                    spending, head = reader.spending(), reader.head()
                    last = list(reader.entries())[-1]
                    assert (last.seq, last.hash) == (head.seq, head.hash)
                    reserved = spending.asked - spending.recorded
                    assert head.seq == 1 + bool(spending.asked) + spending.asked * 2 - reserved
                seen.add(head.seq)
    finally:
        done.set()
        writer.join()
