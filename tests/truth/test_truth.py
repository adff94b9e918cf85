"""Over any sequence of runs on one ledger, no printed ε is below what some record paid."""

from __future__ import annotations

import pytest

from tests.truth.sequences import run

SEQUENCES, PARTS = 500, 4


@pytest.mark.parametrize("part", range(PARTS))
def test_no_printed_epsilon_is_below_what_some_record_paid(part: int) -> None:
    """Many more: ``python -m tests.truth 20000``."""
    compared = 0
    for seed in range(part, SEQUENCES, PARTS):
        compared += sum("→" in line for line in run(seed))
    assert compared > 3 * SEQUENCES / PARTS, "refusing everything would be easy"


def test_a_sequence_can_be_repeated() -> None:
    assert _told(5) == _told(5)


def _told(seed: int) -> list[str]:
    # Some messages name the folder.
    return [line.partition(": Ledger")[0] for line in run(seed)]
