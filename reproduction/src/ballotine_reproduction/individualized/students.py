"""Tables 8 and 9: accuracy of students when two groups split the data (MNIST and Adult)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan

import numpy as np

from ballotine.models import seeded_clone
from ballotine.types import FloatArray, IntArray
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.individualized import reported, sets
from ballotine_reproduction.individualized.accounting import WAYS
from ballotine_reproduction.individualized.elections import Method, SegmentVotes
from ballotine_reproduction.individualized.ensembles import fresh
from ballotine_reproduction.individualized.layout import QUARTERS
from ballotine_reproduction.individualized.reported import HIGHER, SHARES, Split
from ballotine_reproduction.individualized.sets import QUICK_SEEDS, SplitSet
from ballotine_reproduction.individualized.tallied import COLUMNS, NOTES, VOTINGS
from ballotine_reproduction.individualized.two_groups import BASELINES, METHODS, budgets_of
from ballotine_reproduction.summary import interval, notes
from ballotine_reproduction.table import Row, Table

COMPARED: dict[str, Method] = {
    name: METHODS[name] for name in ("upsampling", "weighting", "weighting, balanced")
}
LEAST_CLASSES = 2
_ACCURACY = (
    "cells: accuracy in percent on test rows of a student that learns the labels of the column; "
    "one voting for each seed's ensemble"
)
_STUDENTS = (
    "students: what the teachers are ({kind}), without augmentation; the paper's student on "
    "MNIST is a convolutional network on augmented images"
)


@dataclass(frozen=True, eq=False)
class SeedPanel:
    """The teachers of one seed, and the rows of its split."""

    pool: SplitSet
    seed: int
    ensemble: SegmentVotes
    public: IntArray
    test: IntArray

    def answered(
        self, method: Method, budgets: FloatArray, ways: Sequence[str] = tuple(WAYS)
    ) -> Iterator[tuple[str, IntArray, IntArray]]:
        """The rows that get a label, and their labels, for each way of counting."""
        own = VOTINGS * self.seed
        order = np.random.default_rng([own, 4]).permutation(self.public.size)
        election = method(self.ensemble.shuffled(own), budgets)
        answers = election.answers(own)
        for way in ways:
            used = np.flatnonzero(answers[: WAYS[way](election, answers).queries] >= 0)
            yield way, self.public[order[used]], answers[used]

    def accuracy(self, rows: IntArray, labels: IntArray) -> float:
        """Accuracy of the student of these labels in percent; NaN if there is nothing to learn."""
        pool = self.pool
        if np.unique(labels).size < LEAST_CLASSES:
            return float("nan")
        student = seeded_clone(pool.estimator, self.seed).fit(pool.X[rows], labels)
        guesses = student.predict(pool.X[self.test])
        return 100.0 * float(np.mean(guesses == pool.y[self.test]))


@dataclass
class Grades:
    """Accuracies of one cell over seeds, for each way of counting."""

    found: dict[str, list[float]] = field(default_factory=lambda: {way: [] for way in WAYS})

    def cells(self) -> tuple[str, ...]:
        """One cell per way of counting."""
        return tuple(
            interval([value for value in values if not isnan(value)], 1)
            for values in self.found.values()
        )


def panels(setting: Setting, pool: SplitSet) -> Iterator[SeedPanel]:
    """The ensembles of Tables 5 and 7, one per seed."""
    source = fresh(setting, pool, QUARTERS)
    for seed, ensemble in zip(setting.seed_range(QUICK_SEEDS), source.ensembles, strict=True):
        _, public, test = pool.split(seed)
        yield SeedPanel(pool, seed, ensemble, public, test)


def table8(setting: Setting) -> Table:
    """Students on MNIST by method and budget split."""
    return _table("Table 8", sets.mnist(setting), setting, reported.TABLE8)


def table9(setting: Setting) -> Table:
    """Students on Adult by method and budget split."""
    return _table("Table 9", sets.adult(setting), setting, reported.TABLE9)


def _table(name: str, pool: SplitSet, setting: Setting, printed: reported.Students) -> Table:
    grades = _grades(setting, pool)
    rows: list[Row] = []
    for (method, split), cell in grades.items():
        where = ("–", "–") if split is None else (f"ln {split[0]}", f"{split[1]} %")
        rows.append((method, *where, printed.value(method, split), *cell.cells()))
    columns = ("method", "higher budget", "share with it", *COLUMNS)
    remarks = notes(pool.notes, (_ACCURACY, _STUDENTS.format(kind=pool.teacher)), NOTES[:-1])
    title = f"{name}: accuracy of the student by method and budget split ({pool.name})"
    return Table(title, columns, rows, remarks)


def _grades(setting: Setting, pool: SplitSet) -> Mapping[tuple[str, Split | None], Grades]:
    higher = HIGHER[:1] if setting.quick else HIGHER
    wanted: list[tuple[str, Split | None, Method]] = [
        ("standard", None, BASELINES["standard"]),
        *(
            (name, (high, share), method)
            for name, method in COMPARED.items()
            for high in higher
            for share in SHARES
        ),
    ]
    found: dict[tuple[str, Split | None], Grades] = {}
    for panel in panels(setting, pool):
        with setting.progress.stage(f"students, seed {panel.seed}", len(wanted)) as advance:
            for name, split, method in wanted:
                cell = found.setdefault((name, split), Grades())
                for way, rows, labels in panel.answered(method, budgets_of(*(split or (4, 50)))):
                    cell.found[way].append(panel.accuracy(rows, labels))
                advance(1)
    return found
