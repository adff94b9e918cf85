"""One run, from the run file to a student: partition, teachers, votes, answers, student.

Every stage leaves its result in the run's folder and takes it from there when the run
is resumed; spending is the ledger's business and survives on its own.
"""

from __future__ import annotations

import logging

import numpy as np

from ballotine.data import Dataset, load, row_keys
from ballotine.data.partition import Partition
from ballotine.errors import DataError
from ballotine.files import produce_atomic, write_atomic
from ballotine.ledger import Ledger, Mode, read_anchor, verify
from ballotine.noise import NoiseSource, source
from ballotine.pipeline.answers_file import write_answers
from ballotine.pipeline.assumptions import (
    PREPARED_ELSEWHERE,
    PUBLIC_FROM_PRIVATE,
    make_guarantee,
)
from ballotine.pipeline.distilling import distill, interruption
from ballotine.pipeline.estimators import make_estimator, make_transformer
from ballotine.pipeline.evaluate import ceiling, evaluate, label_accuracy
from ballotine.pipeline.features import Seen, assumed, see
from ballotine.pipeline.folder import RunFolder, open_log
from ballotine.pipeline.groups import group_accounts
from ballotine.pipeline.kept import claim_teachers, keep_ballots, kept_ballots, mark_of, shares
from ballotine.pipeline.procedure import Procedure
from ballotine.pipeline.result import Account, RunResult
from ballotine.pipeline.runfile import RunFile
from ballotine.pipeline.together import Place, check_network
from ballotine.pipeline.training import train_ensemble, with_straight
from ballotine.pipeline.warn import warn_about_bias, warn_about_delta
from ballotine.progress import Progress, Silent
from ballotine.students import Student, unanswered
from ballotine.teachers import Ensemble, TeacherStore, make_engine
from ballotine.text import quoted
from ballotine.types import Table
from ballotine.voting import Answers

log = logging.getLogger("ballotine.run")


class Run:
    """A run in its folder, new or resumed."""

    def __init__(
        self, settings: RunFile, folder: RunFolder, progress: Progress | None = None
    ) -> None:
        self.settings = settings
        self.folder = folder
        self.progress = progress or Silent()
        self.noise: NoiseSource = source(settings.run.seed)
        self.teacher = make_estimator(settings.teachers.kind, settings.teachers.options, "teachers")
        if settings.together.method is not None:
            check_network(self.teacher)
        self.learner = make_estimator(*settings.learner(), "student")
        if settings.features.kind is not None:  # a wrong name fails before anything is read
            make_transformer(settings.features.kind, settings.features.options, "features")

    def execute(self) -> RunResult:
        """Walk the whole road; what was done before is not done again."""
        open_log(self.folder)
        log.info("run %s starts in %s", self.settings.run.name, self.folder.root.name)
        secret = self._secret()
        dataset = load(self.settings.data_spec())
        procedure = self._settle(dataset)
        partition = self._partition(dataset, procedure, secret)
        seen = see(self.settings.features, dataset, self.progress)
        with self._open_ledger(dataset, procedure) as ledger:
            ensemble = self._train(dataset, seen, procedure, partition, secret, ledger)
            ballots = self._vote(ensemble, dataset, seen, procedure)
            self._keep_problems(ensemble)
            name = seen.name(ensemble.identity)
            answers = self._answer(ledger, name, procedure, dataset, ballots)
            student = self._distill(dataset, seen, procedure, answers)
            result = self._result(dataset, seen, procedure, partition, ledger, answers, student)
        log.info("run ends: ε = %.3f, δ = %g", result.guarantee.epsilon, result.guarantee.delta)
        return result

    def deal(self) -> tuple[Dataset, Partition]:
        """The records and who teaches whom in this run: private."""
        dataset = load(self.settings.data_spec())
        return dataset, self._partition(dataset, self._settle(dataset), self._secret())

    def _secret(self) -> bytes:
        """What the partition follows from: kept, so that a resumed run deals alike."""
        path = self.folder.secret
        if not path.exists():
            write_atomic(path, self.noise.words("partition", b"", 4), private=True)
        return path.read_bytes()

    def _settle(self, dataset: Dataset) -> Procedure:
        """Count, charge and stop how? Decided by settings and public facts alone."""
        voting = self.settings.voting
        mechanism = voting.build(dataset.classes)
        if mechanism.multilabel != dataset.multilabel:
            raise DataError(
                f"[voting] mechanism: {mechanism.name} is for "
                f"{'several labels' if mechanism.multilabel else 'one class'} per record, and "
                f"the data has {'several labels' if dataset.multilabel else 'one class'}"
            )
        queries = len(set(row_keys(self._pool(dataset))))
        rules = self.settings.rules(labels=dataset.classes, queries=queries)
        groups = None if rules.individual is None else dataset.groups
        procedure = Procedure.settle(rules, len(dataset.classes), groups)
        if procedure.plan is not None:
            for line in procedure.plan.table(procedure.classes).splitlines():
                log.info("plan: %s", line)
        return procedure

    def _pool(self, dataset: Dataset | Seen) -> Table:
        """The public rows that are asked, in their order."""
        return dataset.X_public[: self.settings.voting.max_queries]

    def _partition(self, dataset: Dataset, procedure: Procedure, secret: bytes) -> Partition:
        with self.progress.stage("partition", 1) as advance:
            strategy = self.settings.partition.build(dataset.groups)
            partition = procedure.deal(strategy, dataset.y_private, secret)
            advance(1)
        return partition

    def _open_ledger(self, dataset: Dataset, procedure: Procedure) -> Ledger:
        path = self.settings.budget.ledger or self.folder.ledger
        if procedure.rules.mode is Mode.FIXED:  # how ε will be published takes a while to plan
            with self.progress.stage("plan", 1) as advance:
                terms = procedure.terms(path)
                advance(1)
        else:
            terms = procedure.terms(path)
        ledger = Ledger.open(path, terms, dataset.fingerprint)
        if self.folder.card.exists():  # a card was issued: the ledger must not be older
            verify(ledger, read_anchor(self.folder.card))
        return ledger

    def _train(
        self,
        dataset: Dataset,
        seen: Seen,
        procedure: Procedure,
        partition: Partition,
        secret: bytes,
        ledger: Ledger,
    ) -> Ensemble:
        teachers, X, y = self.settings.teachers, dataset.X_private, dataset.y_private
        together = procedure.rules.together
        how = repr(self.teacher) if together is None else f"{self.teacher!r} {together!r}"
        made_from = mark_of(how + seen.how, secret, shares(partition.groups), X, y)
        claim_teachers(self.folder, made_from)
        folder = self.folder.teachers.resolve()
        stage, steps = ("rounds", together.rounds) if together else ("teachers", procedure.teachers)
        with self.progress.stage(stage, steps) as advance:
            ensemble = train_ensemble(
                procedure,
                self.teacher,
                seen.X_private,
                y,
                partition,
                secret=secret,
                engine=make_engine(teachers.engine, teachers.jobs),
                thresholds=self.settings.voting.thresholds,
                store=TeacherStore(folder),
                place=Place(ledger, self.noise, folder, made_from, self.folder.root.name),
                advance=advance,
            )
        log.info("%d teachers are ready", len(ensemble))
        return ensemble

    def _vote(
        self, ensemble: Ensemble, dataset: Dataset, seen: Seen, procedure: Procedure
    ) -> Table:
        """Ballots on the whole pool, kept: they cost nothing until something is released."""
        mark = mark_of(seen.name(ensemble.identity), procedure.mark, self._pool(dataset))
        with self.progress.stage("votes", len(ensemble)) as advance:
            ballots = kept_ballots(self.folder, mark)
            if ballots is None:
                ballots = ensemble.ballots(self._pool(seen), advance)
                keep_ballots(self.folder, ballots, mark)
            else:
                advance(len(ensemble))
        return ballots

    def _keep_problems(self, ensemble: Ensemble) -> None:
        """Why some teachers vote a constant: for the holder, in the private part."""
        if ensemble.problems:
            lines = [f"teacher {i}: {text}" for i, text in sorted(ensemble.problems.items())]
            write_atomic(self.folder.problems, "\n".join(lines) + "\n", private=True)

    def _answer(
        self,
        ledger: Ledger,
        ensemble: bytes,
        procedure: Procedure,
        dataset: Dataset,
        ballots: Table,
    ) -> Answers:
        pool, classes = self._pool(dataset), np.asarray(dataset.classes)
        answerer = procedure.answerer(ledger, self.noise, classes, run=self.folder.root.name)
        ids = procedure.query_ids(pool, ensemble)
        with self.progress.stage("answers", len(pool)) as advance:
            answers = answerer.answer(ids, lambda rows: ballots[rows], advance)
            if not answers.asked.any():
                raise ledger.refusal(answerer.charge())
        procedure.publish(ledger, ids, ballots, self.noise)
        produce_atomic(self.folder.answers, lambda partial: write_answers(partial, answers))
        log.info("%d queries asked, %d answered", answers.asked.sum(), answers.answered.sum())
        return answers

    def _distill(
        self, dataset: Dataset, seen: Seen, procedure: Procedure, answers: Answers
    ) -> Student:
        """Learn from public rows and answers, and from records that need no privacy."""
        rows, labels = with_straight(
            procedure, self._pool(seen), answers.labels, seen.X_private, dataset.y_private
        )
        return distill(
            self.learner,
            rows,
            labels,
            dataset.classes,
            released=seen.released,
            folder=self.folder,
            noise=self.noise,
            progress=self.progress,
        )

    def _result(
        self,
        dataset: Dataset,
        seen: Seen,
        procedure: Procedure,
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
            plan=procedure.plan,
            extra=(*_extra_assumptions(dataset, procedure), *assumed(self.settings.features)),
        )
        told, whispered = self._warnings(dataset, procedure, answers, student)
        result = RunResult(
            self.settings,
            self.folder,
            dataset,
            procedure,
            partition,
            answers,
            student,
            guarantee,
            Account.of(ledger, group_accounts(ledger, procedure)),
            warnings=told,
            holder_warnings=whispered,
            broken_teachers=self.folder.problems.exists(),
        )
        if dataset.X_test is not None and dataset.y_test is not None:
            result.evaluation = evaluate(student, dataset.X_test, dataset.y_test)
        if self.settings.run.experiment:
            self._experiment(result, seen)
        return result

    def _warnings(
        self, dataset: Dataset, procedure: Procedure, answers: Answers, student: Student
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What everybody may be told, and what depends on private records."""
        told = list(dataset.notes)
        protected = len(dataset.X_private) - len(procedure.straight)
        if (text := warn_about_delta(procedure.delta, protected)) is not None:
            told.append(text)
        if answers.multilabel and len(silent := unanswered(answers.labels)):
            names = quoted(dataset.classes[label] for label in silent)
            told.append(f"no answer was released for {names}: the student takes them to be absent")
        if (text := interruption(student)) is not None:
            told.append(text)
        bias = warn_about_bias(procedure, dataset.y_private)
        if bias is None:
            return tuple(told), ()
        # The labels of an experiment are known anyway; those of a real run are not.
        if self.settings.run.experiment:
            return (*told, bias), ()
        return tuple(told), (bias,)

    def _experiment(self, result: RunResult, seen: Seen) -> None:
        """Numbers that use labels nobody has in a real run."""
        data = result.dataset
        if data.y_public is not None:
            result.label_accuracy = label_accuracy(
                result.answers, data.y_public[: len(result.answers)]
            )
        if data.X_test is not None and data.y_test is not None:
            result.ceiling = ceiling(
                self.teacher, seen.X_private, data.y_private, seen.rows(data.X_test), data.y_test
            )


def _extra_assumptions(dataset: Dataset, procedure: Procedure) -> tuple[str, ...]:
    found = list(procedure.assumptions)
    if dataset.public_from == "rows of the private file":
        found.append(PUBLIC_FROM_PRIVATE)
    if dataset.preprocessing_from == "none":
        found.append(PREPARED_ELSEWHERE)
    return tuple(found)
