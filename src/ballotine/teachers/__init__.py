"""Teachers, each trained on its own share of the private records."""

from ballotine.teachers.engine import Engine, LocalEngine, RayEngine, make_engine
from ballotine.teachers.ensemble import Ensemble, TeacherStore, Trainer
from ballotine.teachers.multilabel import Cast, LabelEnsemble, LabelModels, fit_labels, train_labels
from ballotine.teachers.together import LearnTogether
from ballotine.teachers.train import Teacher

__all__ = [
    "Cast",
    "Engine",
    "Ensemble",
    "LabelEnsemble",
    "LabelModels",
    "LearnTogether",
    "LocalEngine",
    "RayEngine",
    "Teacher",
    "TeacherStore",
    "Trainer",
    "fit_labels",
    "make_engine",
    "train_labels",
]
