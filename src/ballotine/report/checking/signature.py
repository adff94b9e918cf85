"""Who signed a card or a receipt."""

from __future__ import annotations

from ballotine.errors import CardMismatchError
from ballotine.report.checking.statement import Statement
from ballotine.signing import check_signature, signature_of

UNSIGNED = "the {} is not signed: it is worth as much as the way by which you got it"
NO_KEY = (
    "the signature was checked by the key beside the {}, which proves nothing about who signed: "
    "give the holder's fingerprint, which you got by another way, as --key"
)


def compare_signature(
    statement: Statement, key: str | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Check the signature, and who signed if that is known.

    Returns:
        What held, and what nobody can know from the files alone.
    """
    path, claimed = statement.path, statement.optional("signed_by")
    if not signature_of(path).is_file():
        if key is not None or claimed is not None:
            raise CardMismatchError(
                f"the {statement.name} should be signed, and {signature_of(path).name} is not "
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
