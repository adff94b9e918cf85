from __future__ import annotations

import math
from typing import Any

import pytest

from ballotine.errors import DataError
from ballotine.report.validation import validate_card
from ballotine.report.view import sentence, view

PARTS = ["guarantee", "queries", "student", "history", "evaluation", "warnings", "answers"]


@pytest.mark.parametrize("part", PARTS)
def test_a_missing_part_is_named(make_card: Any, part: str) -> None:
    card = make_card()
    del card[part]
    with pytest.raises(DataError, match=part):
        validate_card(card)


@pytest.mark.parametrize("part", ["guarantee", "queries", "student", "evaluation", "ledger"])
def test_an_emptied_part_is_named(make_card: Any, part: str) -> None:
    with pytest.raises(DataError, match=part):
        validate_card(make_card(**{part: {}}))


def test_another_format_is_refused(make_card: Any) -> None:
    with pytest.raises(DataError, match="format"):
        validate_card(make_card(format=2))


@pytest.mark.parametrize("epsilon", [math.nan, math.inf, -1.0])
def test_no_epsilon_that_is_no_promise(make_card: Any, epsilon: float) -> None:
    for place in ("guarantee", "budget"):
        card = make_card()
        target = card["guarantee"] if place == "guarantee" else card["guarantee"]["budget"]
        target["epsilon"] = epsilon
        with pytest.raises(DataError, match="ε"):
            validate_card(card)


@pytest.mark.parametrize("delta", [0.0, 1.0, math.nan])
def test_no_delta_outside_its_domain(make_card: Any, delta: float) -> None:
    card = make_card()
    card["guarantee"]["delta"] = delta
    with pytest.raises(DataError, match="δ"):
        validate_card(card)


@pytest.mark.parametrize("accounted", [2.346, math.nan, -0.1])
def test_the_charge_may_not_exceed_the_promise(make_card: Any, accounted: float) -> None:
    with pytest.raises(DataError, match="charged"):
        validate_card(make_card(accounted_epsilon=accounted))


def test_a_private_epsilon_is_never_shown(make_card: Any) -> None:
    card = make_card()
    card["guarantee"]["kind"] = "data-dependent, private"
    with pytest.raises(DataError, match="sanitised"):
        view(card)


def test_a_real_run_shows_no_experiment_numbers(make_card: Any) -> None:
    card = make_card(experiment={"label_accuracy": 0.9, "ceiling": 0.95})
    with pytest.raises(DataError, match="experiment-only"):
        view(card)
    card["run"]["experiment"] = True
    assert view(card)["experiment"] == {"label_accuracy": "90.0 %", "ceiling": "95.0 %"}


def test_sentences() -> None:
    assert sentence("each record\n is one row") == "Each record is one row."
    assert sentence("δ is small!") == "δ is small!"
    assert sentence("") == ""


def test_the_history_keeps_its_last_point(make_card: Any) -> None:
    long = [{"asked": i, "answered": i, "epsilon": i / 1000} for i in range(1001)]
    rows = view(make_card(history=long))["history"]
    assert len(rows) <= 24
    assert rows[-1] == ("1,000", "1,000", "1")


def test_interval_is_rounded_outwards(make_card: Any) -> None:
    found = view(make_card())["evaluation"]
    assert (found["low"], found["accuracy"], found["high"]) == ("79.0 %", "87.0 %", "92.3 %")
