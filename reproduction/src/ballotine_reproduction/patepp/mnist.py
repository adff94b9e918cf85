"""Students on MNIST: does what holds for Fashion-MNIST hold elsewhere?"""

from __future__ import annotations

from ballotine_reproduction.patepp.methods import CHOICE
from ballotine_reproduction.patepp.notes import schedule_note
from ballotine_reproduction.patepp.pools import pool_of
from ballotine_reproduction.patepp.table1 import COLUMNS, level_notes, students
from ballotine_reproduction.table import Setting, Table

STUDENTS = ("SVM", "original", "PATE+", "PATE++", "SVM on patches", CHOICE)
LEVELS = ("tight",)


def mnist(setting: Setting) -> Table:
    """The paper has no such table; teachers, noise and schedule are those of Table I."""
    pool = pool_of(setting, "mnist")
    rows = students(setting, pool, LEVELS, STUDENTS, {})
    title = f"Students of few, partly wrong answers ({pool.name})"
    return Table(title, COLUMNS, rows, (*level_notes(pool, LEVELS), schedule_note(setting)))
