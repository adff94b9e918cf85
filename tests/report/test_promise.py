from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ballotine.report.promise import MEANING, guess, likelihood_factor, promise, warnings_of


def worst_pair_accuracy(epsilon: float, delta: float) -> float:
    """The best guess between the two distributions for which (ε, δ) is tight."""
    share = 1 / (1 + math.exp(epsilon))
    here = [delta, (1 - delta) * (1 - share), (1 - delta) * share, 0.0]
    there = here[::-1]
    return sum(max(p, q) for p, q in zip(here, there, strict=True)) / 2


@given(st.floats(0, 40), st.floats(1e-12, 0.3))
def test_guess_is_the_best_guess_rounded_up(epsilon: float, delta: float) -> None:
    shown = float(guess(epsilon, delta).removesuffix(" %"))
    true = 100 * worst_pair_accuracy(epsilon, delta)
    assert true - 1e-9 <= shown <= true + 0.1 + 1e-9


def test_guess_in_words() -> None:
    assert guess(0.0, 1e-9) == "50.1 %"
    assert guess(7.98, 1e-4) == "99.97 %"
    assert guess(60.0, 1e-4) == "100 %"


def test_factor_belongs_to_the_printed_epsilon() -> None:
    assert likelihood_factor(7.98) == "2,922"
    assert likelihood_factor(0.0) == "1"
    assert likelihood_factor(900.0) == "e^900"


@pytest.mark.parametrize(
    ("epsilon", "word"), [(0.5, "tight"), (2.0, "moderate"), (8.0, "This ε is large")]
)
def test_a_large_epsilon_is_called_large(make_card: Any, epsilon: float, word: str) -> None:
    card = make_card()
    card["guarantee"]["epsilon"] = epsilon
    assert word in promise(card).remark


def test_a_person_is_named_only_for_the_relation_that_means_one(make_card: Any) -> None:
    card = make_card()
    assert promise(card).change == "Changing any one person’s record"
    card["guarantee"]["neighbouring"] = "one party\x1b replaced"
    assert promise(card).change == "Moving to any neighbouring data set (one party replaced)"


def test_every_kind_that_may_be_shown_is_explained(make_card: Any) -> None:
    card = make_card()
    for kind, meaning in MEANING.items():
        card["guarantee"]["kind"] = kind
        assert promise(card).meaning == meaning != ""
    card["guarantee"]["kind"] = "of another kind"
    assert promise(card).meaning == ""


def test_what_must_be_read_first(make_card: Any) -> None:
    card = make_card()
    assert warnings_of(card) == []
    card["guarantee"]["seeded"] = True
    assert [heading for heading, _ in warnings_of(card)] == ["Seeded: for experiments only"]
    card = make_card(run={"name": "x", "experiment": True, "seeded": True})
    assert len(warnings_of(card)) == 2
