"""Saved votes through a ledger: every mode, groups, labels, and the same answers every time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ballotine.data.ballots import open_votes
from ballotine.errors import (
    DataError,
    InsufficientBudgetError,
    LedgerError,
    LedgerMismatchError,
    ParameterError,
)
from ballotine.ledger import Ledger, Mode, verify
from ballotine.noise import SecureNoise, SeededNoise
from ballotine.privacy import conversion, exact, published
from ballotine.privacy.best import best_epsilon
from ballotine.privacy.events import GaussianNumber
from ballotine.privacy.guarantee import Budget, Kind
from ballotine.privacy.orders import DEFAULT_ORDERS
from ballotine.types import ABSTAIN
from ballotine.voting import (
    UNASKED,
    BinaryVoting,
    ClippedVoting,
    ConfidentGNMax,
    GNMax,
    Mechanism,
    Plan,
    PowersetVoting,
    Rules,
)
from ballotine.voting.individual.saved import parse_budgets, plan_saved, read_groups
from ballotine.voting.publication import Publication, fixed_terms, places_of, publish
from ballotine.voting.saved import SavedVotes, vote
from tests.voting.sessions import affordable, cast, fixed_rules, open_session

DELTA = 1e-5
CONFIDENT = ConfidentGNMax(8.0, 30.0, 20.0)


@pytest.fixture
def ballots(tmp_path: Path) -> np.ndarray:
    """50 teachers, 120 queries, 4 classes; saved as votes.npy."""
    draw = np.random.default_rng(1)
    shares = draw.dirichlet([6.0, 1.0, 1.0, 0.3], size=120)
    found = np.array([draw.choice(4, size=50, p=share) for share in shares])
    np.save(tmp_path / "votes.npy", found)
    return found


def saved(
    folder: Path, mechanism: Mechanism, name: str = "votes.npy", **more: object
) -> SavedVotes:
    return SavedVotes.of(open_votes(folder / name), mechanism, **more)  # type: ignore[arg-type]


def strict(mechanism: Mechanism, epsilon: float = 6.0, mode: Mode = Mode.STRICT) -> Rules:
    """Standard PATE with the teachers and classes (or labels) of the fixtures."""
    teachers, classes = (21, 5) if mechanism.multilabel else (50, 4)
    return Rules(Plan.standard_of(mechanism, teachers, DELTA, epsilon), classes, mode)


def test_a_file_keeps_its_answers_and_pays_once(tmp_path: Path, ballots: np.ndarray) -> None:
    votes, path = saved(tmp_path, CONFIDENT, classes=4), tmp_path / "l.sqlite"
    first, before, _ = vote(votes, strict(CONFIDENT), path, SecureNoise())
    again, after, _ = vote(votes, strict(CONFIDENT), path, SecureNoise())
    assert np.array_equal(first.labels, again.labels)
    assert before == after
    assert 0 < first.answered.sum() < first.asked.sum() <= 120
    assert after.mode == "strict"
    with Ledger.existing(path) as ledger:
        assert verify(ledger).queries == first.asked.sum()


def test_another_file_is_other_queries(tmp_path: Path, ballots: np.ndarray) -> None:
    path, mechanism = tmp_path / "l.sqlite", GNMax(20.0)
    np.save(tmp_path / "more.npy", ballots[::-1][:30])
    vote(saved(tmp_path, mechanism, classes=4, queries=30), strict(mechanism), path, SecureNoise())
    vote(saved(tmp_path, mechanism, "more.npy", classes=4), strict(mechanism), path, SecureNoise())
    with Ledger.existing(path) as ledger:
        assert ledger.spending().recorded == 60


def test_a_seed_repeats_with_a_new_ledger_and_in_any_format(
    tmp_path: Path, ballots: np.ndarray
) -> None:
    one, _, _ = vote(saved(tmp_path, CONFIDENT, classes=4), strict(CONFIDENT), None, SeededNoise(3))
    path = tmp_path / "l.sqlite"
    two, _, _ = vote(saved(tmp_path, CONFIDENT, classes=4), strict(CONFIDENT), path, SeededNoise(3))
    other, _, _ = vote(
        saved(tmp_path, CONFIDENT, classes=4), strict(CONFIDENT), None, SeededNoise(4)
    )
    assert np.array_equal(one.labels, two.labels)
    assert not np.array_equal(one.labels, other.labels)


def test_parquet_ballots_and_tallies_are_read_alike(tmp_path: Path, ballots: np.ndarray) -> None:
    """Without noise to speak of, all formats give the plurality."""
    mechanism = GNMax(1e-3)
    columns = {f"t{i}": column for i, column in enumerate(ballots.T)}
    pq.write_table(pa.table(columns), tmp_path / "votes.parquet", row_group_size=7)
    counts = np.stack([(ballots == c).sum(axis=1) for c in range(4)], axis=1)
    np.savez(tmp_path / "tallies.npz", tallies=counts)
    rule = strict(mechanism, 1e12)
    expected = counts.argmax(axis=1)
    clear = np.sort(counts, axis=1)[:, -1] > np.sort(counts, axis=1)[:, -2]
    for name, tallies in (("votes.npy", 0), ("votes.parquet", 0), ("tallies.npz", 1)):
        classes = None if tallies else 4
        votes = saved(tmp_path, mechanism, name, classes=classes, tallies=bool(tallies))
        found, _, _ = vote(votes, rule, None, SeededNoise(0))
        assert np.array_equal(found.labels[clear], expected[clear]), name
        assert votes.teachers == 50


def test_classes_read_from_votes_answer_nothing(tmp_path: Path, ballots: np.ndarray) -> None:
    """They may be looked at by the holder, and not decide what is released."""
    path = tmp_path / "l.sqlite"
    read = saved(tmp_path, CONFIDENT)
    assert (read.classes, read.classes_from_votes) == (4, True)
    with pytest.raises(ParameterError, match="give it with --classes"):
        vote(read, strict(CONFIDENT), path, SeededNoise(0))
    assert not path.exists()
    given = saved(tmp_path, CONFIDENT, classes=4)
    _, known, _ = vote(given, strict(CONFIDENT), None, SeededNoise(0))
    assert known.kind is Kind.DATA_INDEPENDENT


def test_the_budget_ends_the_answers_and_too_small_a_one_says_so(
    tmp_path: Path, ballots: np.ndarray
) -> None:
    votes = saved(tmp_path, CONFIDENT, classes=4)
    found, guarantee, _ = vote(votes, strict(CONFIDENT, 1.5), None, SecureNoise())
    asked = int(found.asked.sum())
    assert 0 < asked < 120
    assert np.all(found.labels[asked:] == UNASKED)
    assert guarantee.epsilon == 1.5
    sure = GNMax(30.0)
    found, _, _ = vote(saved(tmp_path, sure, classes=4), strict(sure, 1.5), None, SecureNoise())
    assert found.asked.sum() == affordable(sure, 4, Budget(1.5, DELTA)) < 120
    with pytest.raises(InsufficientBudgetError, match="does not allow another answer"):
        vote(votes, strict(CONFIDENT, 0.01), None, SecureNoise())


class TestFixed:
    rules = fixed_rules(CONFIDENT, 50, 4, 120, DELTA)

    def test_publishes_less_than_the_worst_case_and_once(
        self, tmp_path: Path, ballots: np.ndarray
    ) -> None:
        path = tmp_path / "f.sqlite"
        ballots[:, 5:] = 0  # most teachers agree on everything
        np.save(tmp_path / "votes.npy", ballots)
        votes = saved(tmp_path, CONFIDENT, classes=4)
        answers, guarantee, _ = vote(votes, self.rules, path, SeededNoise(7))
        assert answers.asked.all()
        assert guarantee.kind is Kind.SANITISED
        assert guarantee.mode == "fixed"
        counts = np.stack([(ballots == c).sum(axis=1) for c in range(4)], axis=1)
        true_cost = exact.confident_gnmax(counts, DEFAULT_ORDERS, 8.0, 30.0, 20.0).sum(axis=0)
        truth = conversion.epsilon(DEFAULT_ORDERS, true_cost, DELTA)[0]
        assert truth < guarantee.epsilon < guarantee.budget.epsilon
        assert str(guarantee).splitlines()[0].endswith("for this data set and its neighbours")
        assert any("δ covers the chance of 1e-06" in text for text in guarantee.notes)
        assert any("nothing about several records" in text for text in guarantee.notes)
        again, _, _ = vote(votes, self.rules, path, SeededNoise(7))
        assert np.array_equal(again.labels, answers.labels)
        with Ledger.existing(path) as ledger:
            assert [entry.kind for entry in ledger.entries()][-1] == "publish"
            verify(ledger)
            places = places_of(CONFIDENT.tally(ballots, 4), 50)
            repeated = publish(ledger, CONFIDENT, places, SecureNoise(), self.rules.binding())
            assert repeated["epsilon"] == guarantee.epsilon, "new draws would average it out"
            head = ledger.head()
        np.save(tmp_path / "more.npy", ballots[::-1])
        with pytest.raises(LedgerMismatchError, match="fixed beforehand"):
            vote(saved(tmp_path, CONFIDENT, "more.npy", classes=4), self.rules, path, SecureNoise())
        with Ledger.existing(path) as ledger:
            assert ledger.head() == head

    def test_a_published_epsilon_above_the_ceiling_leaves_the_ceiling(
        self, tmp_path: Path, ballots: np.ndarray
    ) -> None:
        """Both hold at what the failure leaves of δ, so the smaller one holds at δ."""
        votes = saved(tmp_path, CONFIDENT, classes=4)
        plan = Publication(20.0, 0.07, 0.0, 0.5, DELTA / 10, 50, 4)
        terms = fixed_terms(CONFIDENT, plan, 120, DELTA)

        def worst(orders: np.ndarray) -> np.ndarray:
            each = sum(event.cost(orders) for event in CONFIDENT.events(4))
            return 120 * each + GaussianNumber(0.5).cost(orders)

        assert terms.loosest.epsilon >= best_epsilon(worst, 0.9 * DELTA)[0]
        Ledger.open(tmp_path / "f.sqlite", terms).close()
        _, guarantee, _ = vote(votes, self.rules, tmp_path / "f.sqlite", SeededNoise(7))
        with Ledger.existing(tmp_path / "f.sqlite") as ledger:
            statement = ledger.spending().statement
        assert statement is not None
        assert statement["epsilon"] > terms.loosest.epsilon
        assert (guarantee.epsilon, guarantee.kind) == (
            terms.loosest.epsilon,
            Kind.DATA_INDEPENDENT,
        )

    def test_nothing_is_published_before_the_last_answer(
        self, tmp_path: Path, ballots: np.ndarray
    ) -> None:
        places, binding = places_of(CONFIDENT.tally(ballots, 4), 50), self.rules.binding()
        with Ledger.open(tmp_path / "f.sqlite", self.rules.promise()) as ledger:
            with pytest.raises(LedgerError, match="0 of 120 queries are answered"):
                publish(ledger, CONFIDENT, places, SecureNoise(), binding)
            with pytest.raises(LedgerError, match="0 of 120 queries are answered"):
                ledger.publish({"epsilon": 0.1}, (), binding)
        with Ledger.open(None, Budget(1.0, DELTA)) as plain, pytest.raises(ParameterError):
            publish(plain, CONFIDENT, places, SecureNoise(), binding)

    def test_needs_no_epsilon_and_a_proven_envelope(
        self, tmp_path: Path, ballots: np.ndarray
    ) -> None:
        with pytest.raises(ParameterError, match="promises no ε beforehand"):
            Rules(Plan.standard_of(CONFIDENT, 50, DELTA, 2.0), 4, Mode.FIXED, 120)
        np.save(tmp_path / "labels.npy", np.zeros((5, 6, 3), dtype=np.uint8))
        mechanism = BinaryVoting(4.0)
        votes = saved(tmp_path, mechanism, "labels.npy")
        with pytest.raises(ParameterError, match="no proven envelope"):
            vote(votes, fixed_rules(mechanism, 6, 3, 5, DELTA), None, SeededNoise(0))


class TestPaper:
    def test_stops_where_a_plain_loop_stops(self, tmp_path: Path, ballots: np.ndarray) -> None:
        """Theorem 6 query by query, added up and converted in a loop."""
        path = tmp_path / "p.sqlite"
        rule = strict(CONFIDENT, 2.5, Mode.PAPER)
        votes = saved(tmp_path, CONFIDENT, classes=4)
        found, guarantee, _ = vote(votes, rule, path, SeededNoise(5))
        asked = int(found.asked.sum())
        assert 0 < asked < 120
        assert guarantee.kind is Kind.NOT_RELEASABLE
        assert "not releasable" in str(guarantee)
        assert "no guarantee" in str(guarantee)
        counts = np.stack([(ballots == c).sum(axis=1) for c in range(4)], axis=1)
        free = vote(votes, strict(CONFIDENT, 1e9), None, SeededNoise(5))[0].labels
        total, allowed = np.zeros_like(DEFAULT_ORDERS), 0
        for row, answer in zip(counts, free, strict=True):
            total = total + published.threshold(DEFAULT_ORDERS, 20.0)
            if answer != ABSTAIN:
                total = total + published.gnmax_data_dependent(row[None], DEFAULT_ORDERS, 8.0)[0]
            if conversion.epsilon(DEFAULT_ORDERS, total, DELTA, "classic")[0] > 2.5:
                break
            allowed += 1
        assert asked == allowed
        assert np.array_equal(found.labels[:asked], free[:asked])
        again, _, _ = vote(votes, rule, path, SeededNoise(5))
        assert np.array_equal(again.labels, found.labels)

    def test_equal_queries_are_answered_and_metered_once(self, ballots: np.ndarray) -> None:
        keys = [str(number).encode() for number in range(120)]
        asked = []
        for names, rows in ((keys, np.arange(120)), ([keys[0]] * 3 + keys, [0, 0, 0, *range(120)])):
            rules = strict(CONFIDENT, 2.5, Mode.PAPER)
            session = open_session(rules, cast(ballots), SeededNoise(5))
            found = session.answer(np.array(rows), names)
            asked.append(found.labels[-120:])
            assert len(set(found.labels[:3].tolist())) == 1 or len(names) == 120
        assert np.array_equal(asked[0], asked[1])

    def test_its_ledger_promises_nothing(self, tmp_path: Path, ballots: np.ndarray) -> None:
        path = tmp_path / "p.sqlite"
        rule = strict(CONFIDENT, 2.5, Mode.PAPER)
        votes = saved(tmp_path, CONFIDENT, classes=4)
        vote(votes, rule, path, SeededNoise(5))
        with Ledger.existing(path) as ledger:
            assert ledger.spending().guaranteed_epsilon() == np.inf
        with pytest.raises(LedgerMismatchError):
            vote(votes, strict(CONFIDENT, 2.5), path, SeededNoise(5))


class TestGroups:
    def rows(self, folder: Path, text: str) -> list[dict[str, str]]:
        (folder / "groups.csv").write_text(text)
        return read_groups(folder / "groups.csv")

    def teachers(self, extra: str = "", heavy: str = "") -> str:
        lines = [f"{i},{'a' if i < 20 else 'b'}{heavy if i < 20 else extra}" for i in range(50)]
        return "\n".join(["teacher,group" + (",weight" if extra else ""), *lines])

    @pytest.mark.parametrize("method", ["weighting", "vanishing"])
    def test_groups_run_out_together(
        self, tmp_path: Path, ballots: np.ndarray, method: str
    ) -> None:
        rows = self.rows(tmp_path, self.teachers())
        mechanism = GNMax(36.0)
        plan = plan_saved(rows, {"a": 0.5, "b": 1.5}, 50, mechanism, 4, DELTA, method)
        rule = Rules(plan, 4)
        path = tmp_path / "g.sqlite"
        answers, guarantee, _ = vote(
            saved(tmp_path, mechanism, classes=4), rule, path, SecureNoise()
        )
        assert 0 < answers.asked.sum() < 120
        assert {group.name: group.epsilon for group in guarantee.groups} == {"a": 0.5, "b": 1.5}
        with Ledger.existing(path) as ledger:
            accounts = ledger.spending().accounts.values()
            used = [account.epsilon() / account.budget.epsilon for account in accounts]
            assert all(0.85 < share <= 1.0 for share in used), used
            verify(ledger)

    def test_given_weights_count_as_weighted_votes(
        self, tmp_path: Path, ballots: np.ndarray
    ) -> None:
        rows = self.rows(tmp_path, self.teachers(",0.5", ",2"))
        plan = plan_saved(rows, {"a": 3.0, "b": 1.0}, 50, GNMax(1e-3), 4, DELTA)
        assert {group.name: group.reach.weight for group in plan.groups} == {"a": 2.0, "b": 0.5}
        counts = plan.tally(ballots, 4).unlock(reason="made-up ballots")
        weights = np.where(np.arange(50) < 20, 2.0, 0.5)
        by_hand = np.array([[weights[row == c].sum() for c in range(4)] for row in ballots])
        assert counts == pytest.approx(by_hand)

    def test_copies_are_upsampling(self, tmp_path: Path) -> None:
        rows = self.rows(tmp_path, "group,copies\na,1\nb,3\n")
        plan = plan_saved(rows, {"a": 1.0, "b": 3.0}, 50, CONFIDENT, 4, DELTA)
        assert {group.name: group.reach.teachers for group in plan.groups} == {"a": 1, "b": 3}

    @pytest.mark.parametrize(
        ("text", "word"),
        [
            ("", "needs the columns"),
            ("name,group\n1,a", "needs the columns"),
            ("teacher,group\n0,a\n1,b", "2 lines, but 50 teachers"),
            ("teacher,group,weight\n" + "0,a,1\n" * 25 + "0,a,2\n" * 25, "the same weight"),
            ("teacher,group,weight\n" + "0,a,x\n" * 50, "not a number"),
            ("group,copies\na,1.5", "whole number"),
        ],
    )
    def test_bad_files(self, tmp_path: Path, text: str, word: str) -> None:
        with pytest.raises(DataError, match=word):
            plan_saved(self.rows(tmp_path, text), {"a": 1.0}, 50, CONFIDENT, 4, DELTA)

    def test_budgets_are_typed_in_order_or_by_name(self) -> None:
        assert parse_budgets("1, 2.5", ["0", "1"]) == {"0": 1.0, "1": 2.5}
        assert parse_budgets("b=2,a=high", ["a", "b"]) == {"a": 1.0, "b": 2.0}
        for text in ("1", "a=1,c=2", "a=x,b=1"):
            with pytest.raises(ParameterError):
                parse_budgets(text, ["a", "b"])


class TestLabels:
    @pytest.fixture
    def bits(self, tmp_path: Path) -> np.ndarray:
        draw = np.random.default_rng(2)
        rates = draw.beta(0.4, 0.6, size=(60, 1, 5))
        found = (draw.random((60, 21, 5)) < rates).astype(np.uint8)
        np.save(tmp_path / "labels.npy", found)
        return found

    def test_noiseless_binary_voting_is_the_majority(
        self, tmp_path: Path, bits: np.ndarray
    ) -> None:
        mechanism = BinaryVoting(1e-3)
        votes = saved(tmp_path, mechanism, "labels.npy")
        answers, _, _ = vote(votes, strict(mechanism, 1e12), None, SeededNoise(0))
        assert np.array_equal(answers.labels, (2 * bits.sum(axis=1) > 21).astype(int))

    @pytest.mark.parametrize(
        "mechanism",
        [
            BinaryVoting(6.0, 15.0, 5.0),
            ClippedVoting(6.0, 1.8),
            ClippedVoting(6.0, 2.0, "l1"),
            PowersetVoting(6.0, 3),
        ],
        ids=lambda mechanism: mechanism.name,
    )
    def test_labels_are_stored_paid_for_and_repeated(
        self, tmp_path: Path, bits: np.ndarray, mechanism: Mechanism
    ) -> None:
        votes, path = saved(tmp_path, mechanism, "labels.npy"), tmp_path / "l.sqlite"
        first, guarantee, _ = vote(votes, strict(mechanism, 20.0), path, SecureNoise())
        again, _, _ = vote(votes, strict(mechanism, 20.0), path, SecureNoise())
        assert np.array_equal(first.labels, again.labels)
        assert first.labels.shape == (60, 5)
        assert set(np.unique(first.labels)) <= {0, 1, ABSTAIN, UNASKED}
        assert first.answered.any()
        assert 0 < guarantee.epsilon <= 20.0
        with Ledger.existing(path) as ledger:
            verify(ledger)

    def test_another_threshold_or_shape_is_other_queries(self, tmp_path: Path) -> None:
        draw, path, mechanism = np.random.default_rng(4), tmp_path / "l.sqlite", BinaryVoting(1e-6)
        np.save(tmp_path / "chances.npy", draw.random((6, 21, 5)))
        found = []
        for threshold in (0.1, 0.9, 0.1):
            votes = saved(tmp_path, mechanism, "chances.npy", thresholds=threshold)
            found.append(vote(votes, strict(mechanism, 1e20), path, SecureNoise())[0].labels)
        assert found[0].all(), "nearly all teachers name every label"
        assert not found[1].any(), "and nearly none of them"
        assert np.array_equal(found[2], found[0])
        with Ledger.existing(path) as ledger:
            assert ledger.spending().recorded == 12
        np.save(tmp_path / "table.npy", draw.integers(2, size=(6, 105)))
        names = {
            SavedVotes.of(open_votes(tmp_path / "table.npy", labels), mechanism).identity
            for labels in (3, 5)
        }
        plain = open_votes(tmp_path / "table.npy")
        names |= {SavedVotes(plain, 105, tallies).identity for tallies in (False, True)}
        assert len(names) == 4

    def test_tables_and_probabilities_are_read_alike(
        self, tmp_path: Path, bits: np.ndarray
    ) -> None:
        mechanism, rule = BinaryVoting(1e-3), strict(BinaryVoting(1e-3), 1e12)
        np.save(tmp_path / "chances.npy", np.where(bits == 1, 0.8, 0.3))
        np.save(tmp_path / "flat.npy", bits.reshape(60, -1))
        expected, _, _ = vote(saved(tmp_path, mechanism, "labels.npy"), rule, None, SeededNoise(0))
        chances = saved(tmp_path, mechanism, "chances.npy", thresholds=0.6)
        flat = SavedVotes.of(open_votes(tmp_path / "flat.npy", labels=5), mechanism)
        for votes in (chances, flat):
            found, _, _ = vote(votes, rule, None, SeededNoise(0))
            assert np.array_equal(found.labels, expected.labels)
        with pytest.raises(DataError, match="holds fractions"):
            vote(saved(tmp_path, mechanism, "chances.npy"), rule, None, SeededNoise(0))

    def test_shapes_must_fit_the_mechanism(self, tmp_path: Path, bits: np.ndarray) -> None:
        with pytest.raises(DataError, match="gnmax needs votes"):
            saved(tmp_path, GNMax(4.0), "labels.npy")
        np.save(tmp_path / "votes.npy", bits[:, :, 0])
        with pytest.raises(DataError, match="queries, teachers, labels"):
            saved(tmp_path, BinaryVoting(4.0))
        with pytest.raises(DataError, match="not 4 labels"):
            open_votes(tmp_path / "votes.npy", labels=4)
