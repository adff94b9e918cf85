"""Over any sequence of runs on one ledger, no printed ε is below what some record paid."""

from __future__ import annotations

import pytest

from tests.truth.cast import SEVERAL
from tests.truth.sequences import FIXED_ONES, PLAIN, SCHEMES, run

SEQUENCES, PARTS = 500, 4
MUST_HAPPEN = (
    *("fit", "label", "vote file", "clone", "pickle", ": interrupted", "seed=1", "mode='fixed'"),
    *("(sanitised)", "(conditional)", "(data-independent)"),
    *(f"scheme='{scheme}'" for scheme in SCHEMES if scheme),
    *(f"mechanism='{name}'" for name in {*PLAIN, *FIXED_ONES, *SEVERAL}),
    *("mode='paper'", "(not releasable)", "fork", "void"),
)
"""Steps that are not refused, and kinds of ε that are printed, in every part."""


@pytest.mark.parametrize("part", range(PARTS))
def test_no_printed_epsilon_is_below_what_some_record_paid(part: int) -> None:
    """Many more: ``python -m tests.truth 20000``."""
    log = [line for seed in range(part, SEQUENCES, PARTS) for line in run(seed)]
    assert sum("→" in line for line in log) > 3 * SEQUENCES / PARTS
    done = "\n".join(line for line in log if "Error" not in line)
    missing = [what for what in MUST_HAPPEN if what not in done]
    assert not missing, "refusing everything would be easy"


def test_a_sequence_can_be_repeated() -> None:
    assert _told(5) == _told(5)


def _told(seed: int) -> list[str]:
    # Some messages name the folder.
    return [line.partition(": Ledger")[0] for line in run(seed)]
