"""`student dpsgd`: one label, Adult and MNIST: students of Confident-GNMax against DP-SGD."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ballotine.privacy.guarantee import Budget
from ballotine.types import Matrix as Features
from ballotine_reproduction.encoders import public_components, public_standard
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.individualized import sets
from ballotine_reproduction.individualized.elections import DELTA, standard
from ballotine_reproduction.individualized.layout import QUARTERS
from ballotine_reproduction.individualized.sets import QUICK_SEEDS, TEACHERS, SplitSet
from ballotine_reproduction.individualized.students import SeedPanel, panels
from ballotine_reproduction.pool import Encoder, Pool
from ballotine_reproduction.student.dpsgd import PrivateModel, Recipe, require, train, tuned
from ballotine_reproduction.student.notes import EXACT, EXPERIMENT, RELATION, STRICT
from ballotine_reproduction.summary import deviation, percent_right
from ballotine_reproduction.table import Row, Table

EPSILONS = (1.0, 2.0, 4.0)
ACCOUNTS = {"strict": "strict", "fixed": "exact"}
COLUMNS = ("set", "ε", "method", "account", "z", "labels", "accuracy, %")

BASELINES: dict[str, Recipe] = {
    "DP-SGD": Recipe("mlp", epochs=10, learning_rate=0.5, clip=1.0),
    "DP-SGD, last layer": Recipe("linear", epochs=10, clip=1.0),
    "adaptive DP-SGD": Recipe("linear", epochs=10, clip=1.0, last=0.5),
}
CEILING = 10_000
"""Private records from which the ceiling learns: a kernel of all of them needs gigabytes."""

_PATE = (
    "PATE: the ensembles, noise and threshold of `individualized table5` and `table7`, one budget "
    "for everybody; its noise is the paper's and was not tuned here"
)
_FEATURES = (
    "DP-SGD learns on features that public rows alone define: standardised columns (Adult), 100 "
    "principal components (MNIST). DP-SGD: a network with two hidden layers; last layer: a linear "
    "one; adaptive: the same, with noise that falls linearly to half"
)
_CHOSEN = EXPERIMENT.format(chosen="DP-SGD's learning rate was chosen by accuracy")


@dataclass(frozen=True, eq=False)
class EncodedSet:
    """A set, and how its features are made from public rows."""

    pool: SplitSet
    encoder: Callable[[Features], Encoder]

    def rows(self, panel: SeedPanel) -> Pool:
        """What DP-SGD learns from and is evaluated on."""
        rows = self.pool.pool(panel.seed)
        return rows.encoded(self.encoder(rows.X_public))


def dpsgd(setting: Setting) -> Table:
    """Ceiling, DP-SGD and students of Confident-GNMax at the same (ε, δ)."""
    require()
    cases = [
        EncodedSet(sets.adult(setting), public_standard),
        EncodedSet(sets.mnist(setting), public_components),
    ]
    rows: list[Row] = []
    for case in cases:
        *held, spare = panels(replace(setting, seeds=setting.seeds + 1), case.pool)
        rows.append((case.pool.name, "∞", "non-private", None, None, None, _ceiling(case, held)))
        for epsilon in EPSILONS[-1:] if setting.quick else EPSILONS:
            budget = Budget(epsilon, DELTA)
            found = [*baselines(case, held, spare, budget, setting), *students(held, budget)]
            rows += [(case.pool.name, f"{epsilon:g}", *cells) for cells in found]
    remarks = [note for case in cases for note in case.pool.notes]
    if setting.quick:
        remarks.append(f"quick: at most {QUICK_SEEDS - 1} seed")
    remarks += [
        f"{TEACHERS} teachers, δ = {DELTA:g}; mean ± standard deviation over seeds",
        RELATION,
        STRICT,
        EXACT,
        _PATE,
        _FEATURES,
        f"non-private: what the teachers are, on {CEILING:,} private records at most",
        _CHOSEN,
    ]
    title = "Students of one label against DP-SGD at the same (ε, δ)"
    return Table(title, COLUMNS, rows, tuple(remarks))


def students(held: Sequence[SeedPanel], budget: Budget) -> list[Row]:
    """Students of the labels that each account allows."""
    grades: dict[str, list[float]] = {way: [] for way in ACCOUNTS}
    counts: dict[str, list[float]] = {way: [] for way in ACCOUNTS}
    budgets = np.full(len(QUARTERS.edges), budget.epsilon)
    for panel in held:
        for way, rows, labels in panel.answered(standard, budgets, tuple(ACCOUNTS)):
            grades[way].append(panel.accuracy(rows, labels))
            counts[way].append(float(rows.size))
    return [
        ("PATE", account, None, deviation(counts[way], 0), deviation(grades[way], 1))
        for way, account in ACCOUNTS.items()
    ]


def baselines(
    case: EncodedSet, held: Sequence[SeedPanel], spare: SeedPanel, budget: Budget, setting: Setting
) -> list[Row]:
    """DP-SGD in three forms, the learning rate chosen on the spare seed."""
    found: list[Row] = []
    classes = case.pool.classes
    trial, rows = case.rows(spare), [case.rows(panel) for panel in held]
    stage = f"DP-SGD {case.pool.name} ε = {budget.epsilon:g}"
    with setting.progress.stage(stage, len(BASELINES)) as advance:
        for name, recipe in BASELINES.items():
            fitting = replace(recipe, epochs=5 if setting.quick else recipe.epochs)
            best = tuned(fitting, lambda each: _graded(each, trial, classes, budget, spare.seed)[0])
            runs = [
                _graded(best, each, classes, budget, panel.seed)
                for each, panel in zip(rows, held, strict=True)
            ]
            grades = deviation([grade for grade, _ in runs], 1)
            found.append((name, *runs[0][1].cells(2), None, grades))
            advance(1)
    return found


def _graded(
    recipe: Recipe, rows: Pool, classes: int, budget: Budget, seed: int
) -> tuple[float, PrivateModel]:
    trained = train(recipe, rows.X, rows.y, classes, budget, seed)
    return percent_right(trained.predict(rows.X_test), rows.y_test), trained


def _ceiling(case: EncodedSet, held: Sequence[SeedPanel]) -> str:
    """The result of training on private records without any privacy; for experiments only."""
    found = []
    for panel in held:
        private = case.pool.split(panel.seed)[0][:CEILING]
        found.append(panel.accuracy(private, case.pool.y[private]))
    return deviation(found, 1)
