"""The preparation of a run: everything that is decided before training, and before any charge."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from ballotine.data import Dataset, load, row_keys
from ballotine.data.partition import Partition
from ballotine.errors import DataError
from ballotine.files import write_atomic
from ballotine.ledger import Ledger, Mode, read_anchor, verify
from ballotine.noise import NoiseSource
from ballotine.pipeline.features import Features, make_features
from ballotine.pipeline.folder import RunFolder
from ballotine.pipeline.procedure import Procedure
from ballotine.pipeline.runfile import RunFile
from ballotine.progress import Progress
from ballotine.teachers import Ensemble
from ballotine.types import Matrix

log = logging.getLogger("ballotine.run")


@dataclass(frozen=True)
class PreparedRun:
    """What later stages of a run work with.

    Attributes:
        dataset: the private records and the public rows.
        procedure: how votes are counted and charged, and when answering stops.
        partition: which teacher learns from which records.
        features: the rows as teachers and student see them.
        ledger: the data set's ledger.
        secret: determines the partition and the teachers' seeds.
        groups: a digest by which the ledger recognises every record's group.
        max_queries: how many public rows are asked at most; None for all.
    """

    dataset: Dataset
    procedure: Procedure
    partition: Partition
    features: Features
    ledger: Ledger
    secret: bytes = field(repr=False)
    groups: str = ""
    max_queries: int | None = None

    @property
    def pool(self) -> Matrix:
        """The public rows to ask, in order."""
        return self.dataset.X_public[: self.max_queries]

    @property
    def pool_features(self) -> Matrix:
        """The features of the pool."""
        return self.features.X_public[: self.max_queries]

    def voters_name(self, ensemble: Ensemble) -> bytes:
        """Return the ensemble's name in query ids."""
        name = self.features.name(ensemble.identity)
        return self.procedure.voters_name(name, self.partition, self.dataset.records)


@dataclass(frozen=True)
class Preparation:
    """Prepares a run, new or resumed.

    Attributes:
        settings: the run file.
        folder: where the run's files are.
        noise: the source of the partition's secret.
        progress: shows the stages.
    """

    settings: RunFile
    folder: RunFolder
    noise: NoiseSource
    progress: Progress

    def prepare(self) -> PreparedRun:
        """Prepare the run; refuse here what cannot be answered or paid for later."""
        secret = self._secret()
        dataset = load(self.settings.data_spec())
        procedure = self._settle(dataset)
        partition = self._partition(dataset, procedure, secret)
        features = make_features(self.settings.features, dataset, self.progress)
        ledger = self._open_ledger(dataset, procedure)
        try:
            groups = procedure.groups_digest(ledger, dataset.records, dataset.groups)
            begun = self.folder.root.name in ledger.spending().runs
            procedure.require_affordable(ledger, groups, begun=begun)
        except BaseException:
            ledger.close()
            raise
        limit = self.settings.voting.max_queries
        return PreparedRun(dataset, procedure, partition, features, ledger, secret, groups, limit)

    def load_and_partition(self) -> tuple[Dataset, Partition]:
        """Return the records and their partition: private."""
        dataset = load(self.settings.data_spec())
        return dataset, self._partition(dataset, self._settle(dataset), self._secret())

    def _secret(self) -> bytes:
        """Return the run's secret; it is stored so that a resumed run has the same partition."""
        path = self.folder.secret
        if not path.exists():
            write_atomic(path, self.noise.words("partition", b"", 4), private=True)
        return path.read_bytes()

    def _settle(self, dataset: Dataset) -> Procedure:
        """Decide how votes are counted, charged and stopped, from public facts alone."""
        voting = self.settings.voting
        mechanism = voting.build(dataset.classes)
        if not isinstance(dataset.task, mechanism.task):
            raise DataError(
                f"[voting] mechanism: {mechanism.name} is for {mechanism.task.noun} per record, "
                f"but the data has {dataset.task.noun}"
            )
        pool, stated = dataset.X_public[: voting.max_queries], voting.max_queries
        if self.settings.budget.mode is Mode.FIXED and len(pool) < (stated or 0):
            raise DataError(
                f"[voting] max_queries: fixed mode would ask {stated} public rows, but there are "
                f"only {len(pool)}; give that number, or leave max_queries out"
            )
        queries = len(set(row_keys(pool)))
        request = self.settings.request(labels=dataset.classes, queries=queries)
        groups = None if request.individual is None else dataset.groups
        procedure = Procedure.settle(request, len(dataset.classes), groups, len(dataset.X_private))
        if procedure.plan.individual:
            for line in procedure.plan.table(procedure.classes).splitlines():
                log.info("plan: %s", line)
        return procedure

    def _partition(self, dataset: Dataset, procedure: Procedure, secret: bytes) -> Partition:
        with self.progress.stage("partition", 1) as advance:
            strategy = self.settings.partition.build(dataset.groups)
            partition = procedure.deal(strategy, dataset.y_private, secret)
            advance(1)
        return partition

    def _open_ledger(self, dataset: Dataset, procedure: Procedure) -> Ledger:
        path = self.settings.budget.ledger or self.folder.ledger
        promise = procedure.rules.promise()
        if procedure.rules.mode is Mode.FIXED:  # planning how to publish ε takes a while
            with self.progress.stage("plan", 1) as advance:
                ledger = Ledger.open(path, promise, dataset.fingerprint)
                advance(1)
        else:
            ledger = Ledger.open(path, promise, dataset.fingerprint)
        try:
            if self.folder.card.exists():  # a card was issued: the ledger must not be older
                verify(ledger, read_anchor(self.folder.card))
        except BaseException:
            ledger.close()
            raise
        return ledger
