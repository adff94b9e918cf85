"""The three tables on class-dependent budgets, from one set of measurements."""

from __future__ import annotations

from collections.abc import Sequence

from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.individualized import reported
from ballotine_reproduction.individualized.accounting import WAYS
from ballotine_reproduction.individualized.class_budgets import ByClass, measure
from ballotine_reproduction.individualized.reported import Split
from ballotine_reproduction.individualized.tallied import COLUMNS, NOTES
from ballotine_reproduction.summary import interval, notes
from ballotine_reproduction.table import Row, Table

CLASSES = ("low income", "high income")
BIAS_NOTES = (
    (
        "upsampling; so many percent of the high-income records have the higher budget, all "
        "other records ln 2"
    ),
    (
        "budgets that go with a class make answers and student lean towards that class: compare "
        "the classes' accuracies before you use such budgets"
    ),
)
_TEACHERS = "teachers do not depend on how labels are counted"


def table6(setting: Setting) -> Table:
    """Accuracy of the student by class."""
    pool, found = measure(setting, students=True)
    rows: list[Row] = []
    for split, measured in found.items():
        for place, name in enumerate(CLASSES):
            ours = [_percent(measured.students[way], place) for way in WAYS]
            rows.append((*_where(split), name, reported.STUDENTS.value(split, place), *ours))
    columns = ("higher budget", "share with it", "accuracy in % on", *COLUMNS)
    title = f"Table 6: accuracy of the student by class, class-dependent budgets ({pool.name})"
    return Table(title, columns, rows, notes(pool.notes, BIAS_NOTES, NOTES[:-1]))


def table10(setting: Setting) -> Table:
    """Accuracy of teachers and of released labels by class."""
    pool, found = measure(setting)
    rows: list[Row] = []
    for split, measured in found.items():
        for place, name in enumerate(CLASSES):
            mean = _percent(measured.teachers, place)
            where = (*_where(split), "teachers", name)
            rows.append((*where, reported.TEACHERS.value(split, place), mean, None, None))
    for split, measured in found.items():
        for place, name in enumerate(CLASSES):
            ours = [_percent(measured.votes[way], place) for way in WAYS]
            where = (*_where(split), "labels", name)
            rows.append((*where, reported.LABELS.value(split, place), *ours))
    columns = ("higher budget", "share with it", "of", "accuracy in % on", *COLUMNS)
    title = (
        f"Table 10: accuracy of teachers and labels by class, class-dependent budgets ({pool.name})"
    )
    remarks = notes(pool.notes, BIAS_NOTES, (_TEACHERS,), NOTES[:-1])
    return Table(title, columns, rows, remarks)


def table11(setting: Setting) -> Table:
    """Labels under class-dependent budgets."""
    pool, found = measure(setting)
    rows: list[Row] = []
    for split, measured in found.items():
        paper = reported.TABLE11_BASELINE if split is None else int(reported.TABLE11[split])
        rows.append((*_where(split), paper, *(interval(measured.labels[way]) for way in WAYS)))
    columns = ("higher budget", "share with it", *COLUMNS)
    title = f"Table 11: labels under class-dependent budgets ({pool.name})"
    return Table(title, columns, rows, notes(pool.notes, BIAS_NOTES, NOTES[:-1]))


def _where(split: Split | None) -> tuple[str, str]:
    return ("–", "–") if split is None else (f"ln {split[0]}", f"{split[1]} %")


def _percent(values: Sequence[ByClass], place: int) -> str:
    return interval([value[place] for value in values if value[place] == value[place]], 1)
