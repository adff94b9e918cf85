"""Checking the signature of a card or a receipt."""

from __future__ import annotations

from ballotine.errors import CardMismatchError
from ballotine.report.checking.statement import Statement
from ballotine.signing import check_signature, signature_of

UNSIGNED = "the {} is not signed: trust it only as far as the channel through which you got it"
NO_KEY = (
    "the signature was checked with the key beside the {}, which proves nothing about who signed: "
    "pass the holder's fingerprint, obtained through another channel, with --key"
)


def compare_signature(
    statement: Statement, key: str | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Check the signature, and the signer if the key is known.

    Returns:
        What was found to be true, and what the files alone cannot prove.
    """
    path, claimed = statement.path, statement.optional("signed_by")
    if not signature_of(path).is_file():
        if key is not None or claimed is not None:
            raise CardMismatchError(
                f"the {statement.name} should be signed, but {signature_of(path).name} is not "
                "beside it: do not rely on it"
            )
        return (), (UNSIGNED.format(statement.name),)
    found = check_signature(statement.raw, path)
    if key is not None and found != key:
        raise CardMismatchError(
            f"the {statement.name} was signed with another key than the one you trust: {found} "
            f"instead of {key}"
        )
    if claimed not in (None, found):
        raise CardMismatchError(
            f"the {statement.name} names another key than the one that signed it, {found}"
        )
    held = (f"signed with the key {found}",)
    return held, () if key is not None else (NO_KEY.format(statement.name),)
