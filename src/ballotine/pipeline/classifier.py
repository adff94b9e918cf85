"""The whole road as one scikit-learn estimator."""

from __future__ import annotations

import numbers
import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ballotine.data import fingerprint, row_keys
from ballotine.data.partition import make_partition
from ballotine.errors import AbstainedError, DataError, ParameterError
from ballotine.noise import NoiseSource, source
from ballotine.pipeline.assumptions import make_guarantee
from ballotine.privacy.guarantee import Budget, Guarantee
from ballotine.privacy.ledger import Ledger
from ballotine.students import SpreadingClassifier, fit_student
from ballotine.teachers import Trainer, make_engine
from ballotine.types import FloatArray, IntArray, Labels, Table
from ballotine.voting import Answerer, Answers, GNMax, Mechanism, Tallies, query_ids


class DeltaWarning(UserWarning):
    """δ is so large that it allows publishing somebody's record outright."""


def warn_about_delta(delta: float, n_records: int) -> str | None:
    """The sentence for a δ of 1/n or more, or None."""
    if delta * n_records < 1:
        return None
    return (
        f"δ = {delta:g} is not below 1/n for n = {n_records} private records: a mechanism that "
        "publishes one random record in full would satisfy it; choose δ well below 1/n"
    )


def _has_proba(self: PateClassifier) -> bool:
    return hasattr(getattr(self, "student_", None), "predict_proba")


class PateClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Private aggregation of teacher ensembles, from private rows to a student.

    ``fit`` trains one teacher per share of the private rows and releases nothing.
    ``label`` releases noisy answers for public rows, each paid for in the ledger.
    ``distill`` trains the student on them. ``predict`` asks the student; before there is
    one, it answers through the mechanism and the ledger, a row always with one answer.

    Parameters:
        teacher: any scikit-learn classifier; None for the nearest neighbour.
        n_teachers: how many shares the private rows are cut into.
        mechanism: how votes become answers; None for GNMax with σ = n_teachers / 5.
        budget: the (ε, δ) that may ever be spent on these rows. There is no default.
        student: any scikit-learn classifier; None for label spreading.
        classes: the classes, as public knowledge; None reads them from the private
            labels, and the guarantee then says so.
        partition: "random", or "stratified" (reads labels; the guarantee says so).
        ledger: path of the data set's ledger; None keeps one in memory for this object.
        engine: "local" or "ray".
        n_jobs: processes that train teachers; None for one, -1 for all cores.
        random_state: None for secure noise; a seed is for experiments only.
    """

    def __init__(
        self,
        teacher: Any = None,
        n_teachers: int = 50,
        mechanism: Mechanism | None = None,
        budget: Budget | None = None,
        student: Any = None,
        *,
        classes: Any = None,
        partition: str = "random",
        ledger: Any = None,
        engine: str = "local",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.teacher = teacher
        self.n_teachers = n_teachers
        self.mechanism = mechanism
        self.budget = budget
        self.student = student
        self.classes = classes
        self.partition = partition
        self.ledger = ledger
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Table, y: Labels) -> Self:
        """Cut the private rows into shares and train a teacher on each.

        Args:
            X: private rows, shape (records, features).
            y: their classes: numbers or strings.
        """
        if not isinstance(self.budget, Budget):
            raise ParameterError(
                "a budget is needed and has no default: budget=Budget(epsilon, delta)"
            )
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=self.n_teachers)
        check_classification_targets(y)
        codes = self._encode(y)
        if (text := warn_about_delta(self.budget.delta, len(X))) is not None:
            warnings.warn(text, DeltaWarning, stacklevel=2)
        self.noise_ = _noise(self.random_state)
        secret = self.noise_.words("partition", b"", 4)
        self.partition_ = make_partition(self.partition, codes, self.n_teachers, secret)
        self.ledger_ = Ledger.open(
            self.ledger, self.budget, lambda salt: fingerprint(X, self.classes_[codes], salt)
        )
        trainer = Trainer(
            estimator=KNeighborsClassifier(1) if self.teacher is None else self.teacher,
            classes=len(self.classes_),
            secret=secret,
            engine=make_engine(self.engine, self.n_jobs or 1),
        )
        self.ensemble_ = trainer.train(X, codes, self.partition_)
        self.student_: Any = None
        return self

    def label(self, X: Table) -> Answers:
        """Release answers for public rows, in their order, until the budget ends.

        Rows asked before return their stored answer and cost nothing.
        """
        check_is_fitted(self, "ensemble_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        mechanism = self._mechanism()
        answerer = Answerer(mechanism, self.ledger_, self.noise_, self.classes_)
        ids = query_ids(row_keys(X), self.ensemble_.identity, mechanism)
        return answerer.answer(
            ids, lambda rows: Tallies.of(self.ensemble_.ballots(X[rows]), len(self.classes_))
        )

    def distill(self, X: Table, answers: Answers | None = None) -> Self:
        """Train the student on public rows and their answers.

        Args:
            X: public rows.
            answers: what ``label`` returned for them; None asks now.
        """
        answers = self.label(X) if answers is None else answers
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if len(answers) != len(X):
            raise DataError(f"{len(X)} public rows came with {len(answers)} answers")
        student = SpreadingClassifier() if self.student is None else self.student
        seed = int.from_bytes(self.noise_.words("student", b"", 1)[:3], "big")
        self.student_ = fit_student(student, X, answers.labels, seed)
        return self

    def predict(self, X: Table) -> Labels:
        """The student's classes; before ``distill``, released answers.

        Raises:
            AbstainedError: the mechanism keeps back an answer (before ``distill``).
            InsufficientBudgetError: the budget ended first (before ``distill``).
        """
        check_is_fitted(self, "ensemble_")
        if self.student_ is None:
            codes = self._demand(self.label(X))
        else:
            codes = self.student_.predict(validate_data(self, X, dtype=np.float64, reset=False))
        return self.classes_[codes]

    @available_if(_has_proba)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Table) -> FloatArray:
        """The student's probabilities, one column per class of ``classes_``."""
        X = validate_data(self, X, dtype=np.float64, reset=False)
        result = np.zeros((len(X), len(self.classes_)))
        result[:, self.student_.classes_] = self.student_.predict_proba(X)
        return result

    @property
    def guarantee_(self) -> Guarantee:
        """What holds for everything released so far, and what it rests on."""
        check_is_fitted(self, "ensemble_")
        return make_guarantee(
            self.ledger_,
            self.partition_,
            self.noise_,
            classes_from_private=self.classes is None,
        )

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        return tags

    def _mechanism(self) -> Mechanism:
        return GNMax(self.n_teachers / 5) if self.mechanism is None else self.mechanism

    def _encode(self, y: Labels) -> IntArray:
        """Class numbers; the classes come from the public list if there is one."""
        self.classes_ = np.unique(y if self.classes is None else np.asarray(self.classes))
        if len(self.classes_) < 2:
            raise DataError("a vote needs at least two classes, and the labels hold one class")
        codes = np.searchsorted(self.classes_, y)
        if np.any(self.classes_[np.minimum(codes, len(self.classes_) - 1)] != y):
            raise DataError("some private labels are not among the given classes")
        return codes.astype(np.int64)

    def _demand(self, answers: Answers) -> IntArray:
        if not answers.asked.all():
            raise self.ledger_.refusal(self._mechanism().events(len(self.classes_)))
        if not answers.answered.all():
            missing = int(answers.abstained.sum())
            raise AbstainedError(
                f"the mechanism abstained on {missing} of {len(answers)} rows; use label() to see "
                "which, or distill() a student, which answers every row",
                abstained=missing,
            )
        return answers.labels


def _noise(random_state: Any) -> NoiseSource:
    if random_state is None or isinstance(random_state, numbers.Integral):
        return source(None if random_state is None else int(random_state))
    if isinstance(random_state, np.random.RandomState):
        return source(int(random_state.randint(2**31)))
    raise ParameterError("random_state must be None (secure noise) or an integer seed")
