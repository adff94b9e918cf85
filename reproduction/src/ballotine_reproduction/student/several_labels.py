"""`student labels`: students of several labels against DP-SGD and training without privacy.

The shape of the multi-winner paper's Tables 2 and 9, on tmc2007 and yeast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ballotine.metrics import MultiLabelScores
from ballotine.privacy.guarantee import Budget
from ballotine_reproduction.encoders import COMPONENTS
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.multiwinner.accounts import METRICS
from ballotine_reproduction.multiwinner.elections import QUICK_SEEDS, QUICK_TEACHERS, TEACHERS
from ballotine_reproduction.multiwinner.sets import TMC2007, YEAST, Profile, profiles
from ballotine_reproduction.student import dpsgd, label_students, reported
from ballotine_reproduction.student.dpsgd import Recipe
from ballotine_reproduction.student.label_students import ACCOUNTS, MANY_SIGMAS, SIGMAS, Taught
from ballotine_reproduction.student.notes import EXACT, EXPERIMENT, RELATION, STRICT
from ballotine_reproduction.student.repetitions import Repetition, repetitions
from ballotine_reproduction.summary import deviation
from ballotine_reproduction.table import Row, Table

DELTA = 1e-5
EPSILONS = (20.0, 8.0)
CEILING = 1.0
"""C of the logistic regressions that learn from all private records without any noise."""

BASELINES: dict[str, Recipe] = {
    "DP-SGD": Recipe("mlp", learning_rate=0.5, clip=1.0),
    "DP-SGD, last layer": Recipe("linear"),
    "adaptive DP-SGD": Recipe("linear", last=0.5),
}
"""The whole network; its last layer on public features; the same with noise that falls."""

MANY = {TMC2007.name: 250}
"""Number of teachers where there are records for more of them than in the paper."""

AGREEING = ("Binary", "τ, l2")
"""The mechanisms that many teachers are tried with."""

SMALL = 256
"""Records per step where there are few."""

COLUMNS = ("set", "ε", "method", "account", "σ or z", "queries", "wrong answers", *METRICS)
_FEATURES = (
    f"features, for everybody: at most {COMPONENTS} principal components of the public rows, "
    "computed from public rows alone. Students: a logistic regression per label"
)
_METHODS = (
    "DP-SGD: all weights of a network with two hidden layers; last layer: a linear layer on the "
    "features; adaptive: the same, with noise that falls linearly to half of what it is at first"
)
_JUDGED = "ACC, BAC, AUC, mAP: means over labels, on rows of the pool that were never asked"
_CHOSEN = EXPERIMENT.format(
    chosen="σ and the students' strength were chosen, and DP-SGD's learning rate, all by AUC"
)
_PRINTED = (
    "printed: the paper's AUC, at ε = 20 on Pascal VOC (Table 2), at ε = 8 on five labels of "
    "CheXpert with δ = 1e-4 (Table 9)"
)


@dataclass(frozen=True)
class MethodResult:
    """One row of the table before its cells are written."""

    method: str
    account: str
    noise: str
    scores: Sequence[MultiLabelScores]
    taught: Sequence[Taught] = ()

    def cells(self) -> Row:
        """Everything after set and ε."""
        asked = deviation([t.queries for t in self.taught], 0) if self.taught else None
        wrong = deviation([t.wrong for t in self.taught], 3) if self.taught else None
        rows = [(s.acc, s.bac, s.auc, s.map) for s in self.scores]
        metrics = [deviation(column, 3) for column in zip(*rows, strict=True)]
        return (self.method, self.account, self.noise, asked, wrong, *metrics)


def labels(setting: Setting) -> Table:
    """Ceiling, DP-SGD and students of Binary, τ and Powerset voting at the same (ε, δ)."""
    dpsgd.require()
    rows: list[Row] = []
    budgets = [Budget(epsilon, DELTA) for epsilon in EPSILONS[: 1 if setting.quick else None]]
    more = replace(setting, seeds=setting.seeds + 1)
    for profile in profiles(setting, TMC2007, YEAST):
        *held, spare = repetitions(profile, more)
        rows.append(_row(profile, None, _ceiling(held)))
        for budget in budgets:
            found = baselines(held, spare, budget, setting)
            found += students(profile, held, spare, budget, setting)
            rows += [_row(profile, budget, each) for each in found]
        if profile.name in MANY:
            *held, spare = repetitions(profile, more, MANY[profile.name])
            for budget in budgets:
                found = students(profile, held, spare, budget, setting)
                rows += [_row(profile, budget, each) for each in found]
    title = "Students of several labels against DP-SGD at the same (ε, δ)"
    return Table(title, (*COLUMNS, "printed AUC"), rows, _notes(setting))


def baselines(
    held: Sequence[Repetition], spare: Repetition, budget: Budget, setting: Setting
) -> list[MethodResult]:
    """DP-SGD in three forms, the learning rate chosen on the spare seed."""
    found = []
    with setting.progress.stage(f"DP-SGD ε = {budget.epsilon:g}", len(BASELINES)) as advance:
        for name, recipe in BASELINES.items():
            fitting = _fitting(recipe, spare, setting)
            best = dpsgd.tuned(fitting, lambda each: _private(each, spare, budget)[0].auc)
            runs = [_private(best, repetition, budget) for repetition in held]
            scores = [scores for scores, _ in runs]
            found.append(MethodResult(name, *runs[0][1].cells(1), scores))
            advance(1)
    return found


def students(
    profile: Profile,
    held: Sequence[Repetition],
    spare: Repetition,
    budget: Budget,
    setting: Setting,
) -> list[MethodResult]:
    """Students of every mechanism and account, noise and strength chosen on the spare seed."""
    found = []
    rules = label_students.rules(profile)
    many = spare.election.teachers == MANY.get(profile.name)
    if many:
        rules = {name: rules[name] for name in AGREEING}
    with setting.progress.stage(f"students {profile.title}", len(rules)) as advance:
        for name, rule in rules.items():
            votes = [rule(each.election) for each in held]
            trial = rule(spare.election)
            sigmas = MANY_SIGMAS if many else SIGMAS[name]
            title = f"{name}, {spare.election.teachers} teachers" if many else name
            tried = sigmas[: label_students.QUICK_SIGMAS if setting.quick else None]
            for account in ACCOUNTS:
                choice = label_students.choose(spare, trial, tried, budget, account)
                taught = [
                    label_students.teach(r, v, choice, budget, account)
                    for r, v in zip(held, votes, strict=True)
                ]
                scores = [each.scores for each in taught]
                found.append(MethodResult(title, account, f"{choice.sigma:g}", scores, taught))
            advance(1)
    return found


def _ceiling(held: Sequence[Repetition]) -> MethodResult:
    """The result of training on private records without any privacy; for experiments only."""
    scores = []
    for each in held:
        # Private rows take the place of the asked ones, their labels that of the answers.
        rows = replace(each.rows, X_public=each.rows.X)
        scores.append(
            label_students.judged(rows, label_students.fitted(rows, each.rows.y, CEILING))
        )
    return MethodResult("non-private", "–", "–", scores)


def _private(
    recipe: Recipe, repetition: Repetition, budget: Budget
) -> tuple[MultiLabelScores, dpsgd.PrivateModel]:
    rows = repetition.rows
    outputs = rows.y.shape[1]
    trained = dpsgd.train(recipe, rows.X, rows.y, outputs, budget, repetition.seed)
    return label_students.judged(rows, trained.predict_proba(rows.X_test)), trained


def _fitting(recipe: Recipe, spare: Repetition, setting: Setting) -> Recipe:
    """Smaller steps where there are few records."""
    batch = recipe.batch if len(spare.rows.X) > 10 * recipe.batch else SMALL
    return replace(recipe, batch=batch, epochs=5 if setting.quick else recipe.epochs)


def _row(profile: Profile, budget: Budget | None, found: MethodResult) -> Row:
    epsilon = "∞" if budget is None else f"{budget.epsilon:g}"
    reference = profile is TMC2007
    printed = reported.auc(found.method, None if budget is None else budget.epsilon)
    return (profile.title, epsilon, *found.cells(), printed if reference else None)


def _notes(setting: Setting) -> tuple[str, ...]:
    teachers = QUICK_TEACHERS if setting.quick else TEACHERS
    quick = f"quick: made-up records, at most {QUICK_SEEDS - 1} seed; it means little"
    said = (
        f"{teachers} teachers, δ = {DELTA:g}; mean ± standard deviation over seeds of partition, "
        "rows that are asked, and noise"
    )
    first = (quick, said) if setting.quick else (said,)
    return (*first, RELATION, STRICT, EXACT, _FEATURES, _METHODS, _JUDGED, _PRINTED, _CHOSEN)
