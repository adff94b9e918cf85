"""How exact costs and claims become a verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from ballotine.errors import DataError, VerificationError
from ballotine.oracle.truth import Truth
from ballotine.types import FloatArray
from ballotine.verification import Case, Effort, judge
from ballotine.verification.accuracy import accuracy
from ballotine.verification.case import Axis, Points
from ballotine.verification.judge import ratios

EFFORT = Effort(quick=True, seed=0)


@dataclass(frozen=True)
class Level:
    height: float
    note: str = "plain"
    shown: int = field(default=0, metadata={"format": lambda value: f"<{value}>"})


def truth_of(level: Level, points: Points) -> Truth:
    values = level.height * np.array(points)
    return Truth(values, np.zeros(values.size), tuple(f"at {point:g}" for point in points))


def flat(value: float) -> Callable[[Level, Points], FloatArray]:
    return lambda _, points: np.full(len(points), value)


def case(claimed: float, expected: str = "holds", reaches: float = 0.5) -> Case[Level]:
    return Case(
        "toy/flat",
        "a constant",
        "this file",
        expected,  # type: ignore[arg-type]
        reaches,
        lambda _: [Level(0.1), Level(0.4, shown=7), Level(0.2)],
        flat(claimed),
        truth_of,
        Axis("step", (1.0, 2.0)),
    )


def test_the_worst_configuration_is_the_witness() -> None:
    found = judge(case(1.0), EFFORT)
    assert (found.ratio, found.configurations, found.verdict) == (0.8, 3, "holds")
    assert found.witness.configuration == Level(0.4, shown=7)
    assert (found.witness.point, found.witness.claimed, found.witness.true) == (2.0, 1.0, 0.8)
    # Parameters at their defaults are left out.
    assert str(found.witness) == "height = 0.4, shown = <7>, step 2; at 2"


@pytest.mark.parametrize(
    ("claimed", "expected", "reaches", "verdict"),
    [
        (0.8, "holds", 0.5, "holds"),
        (0.8 / (1.0 + 5e-10), "holds", 0.5, "holds"),
        (0.8 / (1.0 + 2e-9), "holds", 0.5, "exceeded"),
        (0.7, "holds", 0.5, "exceeded"),
        (2.0, "holds", 0.5, "blind"),
        (0.5, "false", 1.5, "caught"),
        (0.6, "false", 1.5, "missed"),
        (0.8, "false", 0.5, "missed"),
        (5.0, "false", 0.5, "missed"),
    ],
)
def test_verdicts(claimed: float, expected: str, reaches: float, verdict: str) -> None:
    found = judge(case(claimed, expected, reaches), EFFORT)
    assert found.verdict == verdict
    assert found.as_expected == (verdict in ("holds", "caught"))


@pytest.mark.parametrize("claimed", [float("nan"), -1.0, 0.0])
def test_a_claim_that_is_no_bound_is_exceeded(claimed: float) -> None:
    found = judge(case(claimed), EFFORT)
    assert found.verdict == "exceeded"
    assert found.ratio == float("inf")


def test_ratios_at_the_edges() -> None:
    values = np.array([0.0, 0.0, 1.0, np.inf, np.inf, np.nan])
    claimed = np.array([0.0, 1.0, np.inf, np.inf, 1.0, 1.0])
    found = ratios(Truth(values, np.zeros(6), ("",) * 6), claimed)
    np.testing.assert_array_equal(found, [0.0, 0.0, 0.0, 1.0, np.inf, np.inf])


def test_doubt_is_on_the_side_of_the_claim() -> None:
    truth = Truth(np.array([1.0, 1e-12]), np.array([0.1, 1.0]), ("", ""))
    np.testing.assert_allclose(ratios(truth, np.array([1.0, 1.0])), [0.9, 0.0])


def test_a_claim_needs_one_value_per_point() -> None:
    wrong = replace(case(1.0), claim=lambda _, points: np.ones(1))
    with pytest.raises(VerificationError, match="one value for each point"):
        judge(wrong, EFFORT)


def test_nothing_to_try_is_a_failure() -> None:
    with pytest.raises(VerificationError, match="no configuration was tried"):
        judge(replace(case(1.0), configurations=lambda _: []), EFFORT)


def test_a_claim_that_cannot_be_evaluated_is_a_failure() -> None:
    def refuse(level: Level, points: Points) -> FloatArray:
        raise DataError("out of range")

    with pytest.raises(VerificationError, match=r"toy/flat: no claim for height = 0.1: out of"):
        judge(replace(case(1.0), claim=refuse), EFFORT)


def test_accuracy_turns_a_case_round() -> None:
    exact = replace(case(0.0), claim=lambda level, points: truth_of(level, points).values)
    assert judge(accuracy(exact), EFFORT).verdict == "holds"
    loose = replace(
        exact, claim=lambda level, points: truth_of(level, points).values * 1.001 + 1e-6
    )
    found = judge(accuracy(loose), EFFORT)
    assert found.case.name == "toy/flat-accuracy"
    assert found.verdict == "exceeded"
    empty = replace(exact, claim=flat(0.0))
    assert judge(accuracy(empty), EFFORT).verdict == "blind"
