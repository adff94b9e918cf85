"""Students: models that learn from released answers and may be released themselves."""

from ballotine.students.distill import TrainingInterrupted, fit_student, is_semi_supervised
from ballotine.students.multilabel import (
    LabelStudents,
    MultiLabelStudent,
    fit_label_students,
    label_score,
    unanswered,
)
from ballotine.students.spreading import SpreadingClassifier
from ballotine.students.student import Student

__all__ = [
    "LabelStudents",
    "MultiLabelStudent",
    "SpreadingClassifier",
    "Student",
    "TrainingInterrupted",
    "fit_label_students",
    "fit_student",
    "is_semi_supervised",
    "label_score",
    "unanswered",
]
