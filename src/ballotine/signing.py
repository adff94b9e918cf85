"""The holder's signature: Ed25519 over the exact bytes of a card or a receipt.

A signature is 64 raw bytes in a separate file next to what it signs; the public key is a PEM
file beside both. OpenSSL, or any library with Ed25519, can check it without Ballotine.
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
_MAX_FILE_BYTES = 1 << 16  # a PEM key or a signature is far smaller
_MAX_PASSPHRASE_BYTES = 1023  # OpenSSL's limit

Ask = Callable[[], str | None]
"""Asks the user for the passphrase; returns None if there is no user to ask."""


@dataclass(frozen=True)
class Signer:
    """The holder's key, ready to sign."""

    _key: Ed25519PrivateKey = field(repr=False)

    @property
    def public(self) -> bytes:
        """The public key in PEM form."""
        return _pem(self._key.public_key())

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the public key, for people to compare."""
        return fingerprint_of(self.public)

    def sign(self, path: Path) -> None:
        """Sign the current content of a file; write the signature and the public key beside it."""
        write_atomic(path.with_name(PUBLIC_NAME), self.public)
        write_atomic(signature_of(path), self._key.sign(path.read_bytes()))

    def require_place(self, folder: Path) -> None:
        """Refuse a folder that holds another public key, which its signatures may need."""
        beside = folder / PUBLIC_NAME
        if beside.exists() and fingerprint_of(read_small(beside)) != self.fingerprint:
            raise HolderKeyError(
                f"{beside} is not your public key, and signatures in that folder may need it: "
                "choose another folder"
            )


def write_signed(path: Path, content: str, signer: Signer | None) -> None:
    """Write a document and its signature; an old signature is removed in any case."""
    signature_of(path).unlink(missing_ok=True)
    write_atomic(path, content)
    if signer is not None:
        signer.sign(path)


def key_path() -> Path:
    """Return the path of the holder's private key, whether or not it exists."""
    return holder_folder() / PRIVATE_NAME


def signature_of(path: Path) -> Path:
    """Return the path of a file's signature."""
    return path.with_name(path.name + ".sig")


def new_key(passphrase: str | None = None) -> Signer:
    """Create the holder's key; an existing one is never replaced."""
    if passphrase is not None and not 0 < len(_encoded(passphrase)) <= _MAX_PASSPHRASE_BYTES:
        raise HolderKeyError(f"a passphrase must have 1 to {_MAX_PASSPHRASE_BYTES} bytes")
    path = key_path()
    if os.path.lexists(path):
        raise HolderKeyError(
            f"there is a key already: {path}; cards that it signed are checked with its public "
            "key, so move both files elsewhere and keep them before you make another"
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
    """Return the holder's key, or None if there is none; raise if it cannot be used.

    Args:
        ask: asks the user for the passphrase if BALLOTINE_KEY_PASSPHRASE is not set.
    """
    path = key_path()
    if not os.path.lexists(path):
        return None
    content = read_private(path)
    try:
        return _signer(content, None, path)
    except TypeError:  # the library raises this for an encrypted key without a passphrase
        passphrase = os.environ.get(PASSPHRASE) or (ask() if ask else None)
    if not passphrase:
        raise HolderKeyError(
            f"the holder's key {path} has a passphrase: set {PASSPHRASE}, or use a terminal "
            "that can ask for it; nothing was spent"
        )
    return _signer(content, passphrase, path)


def holder_public_key() -> bytes:
    """Return the holder's public key (PEM) without asking for a passphrase."""
    path = key_path()
    if not os.path.lexists(path):
        raise HolderKeyError(f"there is no key at {path}; make one with: ballotine key new")
    beside = path.with_name(PUBLIC_NAME)
    if not beside.exists():  # derive it again from the private key
        signer = load_signer()
        assert signer is not None
        write_atomic(beside, signer.public)
    return read_small(beside)


def fingerprint_of(public: bytes) -> str:
    """Return the SHA-256 of the key's DER form (SubjectPublicKeyInfo), in groups of four digits."""
    der = _public(public).public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return _grouped(hashlib.sha256(der).hexdigest())


def read_fingerprint(typed: str) -> str:
    """Normalise a fingerprint that was typed or pasted."""
    digits = re.sub(r"[\s:.-]", "", typed).lower()
    if not _HEX.fullmatch(digits):
        raise ParameterError(
            "a fingerprint must have 64 hexadecimal digits, as `ballotine key show` prints it"
        )
    return _grouped(digits)


def check_signature(content: bytes, path: Path) -> str:
    """Check the signature beside a file with the public key beside it.

    Args:
        content: the bytes of the file, as they were read.
        path: the file.

    Returns:
        The fingerprint of the key. Whose key it is must be established by other means.
    """
    beside = path.with_name(PUBLIC_NAME)
    if not beside.is_file():
        raise CardMismatchError(
            f"{path.name} has a signature, but {PUBLIC_NAME} is not beside it: get it from the "
            "signer"
        )
    public, signature = read_small(beside), read_small(signature_of(path))
    try:
        _public(public).verify(signature, content)
    except InvalidSignature:
        raise CardMismatchError(
            f"the signature of {path.name} does not match: the file was changed after it was "
            "signed, or another key signed it"
        ) from None
    return fingerprint_of(public)


def read_small(path: Path) -> bytes:
    """Read an untrusted key or signature file, up to a maximal size."""
    try:
        with path.open("rb") as stream:
            content = stream.read(_MAX_FILE_BYTES + 1)
    except OSError as problem:
        raise DataError(f"{path} cannot be read ({problem.strerror})") from problem
    if len(content) > _MAX_FILE_BYTES:
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
    """Return the bytes of the environment variable, whatever its encoding."""
    return passphrase.encode("utf-8", "surrogateescape")


def _pem(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def _grouped(digits: str) -> str:
    return ":".join(digits[start : start + 4] for start in range(0, len(digits), 4))
