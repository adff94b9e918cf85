"""Parameters that are numbers and make no sense are refused before anything is reserved."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ballotine.errors import ParameterError
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.reach import Reach
from ballotine.voting import (
    BinaryVoting,
    ClippedVoting,
    ConfidentGNMax,
    GNMax,
    LNMax,
    Mechanism,
    Plan,
    PowersetVoting,
    Rules,
)

HUGE: tuple[float, ...] = (1e308, 1e300, 1e155, 10**400, float("nan"), float("inf"))
TINY: tuple[float, ...] = (1e-300, 1e-320, 5e-324, 0.0, -0.0)


@pytest.mark.parametrize(
    ("make", "values"),
    [
        (GNMax, HUGE + TINY),
        (LNMax, HUGE + TINY),
        (lambda x: ConfidentGNMax(x, 5.0, 9.0), HUGE + TINY),
        (lambda x: ConfidentGNMax(9.0, x, 9.0), (*HUGE, -1e308)),
        (lambda x: ConfidentGNMax(9.0, 5.0, x), HUGE + TINY),
        (lambda x: BinaryVoting(9.0, threshold=x, sigma_threshold=9.0), (*HUGE, -1e308)),
        (lambda x: BinaryVoting(9.0, threshold=3.0, sigma_threshold=x), HUGE + TINY),
        (lambda x: ClippedVoting(9.0, x), HUGE + TINY),
        (lambda x: PowersetVoting(9.0, x), HUGE + TINY),
        (Reach, HUGE + TINY),
        (lambda x: Budget(x, 1e-5), (*HUGE, 0.0)),
    ],
)
def test_what_is_no_sensible_number_is_refused(
    make: Callable[[float], object], values: tuple[float, ...]
) -> None:
    for value in values:
        with pytest.raises(ParameterError):
            make(value)


@pytest.mark.parametrize(
    "mechanism",
    [
        ConfidentGNMax(9.0, 130.0, 10.0),
        BinaryVoting(9.0, threshold=130.0, sigma_threshold=10.0),
        ClippedVoting(9.0, 1.5, threshold=130.0, sigma_threshold=10.0),
    ],
)
def test_a_check_that_nothing_can_pass_is_refused(mechanism: Mechanism) -> None:
    """Every query would be paid for, and none answered."""
    with pytest.raises(ParameterError, match="no query can pass a threshold of 130"):
        Rules(Plan.standard_of(mechanism, 20, 1e-5, 2.0), 3)
    Rules(Plan.standard_of(mechanism, 40, 1e-5, 2.0), 3)
