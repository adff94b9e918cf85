"""One run, stage by stage: prepare, train teachers, vote, answer, train the student.

Every stage stores its result in the run folder and reuses it when the run is resumed. What was
spent is in the ledger.
"""

from __future__ import annotations

import logging

import numpy as np

from ballotine.data import Dataset, row_keys
from ballotine.data.partition import Partition
from ballotine.files import produce_atomic, write_atomic
from ballotine.ledger import Mode
from ballotine.noise import NoiseSource, source
from ballotine.pipeline.answers_file import write_answers
from ballotine.pipeline.assumptions import (
    PREPARED_ELSEWHERE,
    PUBLIC_FROM_PRIVATE,
    TEST_FROM_PRIVATE,
    make_guarantee,
)
from ballotine.pipeline.counting import Counts, first_occurrences
from ballotine.pipeline.distilling import distill, interruption_warning
from ballotine.pipeline.estimators import make_estimator, make_transformer
from ballotine.pipeline.evaluation import label_accuracy
from ballotine.pipeline.features import Features, feature_assumptions
from ballotine.pipeline.folder import RunFolder, open_log
from ballotine.pipeline.group_spending import spending_by_group
from ballotine.pipeline.preparation import Preparation, PreparedRun
from ballotine.pipeline.privacy_warnings import bias_warning, delta_warning
from ballotine.pipeline.procedure import Procedure
from ballotine.pipeline.result import RunAccount, RunResult
from ballotine.pipeline.resume import bind_teachers, digest_of, load_ballots, save_ballots
from ballotine.pipeline.runfile import RunFile
from ballotine.pipeline.training import add_exempt_records, train_ensemble
from ballotine.progress import Progress, Silent
from ballotine.students import Student
from ballotine.teachers import Ensemble, make_engine
from ballotine.teachers.together import RoundsAccount, require_network
from ballotine.types import Matrix
from ballotine.voting import Answers, CastBallots, Session

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
            require_network(self.teacher)
        self.learner = make_estimator(*settings.learner(), "student")
        if settings.features.kind is not None:  # a wrong name fails before any file is read
            make_transformer(settings.features.kind, settings.features.options, "features")

    def execute(self) -> RunResult:
        """Run all stages; those that finished in an earlier attempt are not repeated."""
        open_log(self.folder)
        log.info("run %s starts in %s", self.settings.run.name, self.folder.root.name)
        prepared = self._preparation().prepare()
        with prepared.ledger:
            ensemble = self._train(prepared)
            ballots = self._vote(prepared, ensemble)
            self._store_problems(ensemble)
            answers = self._answer(prepared, CastBallots(prepared.voters_name(ensemble), ballots))
            student = self._distill(prepared, answers)
            result = self._result(prepared, answers, student)
        log.info("run ends: ε = %.3f, δ = %g", result.guarantee.epsilon, result.guarantee.delta)
        return result

    def load_and_partition(self) -> tuple[Dataset, Partition]:
        """Return the records and their partition in this run: private."""
        return self._preparation().load_and_partition()

    def _preparation(self) -> Preparation:
        return Preparation(self.settings, self.folder, self.noise, self.progress)

    def _train(self, prepared: PreparedRun) -> Ensemble:
        teachers, data, procedure = self.settings.teachers, prepared.dataset, prepared.procedure
        together, groups = procedure.request.together, prepared.partition.shares
        how = repr(self.teacher) if together is None else f"{self.teacher!r} {together!r}"
        digest = digest_of(
            how + prepared.features.identity,
            prepared.secret,
            prepared.partition.to_bytes(),
            data.X_private,
            data.y_private,
        )
        bind_teachers(self.folder, digest)
        stage, steps = ("rounds", together.rounds) if together else ("teachers", len(groups))
        with self.progress.stage(stage, steps) as advance:
            ensemble = train_ensemble(
                procedure,
                self.teacher,
                prepared.features.X_private,
                data.y_private,
                prepared.partition,
                secret=prepared.secret,
                engine=make_engine(teachers.engine, teachers.jobs),
                thresholds=self.settings.voting.thresholds,
                account=RoundsAccount(prepared.ledger, self.noise, self.folder.root.name),
                folder=self.folder.teachers.resolve(),
                digest=digest,
                advance=advance,
            )
        log.info("%d teachers are ready", len(ensemble))
        return ensemble

    def _vote(self, prepared: PreparedRun, ensemble: Ensemble) -> Matrix:
        """Cast ballots on the whole pool and store them: they cost nothing until released."""
        digest = digest_of(prepared.voters_name(ensemble), prepared.pool)
        with self.progress.stage("votes", len(ensemble)) as advance:
            ballots = load_ballots(self.folder, digest)
            if ballots is None:
                ballots = ensemble.ballots(prepared.pool_features, advance)
                save_ballots(self.folder, ballots, digest)
            else:
                advance(len(ensemble))
        return ballots

    def _store_problems(self, ensemble: Ensemble) -> None:
        """Write why some teachers cast constant ballots to the private part of the folder."""
        if ensemble.problems:
            lines = [f"teacher {i}: {text}" for i, text in sorted(ensemble.problems.items())]
            write_atomic(self.folder.problems, "\n".join(lines) + "\n", private=True)

    def _answer(self, prepared: PreparedRun, voters: CastBallots) -> Answers:
        pool, rules = prepared.pool, prepared.procedure.rules
        keys, places = row_keys(pool), np.arange(len(pool))
        session = Session.open(
            rules,
            voters,
            prepared.ledger,
            self.noise,
            names=np.asarray(prepared.dataset.classes),
            groups=prepared.groups,
            pool=keys if rules.mode is Mode.FIXED else None,
            run=self.folder.root.name,
        )
        with self.progress.stage("answers", len(pool)) as advance:
            answers = session.answer(places, keys, advance)
            if not answers.asked.any():
                raise session.refusal()
        first = first_occurrences(keys)
        session.publish([np.unique(first)], lambda some: [keys[place] for place in some])
        produce_atomic(self.folder.answers, lambda partial: write_answers(partial, answers, first))
        counts = Counts.of(answers, first, len(pool))
        log.info("%d queries asked, %d answered", counts.asked, counts.answered)
        return answers

    def _distill(self, prepared: PreparedRun, answers: Answers) -> Student:
        """Train the student on answered public rows and on records that need no privacy."""
        features, data = prepared.features, prepared.dataset
        rows, labels = add_exempt_records(
            prepared.procedure,
            prepared.pool_features,
            answers.labels,
            features.X_private,
            data.y_private,
        )
        return distill(
            prepared.procedure.steps,
            self.learner,
            rows,
            labels,
            data.classes,
            wrap=features.wrap,
            folder=self.folder,
            noise=self.noise,
            progress=self.progress,
        )

    def _result(self, prepared: PreparedRun, answers: Answers, student: Student) -> RunResult:
        data, procedure, ledger = prepared.dataset, prepared.procedure, prepared.ledger
        with ledger.snapshot():  # others may write: guarantee and anchor must agree
            guarantee = make_guarantee(
                ledger,
                prepared.partition,
                self.noise,
                classes_from_private=data.classes_from == "private labels",
                plan=procedure.plan,
                extra=(
                    *_extra_assumptions(data, procedure),
                    *feature_assumptions(self.settings.features),
                ),
            )
            account = RunAccount.of(ledger, spending_by_group(ledger, procedure))
        public, holder_only = self._warnings(data, procedure, answers, student)
        result = RunResult(
            self.settings,
            self.folder,
            data,
            procedure,
            prepared.partition,
            answers,
            student,
            guarantee,
            account,
            warnings=public,
            holder_warnings=holder_only,
            broken_teachers=self.folder.problems.exists(),
        )
        if data.X_test is not None and data.y_test is not None:
            result.evaluation = procedure.steps.evaluate(student, data.X_test, data.y_test)
        if self.settings.run.experiment:
            self._experiment(result, prepared.features)
        return result

    def _warnings(
        self, dataset: Dataset, procedure: Procedure, answers: Answers, student: Student
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return public warnings, and those for the holder, which depend on private records."""
        public = list(dataset.notes)
        protected = len(dataset.X_private) - len(procedure.exempt_records)
        if (text := delta_warning(procedure.plan.delta, protected)) is not None:
            public.append(text)
        public += procedure.steps.warnings(answers.labels, dataset.classes)
        if (text := interruption_warning(student)) is not None:
            public.append(text)
        bias = bias_warning(procedure, dataset.y_private)
        if bias is None:
            return tuple(public), ()
        # In an experiment the labels are no secret.
        if self.settings.run.experiment:
            return (*public, bias), ()
        return tuple(public), (bias,)

    def _experiment(self, result: RunResult, features: Features) -> None:
        """Add numbers computed from labels that are not available in a real run."""
        data = result.dataset
        if data.y_public is not None:
            result.label_accuracy = label_accuracy(
                result.answers, data.y_public[: len(result.answers)]
            )
        if data.X_test is not None and data.y_test is not None:
            result.ceiling = result.procedure.steps.ceiling(
                self.teacher,
                features.X_private,
                data.y_private,
                features.transform(data.X_test),
                data.y_test,
            )


def _extra_assumptions(dataset: Dataset, procedure: Procedure) -> tuple[str, ...]:
    found = list(procedure.assumptions)
    if dataset.public_from == "rows of the private file":
        found.append(PUBLIC_FROM_PRIVATE)
    if dataset.test_from == "rows of the private file":
        found.append(TEST_FROM_PRIVATE)
    if dataset.preprocessing_from == "none":
        found.append(PREPARED_ELSEWHERE)
    return tuple(found)
