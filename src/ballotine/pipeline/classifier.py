"""The whole pipeline as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, _clone_parametrized
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from ballotine.data import row_keys
from ballotine.data.identity import Records, records_of
from ballotine.data.target import label_words
from ballotine.errors import AbstainedError, DataError, ParameterError
from ballotine.ledger import Ledger, Mode
from ballotine.pipeline.assumptions import PREPARED_ELSEWHERE, make_guarantee
from ballotine.pipeline.classifier_ledgers import ClassifierLedgers
from ballotine.pipeline.classifier_parameters import make_noise, parse_mode
from ballotine.pipeline.counting import first_occurrences
from ballotine.pipeline.privacy_warnings import (
    BiasWarning,
    DeltaWarning,
    bias_warning,
    delta_warning,
)
from ballotine.pipeline.procedure import Procedure, Request
from ballotine.pipeline.training import train_ensemble, train_student
from ballotine.privacy.guarantee import Budget, Guarantee
from ballotine.task import Task
from ballotine.teachers import make_engine
from ballotine.teachers.together import LearnTogether, RoundsAccount, require_network
from ballotine.types import FloatArray, IntArray, Labels, Matrix
from ballotine.voting import Answers, GNMax, Mechanism, Session
from ballotine.voting.individual import Scheme


def _has_proba(self: PateClassifier) -> bool:
    return hasattr(getattr(self, "student_", None), "predict_proba")


class PateClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Private aggregation of teacher ensembles, from private rows to a student.

    ``fit`` trains one teacher per share of the private rows and releases nothing.
    ``label`` releases noisy answers for public rows and charges them to the ledger.
    ``distill`` trains the student on these answers. ``predict`` uses the student; before
    ``distill`` it releases answers as ``label`` does, always the same one for the same row.

    With a mechanism for several labels, ``y``, answers and predictions are matrices of 0 and 1
    (−1: unknown), and ``score`` is the mean accuracy over labels.

    Parameters:
        teacher: any scikit-learn classifier; None for the nearest neighbour.
        n_teachers: how many teachers there are, each with its own share of the private rows.
        mechanism: turns votes into answers; None for GNMax with σ = n_teachers / 5.
        budget: the (ε, δ) that may ever be spent on these rows. There is no default.
        student: any scikit-learn classifier; None for label spreading, or with several labels
            for logistic regression.
        individual: one budget per group of records, and the method that enforces them:
            `Weighting`, `Upsampling` or `Vanishing`. It replaces ``budget`` and needs ``delta``.
        mode: when answering stops. "strict": before the data-independent cost exceeds the
            budget. "fixed": after ``queries`` different rows; their smaller, data-dependent ε is
            then published with noise of its own. Give ``delta``, no ``budget``. "paper": by the
            data-dependent cost, as in papers; the results may not be released.
        queries: how many different public rows ``label`` gets in fixed mode, in total.
        delta: the δ if there is no ``budget``.
        classes: the classes, if they are public knowledge; None reads them from the private
            labels, and the guarantee then says so. With several labels: their names or number.
        thresholds: with several labels, the probability above which a teacher names a label:
            one number, or one per label. Choose them from public data.
        partition: "random", "stratified" (reads labels; the guarantee says so), or a strategy
            from `ballotine.data.partition`: `Similarity`, `Dirichlet`, `Column`.
        together: `LearnTogether`, for networks that average their weights between rounds
            (TTAC); None for teachers that learn alone.
        ledger: path of the data set's ledger; None for one in memory, for this object only.
        engine: "local" or "ray".
        n_jobs: how many processes train teachers; None for one, -1 for all cores.
        random_state: None for secure noise; a seed is for experiments only.
    """

    _cloned = False

    def __init__(
        self,
        teacher: Any = None,
        n_teachers: int = 50,
        mechanism: Mechanism | None = None,
        budget: Budget | None = None,
        student: Any = None,
        *,
        individual: Scheme | None = None,
        mode: str = "strict",
        queries: int | None = None,
        delta: float | None = None,
        classes: Any = None,
        thresholds: Any = 0.5,
        partition: Any = "random",
        together: LearnTogether | None = None,
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
        self.individual = individual
        self.mode = mode
        self.queries = queries
        self.delta = delta
        self.classes = classes
        self.thresholds = thresholds
        self.partition = partition
        self.together = together
        self.ledger = ledger
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Matrix, y: Labels, groups: Labels | None = None) -> Self:
        """Partition the private rows and train a teacher on each share.

        Args:
            X: private rows, shape (records, features).
            y: their classes: numbers or strings; or 0 and 1, shape (records, labels).
            groups: the group of each record, with individual budgets.
        """
        self.__dict__.pop("ensemble_", None)  # a failed fit must not leave the old ensemble
        if self._cloned:  # seed or ledger may have been removed since
            self._require_counted()
        request = self._request()
        if self.together is not None:
            require_network(self.teacher)
        X, codes, names = self._private_rows(X, y, groups, request.mechanism.task)
        self.procedure_ = Procedure.settle(request, len(self.classes_), names, len(X))
        self._warn(codes)
        self.noise_ = make_noise(self.random_state)
        secret = self.noise_.words("partition", b"", 4)
        self.partition_ = self.procedure_.deal(self.partition, codes, secret)
        records = records_of(X, label_words(self._task.decode(codes)))
        self.ledger_ = self._ledger(records)
        self._groups = self.procedure_.groups_digest(self.ledger_, records, names)
        # Without a seed the teachers are new and have not answered anything yet.
        self.procedure_.require_affordable(self.ledger_, self._groups, begun=self.noise_.seeded)
        if request.together is not None:  # private rounds are releases
            self._own_ledgers().note_release(self.ledger_, self.noise_)
        self.ensemble_ = train_ensemble(
            self.procedure_,
            KNeighborsClassifier(1) if self.teacher is None else self.teacher,
            X,
            codes,
            self.partition_,
            secret=secret,
            engine=make_engine(self.engine, self.n_jobs or 1),
            thresholds=self.thresholds,
            account=RoundsAccount(self.ledger_, self.noise_),
        )
        name = self.procedure_.voters_name(self.ensemble_.identity, self.partition_, records)
        self._voters = replace(self.ensemble_, identity=name)
        self._session: Session | None = None
        if request.mode is not Mode.FIXED:  # in fixed mode, ``label`` brings the rows
            self._answering([])
        exempt = self.procedure_.exempt_records
        self._exempt = X[exempt], codes[exempt]
        self.student_: Any = None
        return self

    def label(self, X: Matrix) -> Answers:
        """Release answers for public rows, in order, until the budget is spent.

        Rows asked before return their stored answer and cost nothing.
        """
        check_is_fitted(self, "ensemble_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        keys = row_keys(X)
        session = self._answering(keys)
        self._own_ledgers().note_release(self.ledger_, self.noise_)
        answers = session.answer(X, keys)
        if session.is_whole_pool(keys):  # fewer of them may be asked again
            session.publish([X[np.unique(first_occurrences(keys))]])
        return answers

    def distill(self, X: Matrix, answers: Answers | None = None) -> Self:
        """Train the student on public rows and their answers.

        Records that need no privacy are added with their own labels.

        Args:
            X: public rows.
            answers: what ``label`` returned for them; None calls ``label`` now.
        """
        answers = self.label(X) if answers is None else answers
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if len(answers) != len(X):
            raise DataError(f"got {len(answers)} answers for {len(X)} public rows")
        steps = self.procedure_.steps
        student = steps.default_student() if self.student is None else self.student
        rows = np.concatenate([X, self._exempt[0]])
        labels = np.concatenate([answers.labels, self._exempt[1]])
        self.student_ = train_student(steps, student, rows, labels, self.noise_)
        return self

    def predict(self, X: Matrix) -> Labels:
        """Return the student's predictions; before ``distill``, released answers.

        Raises:
            AbstainedError: the mechanism abstained on a row (before ``distill``).
            InsufficientBudgetError: the budget did not suffice (before ``distill``).
        """
        check_is_fitted(self, "ensemble_")
        if self.student_ is None:
            codes = self._demand(self.label(X))
        else:
            codes = self.student_.predict(validate_data(self, X, dtype=np.float64, reset=False))
        return self._task.decode(codes)

    @available_if(_has_proba)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Matrix) -> FloatArray:
        """Return the student's probabilities, one column per class (or label) of ``classes_``."""
        X = validate_data(self, X, dtype=np.float64, reset=False)
        student = self.procedure_.steps.student(self.student_, self.classes_)
        return student.predict_proba(X)

    def score(self, X: Matrix, y: Labels, sample_weight: Any = None) -> float:
        """Return the accuracy; with several labels, the mean accuracy over labels."""
        predicted = self.predict(X)
        return self.procedure_.steps.score(predicted, y, sample_weight)

    @property
    def guarantee_(self) -> Guarantee:
        """The guarantee for everything released so far, with its assumptions."""
        check_is_fitted(self, "ensemble_")
        return make_guarantee(
            self.ledger_,
            self.partition_,
            self.noise_,
            classes_from_private=self._classes_from_private,
            plan=self.procedure_.plan,
            extra=(*self.procedure_.assumptions, PREPARED_ELSEWHERE),
        )

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.classifier_tags.multi_label = bool(getattr(self.mechanism, "multilabel", False))
        return tags

    def __sklearn_clone__(self) -> PateClassifier:
        """Clone, unless the clone's spending would go uncounted.

        Clones share a ledger file and its budget; seeded experiments need no ledger.
        """
        self._require_counted()
        clone: PateClassifier = _clone_parametrized(self)
        clone._cloned = True
        return clone

    def _require_counted(self) -> None:
        """Refuse a clone that has neither a ledger file nor a seed."""
        if self.random_state is None and self.ledger is None:
            raise ParameterError(
                "a clone would spend the budget of these records a second time without adding the "
                "two up: set ledger= to a file that all clones share, or random_state= to a seed "
                "for experiments (cross-validation and grid search need the seed: each fold is "
                "another data set, and a ledger belongs to one data set)"
            )

    def _request(self) -> Request:
        return Request(
            mechanism=GNMax(self.n_teachers / 5) if self.mechanism is None else self.mechanism,
            teachers=self.n_teachers,
            mode=parse_mode(self.mode),
            budget=self.budget,
            delta=self.delta,
            individual=self.individual,
            queries=self.queries,
            together=self.together,
        )

    def _warn(self, codes: IntArray) -> None:
        """Warn the holder before anything is released."""
        protected = len(codes) - len(self.procedure_.exempt_records)
        if (text := delta_warning(self.procedure_.plan.delta, protected)) is not None:
            warnings.warn(text, DeltaWarning, stacklevel=3)
        if (text := bias_warning(self.procedure_, codes)) is not None:
            warnings.warn(text, BiasWarning, stacklevel=3)

    def _private_rows(
        self, X: Matrix, y: Labels, groups: Labels | None, task: type[Task]
    ) -> tuple[Matrix, IntArray, Labels | None]:
        """Return rows, class numbers and groups; errors show no private values."""
        least = self.n_teachers
        try:
            X, y = validate_data(
                self, X, y, dtype=np.float64, multi_output=task.several, ensure_min_samples=least
            )
        except ValueError as problem:
            if "could not convert" not in str(problem):
                raise
            raise DataError("the private rows contain values that are not numbers") from None
        self._classes_from_private = self.classes is None and not task.several
        codes, self._task = task.encode(y, self.classes)
        self.classes_ = self._task.names
        names = None if groups is None else np.asarray(groups)
        check_consistent_length(codes, names)
        return X, codes, names

    def _ledger(self, records: Records) -> Ledger:
        promise, seeded = self.procedure_.rules.promise(), self.noise_.seeded
        return self._own_ledgers().open(self.ledger, promise, records, seeded=seeded)

    def _own_ledgers(self) -> ClassifierLedgers:
        own: ClassifierLedgers = self.__dict__.setdefault("_ledgers", ClassifierLedgers())
        return own

    def _answering(self, keys: list[bytes]) -> Session:
        """Return the session that answers; in fixed mode, one for exactly these rows."""
        fixed = self.procedure_.rules.mode is Mode.FIXED
        if self._session is None or (fixed and not self._session.in_pool(keys)):
            self._session = Session.open(
                self.procedure_.rules,
                self._voters,
                self.ledger_,
                self.noise_,
                names=self.classes_,
                groups=self._groups,
                pool=keys if fixed else None,
            )
        return self._session

    def _demand(self, answers: Answers) -> IntArray:
        if not answers.asked.all():
            raise self._answering([]).refusal()
        if (missing := int(np.count_nonzero(answers.labels < 0))) > 0:
            raise AbstainedError(
                f"the mechanism abstained on {missing} of {answers.labels.size} "
                f"{answers.task.parts}; use label() to see "
                "which, or distill() to train a student, which predicts every row",
                abstained=missing,
            )
        return answers.labels
