"""A card's numbers and its anchor come from one snapshot, whoever writes meanwhile."""

from __future__ import annotations

from pathlib import Path

from ballotine.ledger import Ledger
from tests.ledger.conftest import BUDGET, answer


def spend(path: Path, number: int, start: int = 0) -> None:
    with Ledger.open(path, BUDGET) as ledger:
        answer(ledger, number, start)


def test_a_snapshot_does_not_move_while_others_write(path: Path) -> None:
    spend(path, 5)
    with Ledger.existing(path) as reader:
        with reader.snapshot():
            before = reader.head(), reader.spending().recorded, len(list(reader.entries()))
            spend(path, 7, start=100)
            after = reader.head(), reader.spending().recorded, len(list(reader.entries()))
        assert after == before
        assert reader.spending().recorded == 12
        assert reader.head().seq > before[0].seq


def test_a_snapshot_that_fails_lets_go(path: Path) -> None:
    spend(path, 5)
    with Ledger.existing(path) as reader:
        try:
            with reader.snapshot():
                raise RuntimeError
        except RuntimeError:
            spend(path, 2, start=50)
        assert reader.spending().recorded == 7
