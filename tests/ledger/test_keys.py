"""The key of a ledger's groups: created once, private to the holder, never in the ledger."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from ballotine.errors import BallotineError, HolderKeyError, LedgerError
from ballotine.ledger import Charge, GroupCharge, Ledger
from ballotine.ledger.keys import BYTES, group_key
from ballotine.privacy.events import GaussianCheck
from ballotine.privacy.guarantee import Budget
from tests.ledger.conftest import bound, queries

BUDGETS = {"low": Budget(2.0, 1e-5), "high": Budget(1.0, 1e-5)}
CHARGE = Charge(tuple((name, GroupCharge((GaussianCheck(30.0),))) for name in BUDGETS))


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with Ledger.open(path, BUDGETS) as ledger:
        yield ledger


def place(home: Path, ledger: Ledger) -> Path:
    return home / "ledgers" / f"{ledger.identity}.key"


def charge_groups(ledger: Ledger) -> None:
    ledger.reserve(queries(3), bound(CHARGE, groups="records:" + "a" * 64))


def test_a_key_is_made_once_for_its_owner_alone(ledger: Ledger, own_home: Path) -> None:
    key = group_key(ledger)
    assert len(key) == BYTES == 32
    file = place(own_home, ledger)
    assert file.read_bytes() == key
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) & 0o077 == 0
    made = file.stat().st_mtime_ns, file.stat().st_ino
    charge_groups(ledger)
    assert group_key(ledger) == key
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == made


def test_each_ledger_has_a_key_of_its_own(ledger: Ledger, tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "other.sqlite", BUDGETS) as other:
        assert group_key(other) != group_key(ledger)
    with Ledger.open(ledger.path, BUDGETS) as again:
        assert group_key(again) == group_key(ledger)


def test_the_key_never_lies_with_the_ledger(ledger: Ledger, path: Path, own_home: Path) -> None:
    key = group_key(ledger)
    charge_groups(ledger)
    ledger.close()
    for file in path.parent.rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            assert key not in content
            assert key.hex().encode() not in content
    assert path.parent not in place(own_home, ledger).parents


def test_a_lost_key_is_refused_and_says_where_it_was(ledger: Ledger, own_home: Path) -> None:
    group_key(ledger)
    charge_groups(ledger)
    file = place(own_home, ledger)
    file.unlink()
    with pytest.raises(LedgerError) as refused:
        group_key(ledger)
    assert str(file) in str(refused.value)
    assert not file.exists(), "a new key would not know anybody"


def test_a_lost_key_of_a_ledger_without_charged_groups_is_made_anew(
    ledger: Ledger, own_home: Path
) -> None:
    first = group_key(ledger)
    place(own_home, ledger).unlink()
    assert group_key(ledger) != first


@pytest.mark.parametrize("content", [b"", b"short", bytes(33)])
def test_a_file_that_is_no_key_is_refused(ledger: Ledger, own_home: Path, content: bytes) -> None:
    group_key(ledger)
    file = place(own_home, ledger)
    file.write_bytes(content)
    with pytest.raises(LedgerError, match="does not hold a key"):
        group_key(ledger)


def test_a_key_that_others_may_read_is_refused(ledger: Ledger, own_home: Path) -> None:
    group_key(ledger)
    place(own_home, ledger).chmod(0o640)
    with pytest.raises(HolderKeyError, match="chmod 600"):
        group_key(ledger)


def test_two_who_make_a_key_at_once_have_the_same(ledger: Ledger, path: Path) -> None:
    """The second process uses the key that the first created."""
    children, ends = [], []
    go, start = os.pipe()
    for _ in range(8):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            found = b"failed"
            try:
                with Ledger.open(path, BUDGETS) as own:
                    os.read(go, 1)
                    found = group_key(own)
            except BallotineError as problem:
                found = str(problem).encode()
            finally:
                os.write(write, found)
                os._exit(0)
        os.close(write)
        children.append(child)
        ends.append(read)
    os.write(start, b"." * 8)
    keys = {os.read(end, 1000) for end in ends}
    for child in children:
        os.waitpid(child, 0)
    assert keys == {group_key(ledger)}


def test_a_ledger_in_memory_keeps_its_key_there(own_home: Path) -> None:
    one, two = Ledger.open(None, BUDGETS), Ledger.open(None, BUDGETS)
    assert group_key(one) == group_key(one) != group_key(two)
    assert not own_home.exists()
