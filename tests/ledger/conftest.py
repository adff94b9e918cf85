"""A small world around a ledger: queries with made-up names and fixed tallies."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from ballotine.privacy.guarantee import Budget
from ballotine.types import IntArray
from ballotine.voting import Tallies

BUDGET = Budget(4.0, 1e-5)
CLASSES = np.arange(3)


def query(number: int) -> bytes:
    return hashlib.sha256(f"query {number}".encode()).digest()


def queries(count: int, start: int = 0) -> list[bytes]:
    return [query(number) for number in range(start, start + count)]


def count(rows: IntArray) -> Tallies:
    """Close votes, so that fresh noise would often give another answer."""
    return Tallies(np.tile([4.0, 3.0, 3.0], (len(rows), 1)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"
