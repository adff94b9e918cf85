"""The smallest noise of a mechanism for a budget."""

from __future__ import annotations

import pytest

from ballotine.errors import ParameterError
from ballotine.privacy import plan
from ballotine.privacy.events import GaussianArgmax, GaussianCheck
from ballotine.privacy.guarantee import Budget
from ballotine.voting import ConfidentGNMax, GNMax
from ballotine.voting.planning import NoiseTarget, plannable

BUDGET = Budget(3.0, 1e-5)


def test_a_confident_plan_meets_its_budget() -> None:
    made = NoiseTarget(ConfidentGNMax, 1500, BUDGET, teachers=250, classes=10, answered=0.6)
    assert made.mechanism == ConfidentGNMax(made.noise, 200.0, 3.75 * made.noise)
    charges = [
        (GaussianCheck(3.75 * made.noise), 1500),
        (GaussianArgmax(made.noise, 10), 900),
    ]
    assert plan.epsilon_of(charges, 1e-5) == pytest.approx(made.epsilon)
    assert 2.999 < made.epsilon <= 3.0
    more = NoiseTarget(ConfidentGNMax, 1500, BUDGET, teachers=250, classes=10, answered=0.9)
    assert more.noise > made.noise


def test_gnmax_answers_everything() -> None:
    made = NoiseTarget(GNMax, 1000, BUDGET, teachers=250, classes=10, answered=0.1)
    assert list(made.charges) == [(GaussianArgmax(made.noise, 10), 1.0)]
    assert 2.999 < made.epsilon <= 3.0


def test_impossible_plans() -> None:
    for name in ("lnmax", "binary", "loudest"):
        with pytest.raises(ParameterError, match="choose gnmax or confident-gnmax"):
            plannable(name)
    for queries, answered in ((0, 0.5), (10, 0.0), (10, 1.5)):
        with pytest.raises(ParameterError):
            NoiseTarget(ConfidentGNMax, queries, BUDGET, 50, 10, answered)
