"""A card or a receipt that disagrees with its ledger is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from ballotine.errors import CardMismatchError, DataError, LedgerTamperedError
from ballotine.ledger import Ledger
from ballotine.report.checking.numbers import is_old
from ballotine.report.checking.statement import Statement
from tests.ledger.test_migration import OLD
from tests.report.checking.conftest import KINDS, Case, Change

MakeCase = Callable[[str], Case]


def put(value: Any, *keys: Any) -> Change:
    """Replace one part; a function gets the old value."""

    def change(content: dict[str, Any]) -> None:
        place: Any = content
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value(place[keys[-1]]) if callable(value) else value

    return change


def more(number: Any) -> Any:
    return number + 1


def less(number: Any) -> Any:
    return number - 1


def shave(epsilon: float) -> float:
    """A thousandth less than what is printed, which is rounded up to a thousandth."""
    return epsilon - 0.001


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_made_here_holds(make_case: MakeCase, kind: str) -> None:
    case = make_case(kind)
    found = case.check()
    assert found.name == ("card" if kind in ("run", "groups") else "receipt")
    assert any("agrees with the ledger" in line for line in found.held)
    assert len(found.warnings) == 1  # no key was given


def test_it_still_holds_when_the_ledger_went_on(make_case: MakeCase) -> None:
    case = make_case("labels")  # its budget was not spent to the end
    with Ledger.existing(case.ledger, write=True) as ledger:
        (binding,) = ledger.spending().bindings.values()
        before = ledger.head()
        assert ledger.reserve([b"another"], binding, run="x").refused == 0
        after = ledger.head()
    assert after != before
    assert case.check().ledger.head == after


RELEASABLE = "a kind that may be released"
LIES: dict[str, tuple[Change, str]] = {
    "a smaller ε": (put(shave, "guarantee", "epsilon"), "says ε = "),
    "no ε at all": (put(0.0, "guarantee", "epsilon"), "says ε = 0,"),
    "a larger δ": (put(1e-4, "guarantee", "delta"), "δ = 0.0001, but the ledger says 1e-05"),
    "a smaller δ": (put(1e-6, "guarantee", "delta"), "δ = 1e-06, but the ledger says 1e-05"),
    "a smaller ceiling": (put(shave, "guarantee", "budget", "epsilon"), "a budget's epsilon"),
    "a larger ceiling": (put(more, "guarantee", "budget", "epsilon"), "a budget's epsilon"),
    "another δ of the ceiling": (put(1e-7, "guarantee", "budget", "delta"), "a budget's delta"),
    "another mode": (put("paper", "guarantee", "mode"), "mode 'paper'"),
    "secure noise": (put(False, "guarantee", "seeded"), "came from a seed"),
    RELEASABLE: (put("sanitised", "guarantee", "kind"), "kind 'sanitised'"),
    "larger neighbours": (put("any ten records replaced", "guarantee", "neighbouring"), "any ten"),
    "fewer queries counted": (
        put("all: 3 queries, 1 of them answered", "guarantee", "scope"),
        "queries in the ledger = 3",
    ),
}
OF_A_CARD: dict[str, tuple[Change, str]] = {
    "a smaller charge": (put(shave, "accounted_epsilon"), "charged ε"),
    "a run without a seed": (put(False, "run", "seeded"), "came from a seed"),
    "fewer runs": (put(0, "ledger", "runs"), "runs in the ledger = 0"),
    "a shorter history": (put(lambda points: points[:-1], "history"), "in the ledger"),
    "more asked": (put(10_000, "queries", "asked"), "asked = 10000"),
    "fewer asked": (put(less, "queries", "asked"), "asked|sum of the other"),
    "fewer answered": (put(less, "queries", "answered"), "answered"),
    "fewer abstained": (put(less, "queries", "abstained"), "abstained"),
    "fewer repeated": (put(less, "queries", "repeated"), "public rows"),
    "a larger pool": (put(more, "queries", "pool"), "public rows"),
    "another class released": (
        put(
            lambda told: dict(zip(told, reversed(told.values()), strict=True)),
            *("answers", "by_class"),
        ),
        "other answers were released",
    ),
    "no classes released": (put({}, "answers", "by_class"), "other answers were released"),
    "another publication": (put({"confidence": 0.95}, "published"), "published confidence"),
}


@pytest.mark.parametrize(
    ("kind", "lie"),
    # What was published in fixed mode is sanitised: that is no lie.
    [(k, lie) for k in KINDS for lie in LIES if (k, lie) != ("fixed", RELEASABLE)],
)
def test_a_lie_about_the_guarantee_is_refused(make_case: MakeCase, kind: str, lie: str) -> None:
    change, words = LIES[lie]
    case = make_case(kind)
    case.change(lambda _: None)
    case.check()
    case.change(change)
    with pytest.raises(CardMismatchError, match=words):
        case.check()


@pytest.mark.parametrize("lie", OF_A_CARD)
@pytest.mark.parametrize("kind", ["run", "groups"])
def test_a_lie_of_a_card_is_refused(make_case: MakeCase, kind: str, lie: str) -> None:
    change, words = OF_A_CARD[lie]
    case = make_case(kind)
    case.change(change)
    with pytest.raises(CardMismatchError, match=words):
        case.check()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put(shave, "guarantee", "groups", 0, "epsilon"), "for group .* ε = "),
        (put(more, "guarantee", "groups", 1, "budget"), "for group .* a budget's ε"),
        (put("nobody", "guarantee", "groups", 0, "name"), "other groups"),
        (put([], "guarantee", "groups"), "other groups"),
        (put(lambda told: told[:1], "guarantee", "groups"), "other groups"),
        (put(shave, "individual", "groups", 0, "charged"), "charged ε"),
        (put(shave, "individual", "groups", 1, "epsilon"), "for group .* ε = "),
        (put(lambda told: told[:1], "individual", "groups"), "other groups"),
    ],
)
def test_a_lie_about_a_group_is_refused(make_case: MakeCase, change: Change, words: str) -> None:
    case = make_case("groups")
    case.change(change)
    with pytest.raises(CardMismatchError, match=words):
        case.check()


@pytest.mark.parametrize("kind", KINDS)
def test_a_larger_epsilon_is_not_false(make_case: MakeCase, kind: str) -> None:
    case = make_case(kind)
    case.change(put(lambda epsilon: epsilon + 0.5, "guarantee", "epsilon"))
    case.check()


@pytest.mark.parametrize("kind", ["run", "vote"])
def test_a_doubtful_assumption_does_not_make_it_false(make_case: MakeCase, kind: str) -> None:
    case = make_case(kind)
    case.change(put("conditional", "guarantee", "kind"))
    case.check()


def test_the_printed_epsilon_is_the_ledgers_rounded_up(make_case: MakeCase) -> None:
    case = make_case("labels")  # its budget was not spent to the end
    with Ledger.existing(case.ledger) as ledger:
        true = ledger.spending().guaranteed_epsilon()
        assert true < ledger.budget.epsilon
    said = case.content["guarantee"]["epsilon"]
    assert said == pytest.approx(math.ceil(1000 * true - 1e-9) / 1000)
    case.change(put(true, "guarantee", "epsilon"))
    case.check()
    case.change(put(true - 1e-6, "guarantee", "epsilon"))
    with pytest.raises(CardMismatchError, match="says ε"):
        case.check()


class TestAnchor:
    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (put("0" * 64, "ledger", "hash"), "history differs"),
            (put("somebody", "ledger", "id"), "another ledger"),
            (put(10_000, "ledger", "seq"), "older than its card"),
            (put(less, "ledger", "seq"), "history differs"),
        ],
    )
    @pytest.mark.parametrize("kind", ["run", "vote"])
    def test_another_place_in_the_ledger(
        self, make_case: MakeCase, kind: str, change: Change, words: str
    ) -> None:
        case = make_case(kind)
        case.change(change)
        with pytest.raises(LedgerTamperedError, match=words):
            case.check()

    def test_an_earlier_entry_with_its_true_hash_does_not_hide_later_ones(
        self, make_case: MakeCase
    ) -> None:
        case = make_case("run")
        with Ledger.existing(case.ledger) as ledger:
            first = next(iter(ledger.entries()))
        case.change(put(first.hash, "ledger", "hash"))
        case.change(put(1, "ledger", "seq"))
        with pytest.raises(CardMismatchError, match="the ledger says 0"):
            case.check()  # ε was nothing then, but the counts are not those of that time

    def test_a_receipt_without_a_ledger(self, make_case: MakeCase) -> None:
        case = make_case("vote")
        case.change(put(None, "ledger"))
        with pytest.raises(DataError, match="names no ledger"):
            case.check()


def without_repeated(card: dict[str, Any]) -> None:
    queries = card["queries"]
    queries["asked"] += queries.pop("repeated")


@pytest.mark.parametrize(("name", "old"), [("strict", True), ("unused", True), (None, False)])
def test_only_a_ledger_of_the_first_version_has_cards_without_repeated_rows(
    make_case: MakeCase, name: str | None, old: bool
) -> None:
    case = make_case("run")
    case.change(without_repeated)
    with Ledger.existing(OLD / f"{name}.sqlite" if name else case.ledger) as ledger:
        assert is_old(Statement.read(case.statement), ledger.spending()) == old


def test_a_later_card_does_not_pass_as_one_of_the_first_version(make_case: MakeCase) -> None:
    """Otherwise its counts would not be checked."""
    case = make_case("run")
    case.change(lambda card: card["queries"].pop("repeated"))
    with pytest.raises(DataError, match=r"queries\.repeated"):
        case.check()


def test_the_message_says_what_the_ledger_says(make_case: MakeCase) -> None:
    case = make_case("run")
    true = case.content["guarantee"]["epsilon"]
    case.change(put(0.125, "guarantee", "epsilon"))
    with Ledger.existing(case.ledger) as ledger:
        exact = ledger.spending().guaranteed_epsilon()
    with pytest.raises(CardMismatchError) as refused:
        case.check()
    assert f"the card says ε = 0.125, but the ledger says {exact:.10g}" in str(refused.value)
    assert json.loads(case.statement.read_text())["guarantee"]["epsilon"] < true
