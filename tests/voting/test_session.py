"""The one door out: equal queries, chunks, budgets, and what is refused before it opens."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ballotine.errors import DataError, LedgerError, LedgerMismatchError, ParameterError
from ballotine.ledger import Ledger, Mode, verify
from ballotine.noise import SecureNoise, SeededNoise
from ballotine.privacy.guarantee import Budget
from ballotine.types import IntArray
from ballotine.voting import (
    UNASKED,
    BinaryVoting,
    ConfidentGNMax,
    GNMax,
    InteractiveGNMax,
    Mechanism,
    PowersetVoting,
    Rules,
    Session,
)
from ballotine.voting.individual import Vanishing
from ballotine.voting.multilabel.ballots import LabelTallies
from ballotine.voting.publication import Publication
from tests.voting.sessions import (
    CountedVotes,
    affordable,
    cast,
    fixed_rules,
    open_session,
    rules_for,
)

BUDGET = Budget(6.0, 1e-5)
KEYS = [bytes([i]) * 32 for i in range(200)]
ROWS = np.arange(200)
CLASSES = np.array(["no", "maybe", "yes"])
VOTES = CountedVotes(np.tile([4.0, 3.0, 3.0], (200, 1)), 10)


def answer(chunk: int, keys: list[bytes] = KEYS, seed: int | None = 1) -> IntArray:
    noise = SecureNoise() if seed is None else SeededNoise(seed)
    rules = rules_for(ConfidentGNMax(10.0, 4.0, 15.0), VOTES, 3, BUDGET)
    session = open_session(rules, VOTES, noise, names=CLASSES, chunk=chunk)
    return session.answer(np.arange(len(keys)), keys).labels


def test_answers_do_not_depend_on_the_chunk() -> None:
    labels = answer(1)
    assert {UNASKED, -1} < set(labels)
    for chunk in (2, 7, 64, 1000):
        assert np.array_equal(answer(chunk), labels)


def test_unasked_queries_are_the_tail_of_the_pool() -> None:
    asked = answer(16, seed=None) != UNASKED
    assert np.all(np.diff(asked.astype(int)) <= 0)


@pytest.mark.parametrize("epsilon", [0.7, 2.0, 5.0])
def test_as_many_queries_are_asked_as_the_budget_affords_at_its_own_order(epsilon: float) -> None:
    mechanism, budget = GNMax(15.0), Budget(epsilon, 1e-5)
    session = open_session(rules_for(mechanism, VOTES, 3, budget), VOTES, chunk=16)
    assert 0 < affordable(mechanism, 3, budget) < 200
    asked = session.answer(ROWS, KEYS).asked.sum()
    assert asked == affordable(mechanism, 3, budget)


def test_equal_rows_share_one_answer() -> None:
    labels = answer(8, keys=KEYS[:10] * 3, seed=None)
    assert np.array_equal(labels[:10], labels[10:20])
    assert np.array_equal(labels[:10], labels[20:])


def test_a_query_is_row_ensemble_and_mechanism() -> None:
    def name(key: bytes, ensemble: bytes, sigma: float) -> bytes:
        return rules_for(GNMax(sigma), VOTES, 3, BUDGET).query_ids([key], ensemble)[0]

    base = name(KEYS[0], b"e", 2.0)
    assert name(KEYS[0], b"e", 2.0) == base
    others = [name(KEYS[1], b"e", 2.0), name(KEYS[0], b"f", 2.0), name(KEYS[0], b"e", 3.0)]
    assert len({base, *others}) == 4


def test_named_answers_and_progress() -> None:
    steps: list[int] = []
    rules = rules_for(GNMax(30.0), VOTES, 3, BUDGET)
    session = open_session(rules, VOTES, SeededNoise(0), names=CLASSES, chunk=6)
    answers = session.answer(ROWS[:20], KEYS[:20], steps.append)
    assert sum(steps) == 20
    assert answers.named.tolist() == [CLASSES[label] for label in answers.labels]
    assert session.answer(ROWS[:20], KEYS[:20]).named.tolist() == answers.named.tolist()


def test_a_budget_that_refused_prints_its_ceiling_whatever_was_answered() -> None:
    """How often the mechanism abstained decides how many queries fit: ε may not tell."""
    shown = set()
    for threshold in (-100.0, 6.0):
        rules = rules_for(ConfidentGNMax(10.0, threshold, 15.0), VOTES, 3, Budget(1.0, 1e-5))
        session = open_session(rules, VOTES, SeededNoise(3), chunk=8)
        asked = session.answer(ROWS, KEYS).asked
        assert 0 < asked.sum() < 200
        spending = session.ledger.spending()
        assert spending.refused
        shown.add(spending.guaranteed_epsilon())
    assert shown == {1.0}


def test_tallies_of_another_number_of_classes_are_refused() -> None:
    session = open_session(rules_for(GNMax(30.0), VOTES, 2, BUDGET), VOTES, names=CLASSES[:2])
    with pytest.raises(DataError, match="the tallies are for 3 classes"):
        session.answer(ROWS[:2], KEYS[:2])
    assert session.ledger.spending().asked == 0


@pytest.mark.parametrize(
    ("mechanism", "mode"),
    [
        (InteractiveGNMax(15.0, 5.0, 15.0, 0.8), Mode.STRICT),
        (BinaryVoting(30.0), Mode.STRICT),
        (PowersetVoting(30.0), Mode.STRICT),
        (BinaryVoting(30.0), Mode.PAPER),
    ],
)
def test_counts_that_a_mechanism_cannot_release_from_cost_nothing(
    mechanism: Mechanism, mode: Mode
) -> None:
    """Noise would never be drawn for them, and what is reserved would stay charged for good."""
    session = open_session(rules_for(mechanism, VOTES, 3, BUDGET, mode), VOTES)
    before = session.ledger.head()
    with pytest.raises(DataError, match="needs"):
        session.answer(ROWS[:2], KEYS[:2])
    assert session.ledger.head() == before


def test_counts_of_labels_are_no_votes_for_classes() -> None:
    """One ballot moves every count of labels, and a vote for a class is charged less."""

    class NamedLabels(CountedVotes):
        def ballots(self, rows: IntArray) -> LabelTallies:
            return LabelTallies(self.counts[rows], self.teachers)

    voters = NamedLabels(VOTES.counts, 10)
    session = open_session(rules_for(GNMax(30.0), voters, 3, BUDGET), voters)
    with pytest.raises(DataError, match="needs counts of votes for classes"):
        session.answer(ROWS[:2], KEYS[:2])
    assert session.ledger.spending().asked == 0


BALLOTS = np.random.default_rng(0).integers(0, 3, size=(40, 10))


def spoilt(change: str) -> Any:
    """Ballots with one thing wrong, in row 3 or in the last chunk."""
    found: Any = BALLOTS.copy()
    if change == "one above the classes in row 3":
        found[3, 4] = 3
    elif change == "one above the classes in the last row":
        found[-1, 0] = 7
    elif change == "one below 0":
        found[3, 4] = -1
    elif change == "NaN":
        found = found.astype(float)
        found[3, 4] = np.nan
    elif change == "fractions":
        found = found + 0.5
    elif change == "text":
        found = found.astype(str)
    elif change == "beyond any class":
        found = found.astype(np.uint64)
        found[3, 4] = np.iinfo(np.uint64).max
    elif change == "a tally of nothing but NaN":
        return CountedVotes(np.full((40, 3), np.nan), 10)
    return cast(found)


@pytest.mark.parametrize(
    "change",
    [
        "one above the classes in row 3",
        "one above the classes in the last row",
        "one below 0",
        "NaN",
        "fractions",
        "text",
        "beyond any class",
        "a tally of nothing but NaN",
    ],
)
def test_ballots_that_cannot_be_counted_cost_nothing(tmp_path: Path, change: str) -> None:
    """Whatever is wrong with a chunk is found before that chunk is paid for."""
    voters = spoilt(change)
    rules = rules_for(GNMax(15.0), voters, 3, BUDGET)
    with open_session(rules, voters, ledger=tmp_path / "l.sqlite", chunk=40) as session:
        before = session.ledger.head()
        with pytest.raises(DataError) as raised:
            session.answer(ROWS[:40], KEYS[:40])
        assert session.ledger.head() == before
        assert session.ledger.spending().asked == 0
        assert "18446744073709551615" not in str(raised.value)
    # The same ledger answers what can be counted.
    with open_session(rules, cast(BALLOTS), ledger=tmp_path / "l.sqlite") as session:
        assert session.answer(ROWS[:40], KEYS[:40]).asked.any()
        verify(session.ledger)


def test_a_bad_ballot_in_a_later_chunk_costs_no_more_than_was_answered(tmp_path: Path) -> None:
    voters = spoilt("one above the classes in the last row")
    rules = rules_for(GNMax(15.0), voters, 3, BUDGET)
    with open_session(rules, voters, ledger=tmp_path / "l.sqlite", chunk=8) as session:
        with pytest.raises(DataError, match="class numbers from 0 to 2"):
            session.answer(ROWS[:40], KEYS[:40])
        spending = session.ledger.spending()
        assert (spending.asked, spending.recorded, spending.pending) == (32, 32, 0)


@pytest.mark.parametrize("kind", ["u1", "u8", "i2", ">i4", "?"])
def test_whole_numbers_of_any_type_are_the_same_ballots(kind: str) -> None:
    ballots = np.minimum(BALLOTS, 1)

    def labels(votes: IntArray) -> list[int]:
        voters = cast(votes)
        session = open_session(rules_for(GNMax(5.0), voters, 2, BUDGET), voters, SeededNoise(2))
        found: list[int] = session.answer(ROWS[:40], KEYS[:40]).labels.tolist()
        return found

    assert labels(ballots.astype(kind)) == labels(ballots)


class ShortOfVotes:
    """Says that ten vote, and brings other numbers of ballots."""

    identity = b"ensemble"

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._shape = shape

    def __len__(self) -> int:
        return 10

    def ballots(self, _rows: IntArray) -> IntArray:
        return np.zeros(self._shape, dtype=np.int64)


@pytest.mark.parametrize(
    ("shape", "word"),
    [((7, 10), "on every row"), ((8, 9), r"\(queries, 10\)"), ((8,), r"\(queries, 10\)")],
)
def test_missing_ballots_cost_nothing(shape: tuple[int, ...], word: str) -> None:
    session = open_session(rules_for(GNMax(5.0), VOTES, 3, BUDGET), ShortOfVotes(shape))
    with pytest.raises(DataError, match=word):
        session.answer(ROWS[:8], KEYS[:8])
    assert session.ledger.spending().asked == 0


class Interrupted:
    """Votes until it is told to stop, as Ctrl-C does."""

    identity = b"ensemble"

    def __init__(self, times: int) -> None:
        self.left = times

    def __len__(self) -> int:
        return 10

    def ballots(self, rows: IntArray) -> Any:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        return VOTES.ballots(rows)


def test_a_session_that_stops_before_drawing_says_so_and_costs_nothing_in_the_end() -> None:
    """Tallies are asked for anew once turns are granted: what fails there was not drawn yet."""
    voters = Interrupted(1)
    budget = Budget(1.0, 1e-5)
    rules = rules_for(GNMax(15.0), VOTES, 3, budget)
    session = open_session(rules, voters)
    with pytest.raises(KeyboardInterrupt):
        session.answer(ROWS, KEYS)
    spending = session.ledger.spending()
    paid = spending.asked
    assert 0 < paid < 200
    assert session.ledger.void("stopped by hand") == paid
    assert session.ledger.spending().epsilon() == 0.0
    voters.left = 1000
    answers = session.answer(ROWS, KEYS)
    assert answers.asked.sum() == paid == affordable(GNMax(15.0), 3, budget)


class TestOpening:
    """What does not fit is refused by one sentence, and the ledger does not change."""

    def refused(self, ledger: Ledger, error: type[Exception], word: str, **changes: Any) -> None:
        settings: dict[str, Any] = {
            "rules": rules_for(GNMax(5.0), VOTES, 3, BUDGET),
            "voters": VOTES,
            **changes,
        }
        head = ledger.head()
        with pytest.raises(error, match=word):
            open_session(settings.pop("rules"), settings.pop("voters"), ledger=ledger, **settings)
        assert ledger.head() == head

    def test_voters_names_and_promises_must_fit(self) -> None:
        ledger = Ledger.open(None, BUDGET)
        other = CountedVotes(VOTES.counts, 11)
        self.refused(ledger, DataError, "there are 11 voters, but the rules are for 10",
                     voters=other)  # fmt: skip
        self.refused(ledger, ParameterError, "give 3 names", names=CLASSES[:2])
        smaller = rules_for(GNMax(5.0), VOTES, 3, Budget(5.0, 1e-5))
        self.refused(ledger, LedgerMismatchError, "nothing was charged", rules=smaller)
        delta = rules_for(GNMax(5.0), VOTES, 3, Budget(6.0, 1e-6))
        self.refused(ledger, LedgerMismatchError, "nothing was charged", rules=delta)

    def test_groups_are_those_of_the_ledger(self) -> None:
        scheme = Vanishing({"a": 1.0, "b": 2.0})
        plan = scheme.plan({"a": 40, "b": 40}, 10, GNMax(9.0), 3, 1e-5)
        rules = Rules(plan, 3)
        with Ledger.open(None, rules.promise()) as ledger:
            voters = cast(np.zeros((5, 10), dtype=np.int64))
            first = open_session(rules, voters, ledger=ledger, groups="records:one")
            first.answer(ROWS[:5], KEYS[:5])
            open_session(rules, voters, ledger=ledger, groups="records:one")
            self.refused(
                ledger, LedgerMismatchError, "different groups than when this ledger first charged",
                rules=rules, voters=voters, groups="records:two",
            )  # fmt: skip

    def test_fixed_rows_are_all_given_beforehand(self) -> None:
        rules = fixed_rules(GNMax(5.0), 10, 3, 20, 1e-5)
        ledger = Ledger.open(None, rules.promise())
        for pool in (None, KEYS[:19], KEYS[:21], KEYS[:19] * 2):
            self.refused(ledger, ParameterError, "give all of them at once", rules=rules, pool=pool)
        session = open_session(rules, VOTES, ledger=ledger, pool=KEYS[:20])
        assert session.in_pool(KEYS[:20])
        assert not session.in_pool(KEYS[:21])
        head = ledger.head()
        with pytest.raises(LedgerMismatchError, match="some of these are not among them"):
            session.answer(ROWS[:21], KEYS[:21])
        assert ledger.head() == head

    def test_labels_need_voters_of_labels(self) -> None:
        session = open_session(rules_for(BinaryVoting(5.0), VOTES, 3, BUDGET), cast(BALLOTS))
        with pytest.raises(DataError):
            session.answer(ROWS[:5], KEYS[:5])
        assert session.ledger.spending().asked == 0


def named(rows: IntArray) -> list[bytes]:
    """The keys of these rows."""
    return [KEYS[row] for row in rows]


class TestPublication:
    """The release of an ε is a charge like any other, and passes the same filter."""

    rules = fixed_rules(GNMax(5.0), 10, 3, 20, 1e-5)

    def answered(self, ledger: Ledger) -> Session:
        session = open_session(self.rules, VOTES, ledger=ledger, pool=KEYS[:20])
        assert session.answer(ROWS[:20], KEYS[:20]).answered.all()
        return session

    def converted(self, cost: float, order: float) -> float:
        """ε of a Rényi cost at one order (Canonne, Kamath and Steinke, Proposition 12)."""
        return cost + math.log(1 - 1 / order) - math.log(1e-5 * order) / (order - 1)

    def test_its_cost_is_in_the_ceiling_at_the_ledgers_order(self) -> None:
        session = self.answered(Ledger.open(None, self.rules.promise()))
        terms = session.ledger.terms
        ((_, order),) = terms.orders
        session.publish([ROWS[:20]], named)
        at = np.array([order])
        noise = Publication.from_json(terms.plan).sigma
        answers = 20 * sum(float(event.cost(at)[0]) for event in GNMax(5.0).events(3))
        total = answers + order / (2 * noise**2)
        assert session.ledger.spending().cost(at)[0] == pytest.approx(total, rel=1e-12)
        assert self.converted(total, order) <= terms.loosest.epsilon
        assert self.converted(answers, order) < terms.loosest.epsilon * (1 - 1e-6)

    @pytest.mark.parametrize(
        "rows", [ROWS[20:40], ROWS[:19], ROWS[:21], np.append(ROWS[:19], 0)],
        ids=["others", "fewer", "more", "one twice"],
    )  # fmt: skip
    def test_it_is_about_the_rows_that_were_fixed_and_no_other(self, rows: IntArray) -> None:
        """Else an ε of clear votes could be printed for answers to close ones."""
        session = self.answered(Ledger.open(None, self.rules.promise()))
        head = session.ledger.head()
        with pytest.raises(LedgerMismatchError, match="these rows are different"):
            session.publish([rows], named)
        assert session.ledger.head() == head
        session.publish([ROWS[:7], ROWS[7:20]], named)
        assert session.ledger.spending().statement is not None

    def test_it_is_refused_where_the_ceiling_has_no_room_for_it(self) -> None:
        """A ceiling that is just what the answers cost, as others might have left it."""
        terms = self.rules.promise().settle()
        ((name, order),) = terms.orders
        each = sum(float(event.cost(np.array([order]))[0]) for event in GNMax(5.0).events(3))
        ceiling = self.converted(20 * each, order) * (1 + 1e-9)
        tight = replace(terms, budgets=((name, Budget(ceiling, 1e-5)),))
        session = self.answered(Ledger.open(None, tight))
        head = session.ledger.head()
        with pytest.raises(LedgerError, match="does not allow an ε to be published"):
            session.publish([ROWS[:20]], named)
        assert session.ledger.head() == head
        assert session.ledger.spending().statement is None
        assert session.ledger.spending().guaranteed_epsilon() == pytest.approx(ceiling, rel=1e-6)
