"""The holder's key as a person would make it."""

from __future__ import annotations

from pathlib import Path

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
