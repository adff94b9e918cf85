"""Students: models that learn from released answers and may be released themselves."""

from ballotine.students.features import FeaturedModel
from ballotine.students.fitting import (
    TrainingInterrupted,
    fit_student,
    is_semi_supervised,
    reports_epochs,
)
from ballotine.students.multilabel import (
    LabelStudents,
    MultiLabelStudent,
    fit_label_students,
    label_score,
    learns_all_labels,
    unanswered,
)
from ballotine.students.self_training import SelfTraining
from ballotine.students.spreading import SpreadingClassifier
from ballotine.students.student import Student
from ballotine.students.trained import STAGE, Trained, losses_in, trainings

__all__ = [
    "STAGE",
    "FeaturedModel",
    "LabelStudents",
    "MultiLabelStudent",
    "SelfTraining",
    "SpreadingClassifier",
    "Student",
    "Trained",
    "TrainingInterrupted",
    "fit_label_students",
    "fit_student",
    "is_semi_supervised",
    "label_score",
    "learns_all_labels",
    "losses_in",
    "reports_epochs",
    "trainings",
    "unanswered",
]
