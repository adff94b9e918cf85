"""The ledger's encoding of answers: a class number, or one value per label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from ballotine.errors import LedgerTamperedError
from ballotine.types import ABSTAIN, BoolArray, IntArray

Answer: TypeAlias = int | tuple[int, ...]

_LABELS = b"labels:\0"  # eight bytes long, so that no stored row of labels is as short as a class


def as_answers(answers: IntArray) -> list[Answer]:
    """Convert an array of answers to Python values, one per query."""
    return [tuple(row) if isinstance(row, list) else row for row in answers.tolist()]


def answered(answers: IntArray) -> BoolArray:
    """Which queries were answered: with a class, or for at least one label."""
    given: BoolArray = np.any(answers.reshape(len(answers), -1) > ABSTAIN, axis=1)
    return given


def encode_answer(answer: Answer | Sequence[int]) -> bytes:
    """Encode a class number (or ABSTAIN) as eight bytes, a row of labels as one byte each."""
    if isinstance(answer, int):
        return answer.to_bytes(8, "big", signed=True)
    return _LABELS + np.array(answer, dtype=np.int8).tobytes()


def decode_answer(stored: bytes) -> Answer:
    """Decode a stored answer."""
    if len(stored) == 8:
        return int.from_bytes(stored, "big", signed=True)
    if not stored.startswith(_LABELS):
        raise LedgerTamperedError("the ledger contains an answer that cannot be read")
    return tuple(np.frombuffer(stored[len(_LABELS) :], dtype=np.int8).tolist())
