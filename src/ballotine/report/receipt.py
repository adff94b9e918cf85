"""The receipt of a vote on saved ballots: what was released, and the head of its ledger."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ballotine.files import sha256_of
from ballotine.ledger import Anchor
from ballotine.privacy.guarantee import Guarantee
from ballotine.signing import Signer, write_signed
from ballotine.version import __version__
from ballotine.voting import Answers, Mechanism

FORMAT = 1
DOCUMENT = "receipt"


def receipt_beside(answers: Path) -> Path:
    """The path of the receipt of an answers file."""
    return answers.with_name(f"{answers.stem}.receipt.json")


def build_receipt(
    answers: Answers,
    guarantee: Guarantee,
    mechanism: Mechanism,
    anchor: Anchor | None,
    file: Path | None,
) -> dict[str, Any]:
    """Build the receipt of a vote.

    Args:
        answers: what was released.
        guarantee: the guarantee for everything in the ledger.
        mechanism: what turned votes into answers.
        anchor: the head of the ledger; None if the ledger was not kept.
        file: the answers file, if one was written.
    """
    return {
        "format": FORMAT,
        "document": DOCUMENT,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "signed_by": None,
        "guarantee": guarantee.to_dict(),
        "queries": counts_of(answers),
        "mechanism": json.loads(mechanism.describe()),
        "ledger": None if anchor is None else anchor_to(anchor),
        "answers": None if file is None else {"file": file.name, "sha256": sha256_of(file)},
        "versions": {"ballotine": __version__},
    }


def write_receipt(path: Path, receipt: dict[str, Any], signer: Signer | None) -> None:
    """Write a receipt, signed if the holder has a key."""
    receipt = receipt | {"signed_by": None if signer is None else signer.fingerprint}
    text = json.dumps(receipt, indent=2, ensure_ascii=False, allow_nan=False)
    write_signed(path, text + "\n", signer)


def anchor_to(anchor: Anchor) -> dict[str, Any]:
    """An anchor as JSON values, for cards and receipts."""
    return {"id": anchor.ledger, "seq": anchor.seq, "hash": anchor.hash}


def counts_of(answers: Answers) -> dict[str, int]:
    """How many queries there were, how many were asked, and how many answered."""
    return {
        "pool": len(answers),
        "asked": int(answers.asked.sum()),
        "answered": int(answers.answered.sum()),
    }
