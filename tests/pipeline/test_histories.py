"""What holds over several fits, objects and runs on the same records."""

from __future__ import annotations

import math
import pickle
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from copy import copy, deepcopy
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ballotine import Budget, GNMax, Kind, PateClassifier, Upsampling, Vanishing, Weighting
from ballotine.data import row_keys
from ballotine.errors import InsufficientBudgetError, LedgerMismatchError, ParameterError
from ballotine.ledger import Ledger, verify
from ballotine.privacy.orders import DEFAULT_ORDERS
from tests.conftest import Command

X, Y = make_blobs(n_samples=900, centers=[[0, 0], [6, 6]], random_state=0)
PRIVATE = slice(0, 400)
DELTA = 1e-5
SMALL, LARGE = "small", "large"
GROUPS = np.where(np.arange(400) < 200, SMALL, LARGE)


def classifier(**changes: Any) -> PateClassifier:
    settings: dict[str, Any] = {
        "teacher": GaussianNB(),
        "n_teachers": 40,
        "mechanism": GNMax(10.0),
        "budget": Budget(9.0, DELTA),
        "classes": [0, 1],
    }
    return PateClassifier(**(settings | changes))


def grouped(scheme: Any = None, **changes: Any) -> PateClassifier:
    scheme = Vanishing({SMALL: 0.5, LARGE: 1.0}) if scheme is None else scheme
    return classifier(individual=scheme, budget=None, delta=DELTA, **changes)


def asked(fit: int, rows: int) -> np.ndarray:
    """Public rows that no other fit asks."""
    return X[400 + fit * rows : 400 + (fit + 1) * rows]


def epsilon_of(cost: np.ndarray) -> float:
    """ε of a Rényi cost at the default orders (Canonne, Kamath and Steinke, Proposition 12)."""
    a = DEFAULT_ORDERS
    return float(np.min(cost + np.log(1 - 1 / a) - np.log(DELTA * a) / (a - 1)))


def turns_in(path: Path) -> dict[bytes, int]:
    """Which turn each query took, as the file says."""
    with closing(sqlite3.connect(path)) as file:
        found = file.execute("SELECT id, turn FROM reservations")
        return {bytes(name): int(turn) for name, turn in found}


class Witness:
    """Follows every record through every ensemble, and adds up what its teachers' votes cost."""

    def __init__(self, records: int) -> None:
        self.costs = np.zeros((records, len(DEFAULT_ORDERS)))

    def see(self, pate: PateClassifier, rows: np.ndarray, path: Path) -> None:
        """Somebody labelled these rows with this ensemble."""
        plan = pate.procedure_.plan
        names = pate.procedure_.rules.query_ids(row_keys(rows), pate._voters.identity)
        turns = [turns_in(path)[name] for name in names]
        for group in plan.groups:
            size, each = len(group.teachers), plan.mechanism.events(2, group.reach)
            price = sum(event.cost(DEFAULT_ORDERS) for event in each)
            for seat, teacher in enumerate(group.teachers):
                voted = sum((seat - turn * group.voters) % size < group.voters for turn in turns)
                self.costs[pate.partition_.shares[teacher]] += voted * price

    def epsilon(self, group: str) -> float:
        """What the worst record of a group has spent."""
        return max(epsilon_of(cost) for cost in np.unique(self.costs[group == GROUPS], axis=0))


class TestTurns:
    """A slot is not a person: who takes which turn is fixed within one ensemble only."""

    def test_twelve_fits_of_two_queries_add_up(self, tmp_path: Path) -> None:
        path, witness = tmp_path / "l.sqlite", Witness(400)
        scheme = Vanishing({SMALL: 20.0, LARGE: 40.0})
        possible = {SMALL: np.zeros(len(DEFAULT_ORDERS)), LARGE: np.zeros(len(DEFAULT_ORDERS))}
        for fit in range(12):
            pate = grouped(scheme, ledger=path).fit(X[PRIVATE], Y[PRIVATE], GROUPS)
            assert pate.label(asked(fit, 2)).asked.all()
            witness.see(pate, asked(fit, 2), path)
            plan = pate.procedure_.plan
            assert plan.group(SMALL).voters < len(plan.group(SMALL).teachers)
            for group in plan.groups:
                events = plan.mechanism.events(2, group.reach)
                most = math.ceil(2 * group.voters / len(group.teachers))
                possible[group.name] += most * sum(event.cost(DEFAULT_ORDERS) for event in events)
        printed = {group.name: group.epsilon for group in pate.guarantee_.groups}
        assert set(printed) == {SMALL, LARGE}
        for name, epsilon in printed.items():
            assert 0 < witness.epsilon(name) <= epsilon
            # A record may sit in a seat that votes, in every ensemble.
            assert epsilon == pytest.approx(epsilon_of(possible[name]), rel=1e-3)
        verify(pate.ledger_)

    def test_a_budget_holds_for_the_worst_record_of_all_ensembles(self, tmp_path: Path) -> None:
        path, witness, fits = tmp_path / "l.sqlite", Witness(400), 0
        scheme = Vanishing({SMALL: 1.0, LARGE: 2.0})
        for fit in range(12):
            pate = grouped(scheme, ledger=path)
            try:
                pate.fit(X[PRIVATE], Y[PRIVATE], GROUPS)
            except InsufficientBudgetError:
                break
            answers = pate.label(asked(fit, 2))
            witness.see(pate, asked(fit, 2)[answers.asked], path)
            fits += 1
        assert 1 < fits < 12
        assert witness.epsilon(SMALL) <= 1.0
        assert witness.epsilon(LARGE) <= 2.0


class TestGroups:
    """A record's group is part of the promise to it."""

    @pytest.fixture(params=["file", "memory"])
    def fitted(self, request: pytest.FixtureRequest, tmp_path: Path) -> PateClassifier:
        ledger = tmp_path / "l.sqlite" if request.param == "file" else None
        pate = grouped(Weighting({SMALL: 1.0, LARGE: 4.0}), mechanism=GNMax(20.0), ledger=ledger)
        pate.fit(X[PRIVATE], Y[PRIVATE], GROUPS).label(asked(0, 5))
        return pate

    def test_swapped_groups_are_refused_before_anybody_is_trained(
        self, fitted: PateClassifier
    ) -> None:
        head = fitted.ledger_.head()
        fitted.set_params(teacher=MustNotBeTrained())
        swapped = np.where(GROUPS == SMALL, LARGE, SMALL)
        one = GROUPS.copy()
        one[0], one[399] = LARGE, SMALL
        for groups in (swapped, one):
            with pytest.raises(LedgerMismatchError, match="different groups"):
                fitted.fit(X[PRIVATE], Y[PRIVATE], groups)
        assert fitted.ledger_.head() == head

    def test_the_order_of_records_means_nothing(self, fitted: PateClassifier) -> None:
        order = np.random.default_rng(0).permutation(400)
        before = fitted.guarantee_.epsilon
        fitted.fit(X[PRIVATE][order], Y[PRIVATE][order], GROUPS[order]).label(asked(1, 5))
        assert fitted.ledger_.spending().recorded == 10
        assert fitted.guarantee_.epsilon > before
        assert not fitted.ledger_.spending().doubted


class TestRefits:
    """A second fit is a second release."""

    def test_three_fits_of_one_object_add_up(self) -> None:
        pate = classifier()
        printed = []
        for fit in range(3):
            pate.fit(X[PRIVATE], Y[PRIVATE])
            assert pate.label(asked(fit, 10)).asked.all()
            printed.append(pate.guarantee_.epsilon)
        each = sum(event.cost(DEFAULT_ORDERS) for event in GNMax(10.0).events(2))
        for fits, epsilon in enumerate(printed, start=1):
            assert epsilon >= epsilon_of(10 * fits * each)
            assert epsilon == pytest.approx(epsilon_of(10 * fits * each), rel=1e-3)

    def test_the_budget_of_one_object_ends_over_all_its_fits(self) -> None:
        pate = classifier(budget=Budget(2.0, DELTA))
        first = pate.fit(X[PRIVATE], Y[PRIVATE]).label(asked(0, 300))
        assert not first.asked.all()
        with pytest.raises(InsufficientBudgetError, match="keeps its budget"):
            pate.fit(X[PRIVATE], Y[PRIVATE])

    def test_other_records_need_another_object(self) -> None:
        pate = classifier().fit(X[PRIVATE], Y[PRIVATE])
        with pytest.raises(LedgerMismatchError, match="belongs to other records"):
            pate.fit(X[:401], Y[:401])
        seeded = classifier(random_state=0).fit(X[PRIVATE], Y[PRIVATE])
        seeded.fit(X[:401], Y[:401])  # scikit-learn's own checks do

    def test_a_fit_that_fails_leaves_nobody_to_be_asked(self, tmp_path: Path) -> None:
        """Else the guarantee of a new and empty ledger would stand for answers of the old one."""
        pate = classifier().fit(X[PRIVATE], Y[PRIVATE])
        pate.label(asked(0, 10))
        pate.set_params(mechanism=GNMax(0.01))
        with pytest.raises(InsufficientBudgetError):
            pate.fit(X[PRIVATE], Y[PRIVATE])
        for attempt in (lambda: pate.guarantee_, lambda: pate.label(asked(0, 10))):
            with pytest.raises(NotFittedError):
                attempt()
        pate.set_params(mechanism=GNMax(10.0), ledger=tmp_path / "l.sqlite")
        with pytest.raises(LedgerMismatchError, match="would not count them"):
            pate.fit(X[PRIVATE], Y[PRIVATE])
        assert not (tmp_path / "l.sqlite").exists()
        pate.set_params(ledger=None).fit(X[PRIVATE], Y[PRIVATE])
        assert pate.ledger_.spending().recorded == 10
        assert pate.guarantee_.epsilon == 9.0, "a fit was refused: the ceiling holds"


class TestChangedLedgers:
    """No ε is printed that leaves out answers of the same object."""

    @pytest.mark.parametrize(
        ("first", "second"), [(None, "b.sqlite"), ("a.sqlite", None), ("a.sqlite", "b.sqlite")]
    )
    @pytest.mark.parametrize("seed", [None, 3])
    def test_an_object_that_has_answered_stays_with_its_ledger(
        self, tmp_path: Path, first: str | None, second: str | None, seed: int | None
    ) -> None:
        """Seeded answers are answers, too; later ones would hide that there was a seed."""
        where = [None if name is None else tmp_path / name for name in (first, second)]
        pate = classifier(ledger=where[0], random_state=seed).fit(X[PRIVATE], Y[PRIVATE])
        pate.label(asked(0, 10))
        for changed in (pate, copy(pate), deepcopy(pate), pickle.loads(pickle.dumps(pate))):
            changed.set_params(ledger=where[1], random_state=None)
            with pytest.raises(LedgerMismatchError, match="would not count them"):
                changed.fit(X[PRIVATE], Y[PRIVATE])
        assert not (tmp_path / "b.sqlite").exists()
        assert pate.set_params(ledger=where[0]).fit(X[PRIVATE], Y[PRIVATE])
        assert pate.ledger_.spending().recorded == 10

    def test_a_seed_does_not_free_an_object_that_has_answered_without_one(
        self, tmp_path: Path
    ) -> None:
        pate = classifier(ledger=tmp_path / "a.sqlite").fit(X[PRIVATE], Y[PRIVATE])
        pate.label(asked(0, 10))
        for changes in ({"ledger": None}, {"ledger": tmp_path / "b.sqlite"}):
            with pytest.raises(LedgerMismatchError, match="would not count them"):
                pate.set_params(random_state=1, **changes).fit(X[PRIVATE], Y[PRIVATE])

    def test_seeded_answers_about_other_records_are_not_left_out(self) -> None:
        """The records may be the same but for one."""
        pate = classifier(random_state=1).fit(X[PRIVATE], Y[PRIVATE])
        pate.fit(X[:401], Y[:401]).label(asked(0, 10))
        pate.set_params(random_state=None)
        with pytest.raises(LedgerMismatchError, match="would not count them"):
            pate.fit(X[PRIVATE], Y[PRIVATE])

    def test_a_file_may_move_and_whoever_has_not_answered_may_change(self, tmp_path: Path) -> None:
        pate = classifier(ledger=tmp_path / "a.sqlite").fit(X[PRIVATE], Y[PRIVATE])
        pate.set_params(ledger=tmp_path / "b.sqlite").fit(X[PRIVATE], Y[PRIVATE])
        pate.label(asked(0, 10))
        pate.ledger_.close()
        (tmp_path / "b.sqlite").rename(tmp_path / "c.sqlite")
        pate.set_params(ledger=tmp_path / "c.sqlite").fit(X[PRIVATE], Y[PRIVATE])
        assert pate.ledger_.spending().recorded == 10


class TestClones:
    """A clone that trains on the same records spends the same privacy again."""

    def test_seeded_experiments_clone_freely(self) -> None:
        pate = classifier(random_state=3).fit(X[PRIVATE], Y[PRIVATE])
        copy = clone(pate)
        assert not hasattr(copy, "ensemble_")
        copy.fit(X[PRIVATE], Y[PRIVATE])
        assert np.array_equal(copy.label(asked(0, 9)).labels, pate.label(asked(0, 9)).labels)

    def test_clones_share_a_ledger_file(self, tmp_path: Path) -> None:
        pate = classifier(ledger=tmp_path / "l.sqlite").fit(X[PRIVATE], Y[PRIVATE])
        pate.label(asked(0, 10))
        alone = pate.guarantee_.epsilon
        copy = clone(pate).fit(X[PRIVATE], Y[PRIVATE])
        copy.label(asked(0, 10))
        assert copy.ledger_.spending().recorded == 20
        assert copy.guarantee_.epsilon == pate.guarantee_.epsilon > alone

    def test_without_either_a_clone_is_refused(self) -> None:
        for pate in (classifier(), classifier().fit(X[PRIVATE], Y[PRIVATE])):
            with pytest.raises(
                ParameterError, match=r"ledger= to a file .* random_state= to a seed"
            ):
                clone(pate)

    def test_searches_are_refused_and_do_not_score_nan(self) -> None:
        pate = classifier(n_teachers=10)
        with pytest.raises(ParameterError, match="cross-validation and grid search"):
            cross_val_score(pate, X[PRIVATE], Y[PRIVATE], cv=3)
        search = GridSearchCV(pate, {"n_teachers": [10, 20]}, cv=3)
        with pytest.raises(ParameterError, match="cross-validation and grid search"):
            search.fit(X[PRIVATE], Y[PRIVATE])

    @pytest.mark.parametrize("taken", ["random_state", "ledger"])
    def test_a_clone_from_which_seed_or_ledger_is_taken_is_refused(
        self, tmp_path: Path, taken: str
    ) -> None:
        """As a search does that tries parameters: none of its clones would count the others."""
        given = {"random_state": 3, "ledger": tmp_path / "l.sqlite"}
        pate = classifier(teacher=MustNotBeTrained(), **{taken: given[taken]})
        search = GridSearchCV(pate, {taken: [None]}, cv=2, error_score="raise")
        with pytest.raises(ParameterError, match="without adding the two up"):
            search.fit(X[PRIVATE], Y[PRIVATE])
        bare = clone(pate).set_params(**{taken: None})
        for one in (bare, copy(bare), pickle.loads(pickle.dumps(bare))):
            with pytest.raises(ParameterError, match="without adding the two up"):
                one.fit(X[PRIVATE], Y[PRIVATE])

    def test_searches_of_seeded_experiments_score(self) -> None:
        settings = {"mechanism": GNMax(2.0), "budget": Budget(1e6, DELTA), "random_state": 0}
        search = GridSearchCV(classifier(**settings), {"n_teachers": [10, 20]}, cv=2)
        search.fit(X[PRIVATE], Y[PRIVATE])
        assert np.all(search.cv_results_["mean_test_score"] > 0.8)


class MustNotBeTrained(ClassifierMixin, BaseEstimator):
    """A teacher that fails the test when it is trained."""

    def fit(self, _X: np.ndarray, _y: np.ndarray) -> Self:
        pytest.fail("a teacher was trained")


ADVICE = re.compile(r"a budget of ε = ([\d.]+) pays for one answer")


class TestTooSmallABudget:
    def test_it_is_refused_before_anybody_is_trained(self, tmp_path: Path) -> None:
        path = tmp_path / "l.sqlite"
        small = classifier(budget=Budget(0.001, DELTA), teacher=MustNotBeTrained(), ledger=path)
        with pytest.raises(InsufficientBudgetError) as refused:
            small.fit(X[PRIVATE], Y[PRIVATE])
        advice = ADVICE.search(str(refused.value))
        assert advice is not None
        # The advice works, with the very same ledger, and is not far too large.
        least = float(advice[1])
        follows = classifier(budget=Budget(least, DELTA), ledger=path).fit(X[PRIVATE], Y[PRIVATE])
        assert follows.label(asked(0, 9)).asked.sum() == 1
        each = sum(event.cost(DEFAULT_ORDERS) for event in GNMax(10.0).events(2))
        assert least < 1.1 * epsilon_of(each)
        # Who has paid keeps the budget, and the message no longer says otherwise.
        with pytest.raises(LedgerMismatchError):
            classifier(budget=Budget(9.0, DELTA), ledger=path).fit(X[PRIVATE], Y[PRIVATE])
        again = classifier(budget=Budget(least, DELTA), ledger=path, teacher=MustNotBeTrained())
        with pytest.raises(InsufficientBudgetError, match="keeps its budget") as ended:
            again.fit(X[PRIVATE], Y[PRIVATE])
        assert ADVICE.search(str(ended.value)) is None

    @pytest.mark.parametrize("seed", [None, 3])
    def test_a_refused_fit_is_a_refusal_like_any_other(
        self, tmp_path: Path, seed: int | None
    ) -> None:
        """The filter has decided how many are asked: its ceiling is printed from then on."""
        path = tmp_path / "l.sqlite"
        first = classifier(ledger=path, random_state=seed).fit(X[PRIVATE], Y[PRIVATE])
        first.label(asked(0, 10))
        assert first.guarantee_.epsilon < 9.0
        dear = classifier(
            ledger=path, mechanism=GNMax(0.01), teacher=MustNotBeTrained(), random_state=seed
        )
        for _ in range(2):
            with pytest.raises(InsufficientBudgetError):
                dear.fit(X[PRIVATE], Y[PRIVATE])
        assert first.guarantee_.epsilon == 9.0
        with Ledger.existing(path) as ledger:
            assert [entry.kind for entry in ledger.entries()].count("refuse") == 1
            verify(ledger)

    def test_a_seed_does_not_put_the_refusal_off(self) -> None:
        small = classifier(budget=Budget(0.001, DELTA), teacher=MustNotBeTrained(), random_state=0)
        with pytest.raises(InsufficientBudgetError):
            small.fit(X[PRIVATE], Y[PRIVATE])

    def test_a_seed_gets_its_own_answers_again_when_the_budget_is_used_up(
        self, tmp_path: Path
    ) -> None:
        settings = {"ledger": tmp_path / "l.sqlite", "budget": Budget(2.0, DELTA)}
        pate = classifier(random_state=1, **settings).fit(X[PRIVATE], Y[PRIVATE])
        answers = pate.label(asked(0, 300))
        assert not answers.asked.all()
        again = classifier(random_state=1, **settings).fit(X[PRIVATE], Y[PRIVATE])
        assert np.array_equal(again.label(asked(0, 300)).labels, answers.labels)

    @pytest.mark.parametrize("kind", [Weighting, Upsampling, Vanishing])
    @pytest.mark.parametrize("budgets", [(0.001, 0.01), (0.1, 0.2), (0.01, 0.5)])
    def test_groups_are_told_by_how_much(self, kind: Any, budgets: tuple[float, float]) -> None:
        """One budget alone would change what every group's votes weigh."""
        small = dict(zip((SMALL, LARGE), budgets, strict=True))
        pate = grouped(kind(small), teacher=MustNotBeTrained())
        with pytest.raises(InsufficientBudgetError, match="the budget of group") as refused:
            pate.fit(X[PRIVATE], Y[PRIVATE], GROUPS)
        advice = re.search(r"budgets of all groups ([\d.]+) times as large", str(refused.value))
        assert advice is not None
        larger = {name: float(advice[1]) * budget for name, budget in small.items()}
        follows = grouped(kind(larger)).fit(X[PRIVATE], Y[PRIVATE], GROUPS)
        assert follows.label(asked(0, 9)).answered.any()

    @pytest.fixture
    def blobs(self, tmp_path: Path) -> Iterator[Path]:
        np.savez(tmp_path / "private.npz", X=X[PRIVATE], y=Y[PRIVATE])
        np.savez(tmp_path / "public.npz", X=X[400:700])
        return tmp_path

    def run(
        self, folder: Path, ballotine: Command, epsilon: str, teacher: str, more: str = ""
    ) -> Any:
        text = f"""
[run]
name = "blobs"
folder = "out"
{more}[data]
private = "private.npz"
public = "public.npz"
classes = [0, 1]
[teachers]
number = 40
kind = "{teacher}"
jobs = 1
[voting]
mechanism = "gnmax"
sigma = 10.0
[budget]
epsilon = {epsilon}
delta = 1e-5
ledger = "l.sqlite"
"""
        (folder / "run.toml").write_text(text)
        return ballotine("run", "run.toml")

    def test_a_run_is_refused_before_training_and_the_advice_works(
        self, blobs: Path, ballotine: Command
    ) -> None:
        here = f"{__name__}.MustNotBeTrained"
        refused = self.run(blobs, ballotine, "0.001", here)
        assert refused.returncode == 4, refused.stderr
        advice = ADVICE.search(refused.stderr)
        assert advice is not None
        assert not (blobs / "out").exists(), "nothing is left behind"
        ended = self.run(blobs, ballotine, advice[1], "naive-bayes")
        assert "a student needs several" in refused.stderr
        assert ended.returncode == 3, "one answer teaches no student"
        with Ledger.existing(blobs / "l.sqlite") as ledger:
            assert ledger.spending().answered == 1

    def test_a_seeded_run_is_refused_before_training(self, blobs: Path, ballotine: Command) -> None:
        seeded = "experiment = true\nseed = 3\n"
        here = f"{__name__}.MustNotBeTrained"
        refused = self.run(blobs, ballotine, "0.001", here, seeded)
        assert refused.returncode == 4, refused.stderr
        assert ADVICE.search(refused.stderr)

    def test_a_run_goes_on_with_another_budget_when_nothing_was_paid(
        self, blobs: Path, ballotine: Command
    ) -> None:
        assert self.run(blobs, ballotine, "0.001", "naive-bayes").returncode == 4
        ended = self.run(blobs, ballotine, "9.0", "naive-bayes")
        assert ended.returncode == 0, ended.stderr
        with Ledger.existing(blobs / "l.sqlite") as ledger:
            assert ledger.budget == Budget(9.0, DELTA)
            verify(ledger)


def test_a_pipeline_that_scales_on_all_records_says_so() -> None:
    """The scaler has seen every record: its means are in what every teacher sees."""
    pipeline = make_pipeline(StandardScaler(), classifier())
    pipeline.fit(X[PRIVATE], Y[PRIVATE])
    pate = pipeline[-1]
    pate.label(pipeline[:-1].transform(asked(0, 5)))
    guarantee = pate.guarantee_
    assert guarantee.kind is Kind.CONDITIONAL
    (told,) = [text for text in guarantee.assumptions if "scaling" in text]
    assert "not counted" in told
    assert "kind: conditional" in str(guarantee)
