"""`student kinds`: many students on the same released answers, by kind of data."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ballotine.metrics import score
from ballotine.students import fit_label_students
from ballotine.students.fitting import fit_student
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.student import small_sets, trials
from ballotine_reproduction.student.menu import (
    DEFAULT,
    MENU,
    MOST_OF_A_KERNEL,
    RATE,
    STEPS,
    MenuEntry,
    Values,
)
from ballotine_reproduction.student.notes import EXACT, EXPERIMENT, STRICT
from ballotine_reproduction.student.trials import Comparison, Kind, Trial
from ballotine_reproduction.summary import deviation, interval
from ballotine_reproduction.table import Row, Table

METRICS: dict[Kind, tuple[str, ...]] = {
    "tables": ("accuracy",),
    "several labels": ("AUC", "mAP", "accuracy", "BAC"),
}
"""What students are evaluated by; settings are chosen by the first."""

SCORES = ("accuracy", "AUC", "mAP", "BAC")
COLUMNS = (
    *("kind", "set", "ε", "account", "answers", "wrong", "student", "setting", *SCORES),
    *("ahead of the default", "seconds"),
)
_JUDGED = (
    "accuracy: on rows that were never asked; several labels: ACC, AUC, mAP and BAC, means over "
    "labels. Mean ± standard deviation over seeds"
)
_AHEAD = (
    f"ahead of the default: by how much accuracy (one class) or AUC (several labels) is above that "
    f"of {DEFAULT}, seed by seed on the same answers and rows; mean ± 95 % interval (Student's t). "
    "So many comparisons are made that some intervals miss zero by chance"
)
_EVERYWHERE = "all: the mean over the sets and accounts of a kind, seed by seed"
_SECONDS = "seconds: processor time of learning and predicting, mean over seeds"
_GIVEN = (
    "students get all public rows, with or without an answer, on features that public rows alone "
    f"define; LabelSpreading at most {MOST_OF_A_KERNEL:,} rows, those with an answer first"
)
_NETWORKS = (
    f"networks: two hidden layers, {STEPS} steps of 100 answers, learning rate {RATE:g}; several "
    "labels: one network for all of them, other students one model for each"
)
_CHOSEN = (
    EXPERIMENT.format(chosen="each student's setting was chosen among two or three")
    + "; one setting for all sets of a kind, as a default must have. The noise of several labels "
    "is what `student labels` chose"
)
_ANSWERS = (
    "Adult: Confident-GNMax of `student dpsgd`; several labels: Binary voting of `student labels`; "
    f"digits and breast cancer: GNMax, {small_sets.TEACHER} teachers with 20 and 10 records"
)


@dataclass(frozen=True)
class Judged:
    """How good one student was on one trial: its metrics by name, and its time."""

    scores: dict[str, float]
    seconds: float


def kinds(setting: Setting) -> Table:
    """Every student of the menu on every case of its kind."""
    if setting.quick:
        setting = replace(setting, seeds=1)
    rows: list[Row] = []
    cases = list(_cases(setting))
    for kind in METRICS:
        rows += compared(kind, [case for case in cases if case.kind == kind], setting)
    notes = (_ANSWERS, _GIVEN, _NETWORKS, _JUDGED, _AHEAD, _EVERYWHERE, _SECONDS, STRICT, EXACT)
    first = ("quick: one seed, no choice of settings, few steps; it means little",)
    title = "Students on the same answers, by kind of data"
    return Table(title, COLUMNS, rows, (*(first if setting.quick else ()), *notes, _CHOSEN))


def compared(kind: Kind, cases: Sequence[Comparison], setting: Setting) -> list[Row]:
    """The rows of one kind of data, those over all cases first."""
    menu = [entry for entry in MENU if entry.labels or kind == "tables"]
    chosen: dict[str, Values] = {}
    found: dict[str, list[list[Judged]]] = {}
    with setting.progress.stage(f"students, {kind}", len(menu)) as advance:
        for entry in menu:
            best = choose(entry, cases, setting)
            chosen[entry.name] = best
            found[entry.name] = [
                [judge(entry, best, trial, setting.quick) for trial in case.trials]
                for case in cases
            ]
            advance(1)
    rows: list[Row] = []
    everywhere: Row = (kind, "all", None, None, None, None)
    for entry in menu:
        means = [_mean(each) for each in zip(*found[entry.name], strict=True)]
        base = [_mean(each) for each in zip(*found[DEFAULT], strict=True)]
        rows.append((*everywhere, *_cells(kind, entry, chosen[entry.name], means, base)))
    for place, case in enumerate(cases):
        for entry in menu:
            judged, base = found[entry.name][place], found[DEFAULT][place]
            rows.append((*_about(case), *_cells(kind, entry, chosen[entry.name], judged, base)))
    return rows


def choose(entry: MenuEntry, cases: Sequence[Comparison], setting: Setting) -> Values:
    """The setting that is best on the spare seed, on average over the cases."""
    if setting.quick or len(entry.settings) == 1:
        return entry.settings[0]
    means = [
        np.mean([_value(judge(entry, each, case.spare, False), case.kind) for case in cases])
        for each in entry.settings
    ]
    return entry.settings[int(np.argmax(means))]


def judge(entry: MenuEntry, setting: Values, trial: Trial, quick: bool = False) -> Judged:
    """Teach one student and evaluate it on the test rows."""
    student = entry.student(setting, trial, quick)
    rows = entry.rows(trial)
    start = time.process_time()
    if trial.answers.ndim == 1:
        model = fit_student(student, trial.X[rows], trial.answers[rows], trial.seed)
        with np.errstate(invalid="ignore"):
            right = float(np.mean(model.predict(trial.X_test) == trial.y_test))
        return Judged({"accuracy": right}, time.process_time() - start)
    model = fit_label_students(student, trial.X[rows], trial.answers[rows], trial.seed)
    with np.errstate(invalid="ignore"):
        # LabelSpreading divides zero by zero for rows that no label reaches.
        likely = np.nan_to_num(model.predict_proba(trial.X_test))
    seconds = time.process_time() - start
    scores = score(trial.y_test, (likely > 0.5).astype(np.int64), likely)
    named = {"accuracy": scores.acc, "AUC": scores.auc, "mAP": scores.map, "BAC": scores.bac}
    return Judged(named, seconds)


def _cases(setting: Setting) -> Iterator[Comparison]:
    yield from small_sets.small_tables(setting)
    if not setting.quick:
        yield from trials.adult(setting)
    yield from trials.several(setting)


def _value(judged: Judged, kind: Kind) -> float:
    return judged.scores[METRICS[kind][0]]


def _mean(judged: Sequence[Judged]) -> Judged:
    names = judged[0].scores
    means = {name: float(np.mean([each.scores[name] for each in judged])) for name in names}
    return Judged(means, float(np.mean([each.seconds for each in judged])))


def _about(case: Comparison) -> Row:
    answered = deviation([trial.answered for trial in case.trials], 0)
    wrong = deviation([trial.wrong for trial in case.trials], 3)
    return (case.kind, case.name, f"{case.epsilon:g}", case.account, answered, wrong)


def _cells(
    kind: Kind, entry: MenuEntry, chosen: Values, judged: Sequence[Judged], base: Sequence[Judged]
) -> Row:
    """The cells from the student's name on."""
    scores = [
        deviation([each.scores[name] for each in judged], 3) if name in METRICS[kind] else None
        for name in SCORES
    ]
    gains = [_value(a, kind) - _value(b, kind) for a, b in zip(judged, base, strict=True)]
    ahead = None if entry.name == DEFAULT else interval(gains, 3)
    setting = ", ".join(f"{name} {value:g}" for name, value in chosen.items())
    seconds = round(float(np.mean([each.seconds for each in judged])), 2)
    return (entry.name, setting or None, *scores, ahead, seconds)
