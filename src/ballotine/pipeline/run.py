"""One run, from the run file to a student: partition, teachers, votes, answers, student.

Every stage leaves its result in the run's folder and takes it from there when the run
is resumed; spending is the ledger's business and survives on its own.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ballotine.data import Dataset, DataSpec, load, row_keys
from ballotine.data.partition import Partition, make_partition
from ballotine.errors import BallotineError, RunFolderError
from ballotine.files import produce_atomic, write_atomic
from ballotine.noise import NoiseSource, source
from ballotine.pipeline.answers_file import write_answers
from ballotine.pipeline.assumptions import (
    PREPARED_ELSEWHERE,
    PUBLIC_FROM_PRIVATE,
    make_guarantee,
)
from ballotine.pipeline.classifier import warn_about_delta
from ballotine.pipeline.estimators import make_estimator
from ballotine.pipeline.evaluate import Evaluation, ceiling, evaluate, label_accuracy
from ballotine.pipeline.folder import RunFolder, discard_unused, open_log
from ballotine.pipeline.history import cost_history, runs_in
from ballotine.pipeline.runfile import RunFile
from ballotine.privacy.guarantee import Guarantee
from ballotine.privacy.ledger import Anchor, Ledger, read_anchor, verify
from ballotine.progress import Progress, Silent
from ballotine.students import Student, fit_student
from ballotine.teachers import Ensemble, TeacherStore, Trainer, make_engine
from ballotine.types import IntArray
from ballotine.voting import Answerer, Answers, Tallies, query_ids

log = logging.getLogger("ballotine.run")


@dataclass(frozen=True)
class Account:
    """What the ledger says about itself when the run ends.

    Attributes:
        anchor: where the ledger's chain stands.
        epsilon: what the answers given so far were charged: the meter.
        history: the meter after each batch, over all runs.
        runs: how many runs have spent from it.
    """

    anchor: Anchor
    epsilon: float
    history: list[dict[str, Any]]
    runs: int


@dataclass
class RunResult:
    """What a finished run knows about itself; all of it may be shown."""

    settings: RunFile
    folder: RunFolder
    dataset: Dataset = field(repr=False)
    partition: Partition = field(repr=False)
    answers: Answers
    student: Student
    guarantee: Guarantee
    account: Account
    evaluation: Evaluation | None = None
    label_accuracy: float | None = None
    ceiling: float | None = None
    warnings: tuple[str, ...] = ()
    broken_teachers: bool = False


class Run:
    """A run in its folder, new or resumed."""

    def __init__(
        self, settings: RunFile, folder: RunFolder, progress: Progress | None = None
    ) -> None:
        self.settings = settings
        self.folder = folder
        self.progress = progress or Silent()
        self.noise: NoiseSource = source(settings.run.seed)
        self.mechanism = settings.voting.build()
        self.teacher = make_estimator(settings.teachers.kind, settings.teachers.options, "teachers")
        self.learner = make_estimator(settings.student.kind, settings.student.options, "student")

    def execute(self) -> RunResult:
        """Walk the whole road; what was done before is not done again."""
        open_log(self.folder)
        log.info("run %s starts in %s", self.settings.run.name, self.folder.root.name)
        secret = self._secret()
        try:
            dataset = load(self._data_spec())
            partition = self._partition(dataset, secret)
            book = self._open_ledger(dataset)
        except BallotineError:
            discard_unused(self.folder)
            raise
        with book as ledger:
            ensemble = self._train(dataset, partition, secret)
            ballots = self._vote(ensemble, dataset)
            self._keep_problems(ensemble)
            answers = self._answer(ledger, ensemble, dataset, ballots)
            student = self._distill(dataset, answers)
            result = self._result(dataset, partition, ledger, answers, student)
        log.info("run ends: ε = %.3f, δ = %g", result.guarantee.epsilon, result.guarantee.delta)
        return result

    def _secret(self) -> bytes:
        """What the partition follows from: kept, so that a resumed run deals alike."""
        path = self.folder.secret
        if not path.exists():
            write_atomic(path, self.noise.words("partition", b"", 4), private=True)
        return path.read_bytes()

    def _data_spec(self) -> DataSpec:
        data = self.settings.data
        return DataSpec(
            source=data.source,
            data_folder=data.folder,
            private=data.private,
            public=data.public,
            test=data.test,
            target=data.target,
            schema=data.schema_file,
            classes=None if data.classes is None else tuple(data.classes),
            public_rows=data.public_rows,
            test_rows=data.test_rows,
            # Which rows are public belongs to the data, not to a run: all runs must agree.
            split_seed=self.settings.run.seed or 0,
        )

    def _partition(self, dataset: Dataset, secret: bytes) -> Partition:
        with self.progress.stage("partition", 1) as advance:
            kind, number = self.settings.partition.kind, self.settings.teachers.number
            partition = make_partition(kind, dataset.y_private, number, secret)
            advance(1)
        return partition

    def _open_ledger(self, dataset: Dataset) -> Ledger:
        path = self.settings.budget.ledger or self.folder.ledger
        ledger = Ledger.open(
            path,
            self.settings.budget.build(),
            dataset.fingerprint,
        )
        if self.folder.card.exists():  # a card was issued: the ledger must not be older
            verify(ledger, read_anchor(self.folder.card))
        return ledger

    def _train(self, dataset: Dataset, partition: Partition, secret: bytes) -> Ensemble:
        teachers = self.settings.teachers
        trainer = Trainer(
            estimator=self.teacher,
            classes=len(dataset.classes),
            secret=secret,
            engine=make_engine(teachers.engine, teachers.jobs),
            store=TeacherStore(self.folder.teachers),
        )
        with self.progress.stage("teachers", teachers.number) as advance:
            ensemble = trainer.train(dataset.X_private, dataset.y_private, partition, advance)
        log.info("%d teachers are ready", len(ensemble))
        return ensemble

    def _vote(self, ensemble: Ensemble, dataset: Dataset) -> IntArray:
        """Ballots on the whole pool, kept: they cost nothing until something is released."""
        path = self.folder.ballots
        pool = dataset.X_public[: self.settings.voting.max_queries]
        with self.progress.stage("votes", len(ensemble)) as advance:
            if path.exists():
                ballots: IntArray = np.load(path, allow_pickle=False)
                advance(len(ensemble))
            else:
                ballots = ensemble.ballots(pool, advance)
                produce_atomic(path, lambda partial: _save_array(partial, ballots), private=True)
        return ballots

    def _keep_problems(self, ensemble: Ensemble) -> None:
        """Why some teachers vote a constant: for the holder, in the private part."""
        if ensemble.problems:
            lines = [f"teacher {i}: {text}" for i, text in sorted(ensemble.problems.items())]
            write_atomic(self.folder.problems, "\n".join(lines) + "\n", private=True)

    def _answer(
        self, ledger: Ledger, ensemble: Ensemble, dataset: Dataset, ballots: IntArray
    ) -> Answers:
        classes = np.asarray(dataset.classes)
        answerer = Answerer(self.mechanism, ledger, self.noise, classes, run=self.folder.root.name)
        pool = dataset.X_public[: len(ballots)]
        ids = query_ids(row_keys(pool), ensemble.identity, self.mechanism)
        with self.progress.stage("answers", len(pool)) as advance:
            answers = answerer.answer(
                ids, lambda rows: Tallies.of(ballots[rows], len(classes)), advance
            )
            if not answers.asked.any():
                raise ledger.refusal(self.mechanism.events(len(classes)))
        produce_atomic(self.folder.answers, lambda partial: write_answers(partial, answers))
        log.info("%d queries asked, %d answered", answers.asked.sum(), answers.answered.sum())
        return answers

    def _distill(self, dataset: Dataset, answers: Answers) -> Student:
        with self.progress.stage("student", 1) as advance:
            student = self._kept_student()
            if student is None:
                rows = dataset.X_public[: len(answers)]
                seed = int.from_bytes(self.noise.words("student", b"", 1)[:3], "big")
                model = fit_student(self.learner, rows, answers.labels, seed)
                student = Student(model, list(dataset.classes))
                student.save(self.folder.student)
            advance(1)
        return student

    def _kept_student(self) -> Student | None:
        """The student of an interrupted run, if it holds nothing but trusted types."""
        try:
            return Student.load(self.folder.student) if self.folder.student.exists() else None
        except RunFolderError:
            return None  # a type of the user's own: learning again is safer than trusting it

    def _result(
        self,
        dataset: Dataset,
        partition: Partition,
        ledger: Ledger,
        answers: Answers,
        student: Student,
    ) -> RunResult:
        guarantee = make_guarantee(
            ledger,
            partition,
            self.noise,
            classes_from_private=dataset.classes_from == "private labels",
            extra=_extra_assumptions(dataset),
        )
        warning = warn_about_delta(guarantee.delta, len(dataset.X_private))
        result = RunResult(
            self.settings,
            self.folder,
            dataset,
            partition,
            answers,
            student,
            guarantee,
            Account(
                ledger.head(), ledger.spending().epsilon(), cost_history(ledger), runs_in(ledger)
            ),
            broken_teachers=self.folder.problems.exists(),
            warnings=dataset.notes + (() if warning is None else (warning,)),
        )
        if dataset.X_test is not None and dataset.y_test is not None:
            result.evaluation = evaluate(student, dataset.X_test, dataset.y_test)
        if self.settings.run.experiment:
            self._experiment(result)
        return result

    def _experiment(self, result: RunResult) -> None:
        """Numbers that use labels nobody has in a real run."""
        data = result.dataset
        if data.y_public is not None:
            result.label_accuracy = label_accuracy(
                result.answers, data.y_public[: len(result.answers)]
            )
        if data.X_test is not None and data.y_test is not None:
            result.ceiling = ceiling(
                self.teacher, data.X_private, data.y_private, data.X_test, data.y_test
            )


def _extra_assumptions(dataset: Dataset) -> tuple[str, ...]:
    found = []
    if dataset.public_from == "rows of the private file":
        found.append(PUBLIC_FROM_PRIVATE)
    if dataset.preprocessing_from == "none":
        found.append(PREPARED_ELSEWHERE)
    return tuple(found)


def _save_array(path: Path, array: IntArray) -> None:
    with path.open("wb") as stream:  # a name would get ".npy" appended
        np.save(stream, array, allow_pickle=False)
