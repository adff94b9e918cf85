"""The holder's key and its signatures: made once, kept private, checked by other programs too."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

from ballotine.errors import CardMismatchError, DataError, HolderKeyError, ParameterError
from ballotine.holder import create_private, holder_folder, read_private
from ballotine.signing import (
    check_signature,
    fingerprint_of,
    holder_public_key,
    key_path,
    load_signer,
    new_key,
    read_fingerprint,
    signature_of,
)

OPENSSL = shutil.which("openssl")
needs_openssl = pytest.mark.skipif(OPENSSL is None, reason="OpenSSL is another program")


def openssl(*arguments: object) -> subprocess.CompletedProcess[bytes]:
    assert OPENSSL is not None
    return subprocess.run([OPENSSL, *map(str, arguments)], capture_output=True, timeout=60)


@pytest.fixture
def signed(tmp_path: Path) -> Path:
    """A file with the holder's signature and public key beside it."""
    path = tmp_path / "card.json"
    path.write_bytes('{"ε": 1}\n'.encode())
    new_key().sign(path)
    return path


class TestFolder:
    def test_the_settings_folder_of_the_user(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("BALLOTINE_HOME", str(tmp_path / "named"))
        assert holder_folder() == tmp_path / "named"
        monkeypatch.delenv("BALLOTINE_HOME")
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
        assert holder_folder() == tmp_path / "settings" / "ballotine"
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        for ignored in ("relative/path", ""):
            monkeypatch.setenv("XDG_CONFIG_HOME", ignored)
            assert holder_folder() == tmp_path / "home" / ".config" / "ballotine"

    def test_a_secret_is_private_and_never_replaced(self, tmp_path: Path) -> None:
        path = tmp_path / "deep" / "holder" / "x.key"
        create_private(path, b"first")
        with pytest.raises(HolderKeyError, match="exists already"):
            create_private(path, b"second")
        assert read_private(path) == b"first"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert [each.name for each in path.parent.iterdir()] == ["x.key"]

    def test_a_link_planted_in_its_place_is_not_followed(self, tmp_path: Path) -> None:
        (tmp_path / "x.key").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(HolderKeyError, match="exists already"):
            create_private(tmp_path / "x.key", b"secret")
        assert not (tmp_path / "elsewhere").exists()

    @pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
    def test_a_secret_that_others_can_read_is_refused(self, tmp_path: Path, mode: int) -> None:
        create_private(tmp_path / "x.key", b"secret")
        (tmp_path / "x.key").chmod(mode)
        with pytest.raises(HolderKeyError, match="chmod 600"):
            read_private(tmp_path / "x.key")

    def test_a_folder_that_cannot_be_made_is_a_sentence(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(HolderKeyError, match="cannot be written"):
            create_private(tmp_path / "file" / "x.key", b"secret")


class TestKey:
    def test_there_is_none_until_it_is_made(self) -> None:
        assert load_signer() is None
        with pytest.raises(HolderKeyError, match="ballotine key new"):
            holder_public_key()

    def test_it_is_made_once(self, own_home: Path) -> None:
        made = new_key()
        assert key_path().is_relative_to(own_home)
        assert stat.S_IMODE(key_path().stat().st_mode) == 0o600
        with pytest.raises(HolderKeyError, match="there is a key already"):
            new_key()
        loaded = load_signer()
        assert loaded is not None
        assert loaded.fingerprint == made.fingerprint == fingerprint_of(holder_public_key())
        assert "key" not in repr(loaded).replace("_key", "")

    def test_a_passphrase_is_needed_and_must_fit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made = new_key("correct horse")
        assert b"ENCRYPTED" in key_path().read_bytes()
        with pytest.raises(HolderKeyError, match=r"BALLOTINE_KEY_PASSPHRASE.*nothing was spent"):
            load_signer()
        with pytest.raises(HolderKeyError, match="does not open"):
            load_signer(lambda: "wrong")
        asked = load_signer(lambda: "correct horse")
        monkeypatch.setenv("BALLOTINE_KEY_PASSPHRASE", "correct horse")
        told = load_signer(lambda: pytest.fail("nobody need be asked"))
        assert asked is not None
        assert told is not None
        assert asked.fingerprint == told.fingerprint == made.fingerprint

    @pytest.mark.parametrize("passphrase", ["", "x" * 1024])
    def test_an_impossible_passphrase_makes_no_key(self, passphrase: str) -> None:
        with pytest.raises(HolderKeyError, match="passphrase"):
            new_key(passphrase)
        assert load_signer() is None

    def test_the_public_half_can_be_had_again(self) -> None:
        made = new_key()
        key_path().with_name("holder.pub").unlink()
        assert fingerprint_of(holder_public_key()) == made.fingerprint

    @pytest.mark.parametrize("content", [b"", b"not a key", b"-----BEGIN PRIVATE KEY-----\nAA=="])
    def test_a_broken_key_is_a_sentence(self, content: bytes) -> None:
        create_private(key_path(), content)
        with pytest.raises(HolderKeyError, match="not a private key"):
            load_signer()

    def test_a_key_of_another_kind_is_a_sentence(self) -> None:
        other = generate_private_key(SECP256R1()).private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        create_private(key_path(), other)
        with pytest.raises(HolderKeyError, match="Ed25519"):
            load_signer()


class TestSignature:
    def test_it_is_64_bytes_and_fits(self, signed: Path) -> None:
        assert len(signature_of(signed).read_bytes()) == 64
        found = check_signature(signed.read_bytes(), signed)
        assert found == fingerprint_of(holder_public_key())

    def test_any_changed_bit_is_found(self, signed: Path) -> None:
        content, signature = signed.read_bytes(), signature_of(signed).read_bytes()
        for place in range(8 * len(content)):
            changed = bytearray(content)
            changed[place // 8] ^= 1 << place % 8
            with pytest.raises(CardMismatchError, match="does not match"):
                check_signature(bytes(changed), signed)
        for place in range(8 * len(signature)):
            changed = bytearray(signature)
            changed[place // 8] ^= 1 << place % 8
            signature_of(signed).write_bytes(changed)
            with pytest.raises(CardMismatchError, match="does not match"):
                check_signature(content, signed)

    def test_odd_signatures_and_keys_are_sentences(self, signed: Path) -> None:
        content, beside = signed.read_bytes(), signed.with_name("holder.pub")
        for odd in (b"", b"\0" * 63, b"\0" * 65, os.urandom(1 << 17)):
            signature_of(signed).write_bytes(odd)
            with pytest.raises((CardMismatchError, DataError)):
                check_signature(content, signed)
        public = beside.read_bytes()
        for odd in (b"", b"PEM", public[:40], b"\xff" * 1000, os.urandom(1 << 17)):
            beside.write_bytes(odd)
            with pytest.raises(DataError):
                check_signature(content, signed)
        beside.unlink()
        with pytest.raises(CardMismatchError, match=r"holder\.pub is not beside it"):
            check_signature(content, signed)

    def test_a_folder_of_somebody_elses_signatures_is_left_alone(
        self, signed: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        first = load_signer()
        assert first is not None
        first.require_place(signed.parent)
        monkeypatch.setenv("BALLOTINE_HOME", str(tmp_path / "other"))
        with pytest.raises(HolderKeyError, match="choose another folder"):
            new_key().require_place(signed.parent)


class TestWithoutBallotine:
    """Checks that a reviewer can run without trusting this code."""

    def command(self, signed: Path) -> subprocess.CompletedProcess[bytes]:
        return openssl(
            "pkeyutl", "-verify", "-pubin", "-inkey", signed.with_name("holder.pub"), "-rawin",
            "-in", signed, "-sigfile", signature_of(signed),
        )  # fmt: skip

    @needs_openssl
    def test_openssl_checks_the_signature(self, signed: Path) -> None:
        done = self.command(signed)
        assert done.returncode == 0, done.stderr
        signed.write_bytes(signed.read_bytes().replace(b"1", b"2"))
        assert self.command(signed).returncode != 0

    @needs_openssl
    def test_openssl_gives_the_same_fingerprint(self, signed: Path) -> None:
        public = signed.with_name("holder.pub")
        done = openssl("pkey", "-pubin", "-in", public, "-outform", "DER")
        assert done.returncode == 0, done.stderr
        digits = hashlib.sha256(done.stdout).hexdigest()
        assert fingerprint_of(public.read_bytes()).replace(":", "") == digits

    @needs_openssl
    def test_openssl_opens_a_key_with_a_passphrase(self) -> None:
        made = new_key("correct horse")
        opened = openssl("pkey", "-in", key_path(), "-passin", "pass:correct horse", "-pubout")
        assert opened.stdout == made.public
        assert openssl("pkey", "-in", key_path(), "-passin", "pass:wrong").returncode != 0


def test_a_fingerprint_may_be_typed_as_one_likes() -> None:
    digits = hashlib.sha256(b"").hexdigest()
    usual = read_fingerprint(digits)
    assert usual.replace(":", "") == digits
    assert {len(part) for part in usual.split(":")} == {4}
    assert read_fingerprint(f"  {usual.upper().replace(':', ' ')}\n") == usual
    for wrong in ("", digits[:-1], digits + "0", "g" * 64, "é" * 64):
        with pytest.raises(ParameterError, match="64 hexadecimal"):
            read_fingerprint(wrong)
