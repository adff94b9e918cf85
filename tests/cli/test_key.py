"""The commands for the holder's key."""

from __future__ import annotations

import json
from pathlib import Path

from ballotine.signing import check_signature
from tests.conftest import Command


def test_a_key_is_made_once_and_shown(ballotine: Command, own_home: Path) -> None:
    missing = ballotine("key", "show")
    assert missing.returncode == 2
    assert "ballotine key new" in missing.stderr
    made = ballotine("key", "new")
    assert made.returncode == 0, made.stderr
    assert (own_home / "holder.key").is_file()
    (fingerprint,) = [line for line in made.stdout.splitlines() if line.startswith("fingerprint: ")]
    shown = ballotine("key", "show").stdout
    assert fingerprint in shown.splitlines()
    assert (own_home / "holder.pub").read_text() in shown
    assert "PRIVATE" not in made.stdout + shown
    before = (own_home / "holder.key").read_bytes()
    again = ballotine("key", "new")
    assert again.returncode == 2
    assert "there is a key already" in again.stderr
    assert (own_home / "holder.key").read_bytes() == before


def test_a_passphrase_from_the_environment(ballotine: Command, own_home: Path) -> None:
    made = ballotine("key", "new", BALLOTINE_KEY_PASSPHRASE="correct horse")
    assert "with a passphrase" in made.stdout
    assert "correct horse" not in made.stdout + made.stderr
    assert b"ENCRYPTED" in (own_home / "holder.key").read_bytes()


def test_a_run_is_signed_once_there_is_a_key(ballotine: Command, table: Path) -> None:
    ran = ballotine("run", "run.toml")
    assert "ballotine key new" in ran.stdout
    card = table / "out" / "card.json"
    assert json.loads(card.read_text())["signed_by"] is None
    assert "is not signed" in (table / "out" / "card.md").read_text()
    assert not card.with_name("card.json.sig").exists()

    made = ballotine("key", "new").stdout
    resumed = ballotine("run", "--resume", "out")
    fingerprint = json.loads(card.read_text())["signed_by"]
    assert fingerprint in made
    assert fingerprint[:19] in resumed.stdout
    assert check_signature(card.read_bytes(), card) == fingerprint
    assert fingerprint in (table / "out" / "card.md").read_text()
    assert fingerprint in (table / "out" / "report.html").read_text()
    signature = card.with_name("card.json.sig").read_bytes()
    assert ballotine("report", "out").returncode == 0  # pages are not what is signed
    assert card.with_name("card.json.sig").read_bytes() == signature
    assert check_signature(card.read_bytes(), card) == fingerprint


def test_a_card_without_a_key_keeps_no_old_signature(
    ballotine: Command, table: Path, own_home: Path
) -> None:
    assert ballotine("key", "new").returncode == 0
    assert ballotine("run", "run.toml", "-q").returncode == 0
    (own_home / "holder.key").unlink()
    assert ballotine("run", "--resume", "out", "-q").returncode == 0
    assert json.loads((table / "out" / "card.json").read_text())["signed_by"] is None
    assert not (table / "out" / "card.json.sig").exists()


def test_a_missing_passphrase_is_told_before_anything_is_spent(
    ballotine: Command, table: Path
) -> None:
    assert ballotine("key", "new", BALLOTINE_KEY_PASSPHRASE="secret").returncode == 0
    refused = ballotine("run", "run.toml", BALLOTINE_KEY_PASSPHRASE="")
    assert refused.returncode == 2
    assert "BALLOTINE_KEY_PASSPHRASE" in refused.stderr
    assert not (table / "out").exists()
    assert not (table / "private.ledger.sqlite").exists()
    wrong = ballotine("run", "run.toml", BALLOTINE_KEY_PASSPHRASE="guess")
    assert wrong.returncode == 2
    assert "does not open" in wrong.stderr
    assert "guess" not in wrong.stderr
    assert not (table / "out").exists()
    assert ballotine("run", "run.toml", "-q", BALLOTINE_KEY_PASSPHRASE="secret").returncode == 0
    assert (table / "out" / "card.json.sig").is_file()
