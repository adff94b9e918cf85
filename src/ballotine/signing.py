"""The holder's signature: Ed25519 over the exact bytes of a card or a receipt.

A signature is 64 raw bytes in a file of its own, next to what it signs; the public key is a
PEM file beside both. OpenSSL, or any library that knows Ed25519, checks it without Ballotine.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from ballotine.errors import CardMismatchError, DataError, HolderKeyError, ParameterError
from ballotine.files import write_atomic
from ballotine.holder import create_private, holder_folder, read_private

PASSPHRASE = "BALLOTINE_KEY_PASSPHRASE"
PRIVATE_NAME, PUBLIC_NAME = "holder.key", "holder.pub"
_HEX = re.compile(r"[0-9a-f]{64}")
_LARGEST = 1 << 16  # bytes: a PEM key and a signature are far smaller
_LONGEST = 1023  # bytes of a passphrase that OpenSSL takes

Ask = Callable[[], str | None]
"""Asks a person for the passphrase; None where there is nobody to ask."""


@dataclass(frozen=True)
class Signer:
    """The holder's key, ready to sign."""

    _key: Ed25519PrivateKey = field(repr=False)

    @property
    def public(self) -> bytes:
        """The public key, as a PEM file."""
        return _pem(self._key.public_key())

    @property
    def fingerprint(self) -> str:
        """What people compare."""
        return fingerprint_of(self.public)

    def sign(self, path: Path) -> None:
        """Sign a file as it stands; signature and public key are written beside it."""
        write_atomic(path.with_name(PUBLIC_NAME), self.public)
        write_atomic(signature_of(path), self._key.sign(path.read_bytes()))

    def require_place(self, folder: Path) -> None:
        """Refuse a folder whose files were signed by another key: they need its public half."""
        beside = folder / PUBLIC_NAME
        if beside.exists() and fingerprint_of(read_small(beside)) != self.fingerprint:
            raise HolderKeyError(
                f"{beside} is another key than yours, and signatures in that folder may rest on "
                "it: choose another folder"
            )


def write_signed(path: Path, content: str, signer: Signer | None) -> None:
    """Write a document and its signature; a signature of an earlier version never stays."""
    signature_of(path).unlink(missing_ok=True)
    write_atomic(path, content)
    if signer is not None:
        signer.sign(path)


def key_path() -> Path:
    """Where the holder's private key is, or would be."""
    return holder_folder() / PRIVATE_NAME


def signature_of(path: Path) -> Path:
    """The name of a file's signature."""
    return path.with_name(path.name + ".sig")


def new_key(passphrase: str | None = None) -> Signer:
    """Make the holder's key; an existing one is never replaced."""
    if passphrase is not None and not 0 < len(_encoded(passphrase)) <= _LONGEST:
        raise HolderKeyError(f"a passphrase has between 1 and {_LONGEST} bytes")
    path = key_path()
    if os.path.lexists(path):
        raise HolderKeyError(
            f"there is a key already: {path}; cards it signed are checked with its public half, "
            "so move both away and keep them before you make another"
        )
    key = Ed25519PrivateKey.generate()
    how: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if passphrase is not None:
        how = serialization.BestAvailableEncryption(_encoded(passphrase))
    content = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, how)
    create_private(path, content)
    signer = Signer(key)
    write_atomic(path.with_name(PUBLIC_NAME), signer.public)
    return signer


def load_signer(ask: Ask | None = None) -> Signer | None:
    """The holder's key, or None if none was made; raises if it cannot be used.

    Args:
        ask: how to ask a person for the passphrase, where BALLOTINE_KEY_PASSPHRASE is not set.
    """
    path = key_path()
    if not os.path.lexists(path):
        return None
    content = read_private(path)
    try:
        return _signer(content, None, path)
    except TypeError:  # how the library says that there is a passphrase
        passphrase = os.environ.get(PASSPHRASE) or (ask() if ask else None)
    if not passphrase:
        raise HolderKeyError(
            f"the holder's key {path} has a passphrase: set {PASSPHRASE}, or work at a terminal "
            "that can ask for it; nothing was spent"
        )
    return _signer(content, passphrase, path)


def holder_public_key() -> bytes:
    """The public half of the holder's key (PEM), without asking for a passphrase."""
    path = key_path()
    if not os.path.lexists(path):
        raise HolderKeyError(f"there is no key at {path}; make one with: ballotine key new")
    beside = path.with_name(PUBLIC_NAME)
    if not beside.exists():  # lost: the private key knows it
        signer = load_signer()
        assert signer is not None
        write_atomic(beside, signer.public)
    return read_small(beside)


def fingerprint_of(public: bytes) -> str:
    """SHA-256 of the key's DER form (SubjectPublicKeyInfo), in groups of four digits."""
    der = _public(public).public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return _grouped(hashlib.sha256(der).hexdigest())


def read_fingerprint(typed: str) -> str:
    """A fingerprint as somebody typed or pasted it, in the usual form."""
    digits = re.sub(r"[\s:.-]", "", typed).lower()
    if not _HEX.fullmatch(digits):
        raise ParameterError(
            "a fingerprint has 64 hexadecimal digits, as `ballotine key show` prints them"
        )
    return _grouped(digits)


def check_signature(content: bytes, path: Path) -> str:
    """Check the signature beside a file, by the public key beside it.

    Args:
        content: the bytes of the file, as they were read.
        path: the file.

    Returns:
        The fingerprint of the key. Whose key it is must be known from elsewhere.
    """
    beside = path.with_name(PUBLIC_NAME)
    if not beside.is_file():
        raise CardMismatchError(
            f"{path.name} has a signature, but {PUBLIC_NAME} is not beside it: get it from whoever "
            "signed"
        )
    public, signature = read_small(beside), read_small(signature_of(path))
    try:
        _public(public).verify(signature, content)
    except InvalidSignature:
        raise CardMismatchError(
            f"the signature of {path.name} does not fit: the file was changed after it was "
            "signed, or another key signed it"
        ) from None
    return fingerprint_of(public)


def read_small(path: Path) -> bytes:
    """A key or a signature, from anybody: not more than these can have."""
    try:
        with path.open("rb") as stream:
            content = stream.read(_LARGEST + 1)
    except OSError as problem:
        raise DataError(f"{path} cannot be read ({problem.strerror})") from problem
    if len(content) > _LARGEST:
        raise DataError(f"{path} is too large for a key or a signature")
    return content


def _signer(content: bytes, passphrase: str | None, path: Path) -> Signer:
    try:
        key = serialization.load_pem_private_key(
            content, None if passphrase is None else _encoded(passphrase)
        )
    except (ValueError, UnsupportedAlgorithm) as problem:
        what = "does not open with this passphrase" if passphrase else "is not a private key"
        raise HolderKeyError(f"{path} {what}; nothing was spent") from problem
    if not isinstance(key, Ed25519PrivateKey):
        raise HolderKeyError(f"{path} is not an Ed25519 key; make one with: ballotine key new")
    return Signer(key)


def _public(content: bytes) -> Ed25519PublicKey:
    try:
        key = serialization.load_pem_public_key(content)
    except (ValueError, UnsupportedAlgorithm) as problem:
        raise DataError(f"{PUBLIC_NAME} is not a public key in PEM form") from problem
    if not isinstance(key, Ed25519PublicKey):
        raise DataError(f"{PUBLIC_NAME} is not an Ed25519 key")
    return key


def _encoded(passphrase: str) -> bytes:
    """As the environment gave it, whatever its encoding."""
    return passphrase.encode("utf-8", "surrogateescape")


def _pem(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def _grouped(digits: str) -> str:
    return ":".join(digits[start : start + 4] for start in range(0, len(digits), 4))
