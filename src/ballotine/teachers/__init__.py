"""Teachers: trained each on its own share of the private records."""

from ballotine.teachers.engine import Engine, LocalEngine, RayEngine, make_engine
from ballotine.teachers.ensemble import Ensemble, TeacherStore, Trainer
from ballotine.teachers.train import Teacher

__all__ = [
    "Engine",
    "Ensemble",
    "LocalEngine",
    "RayEngine",
    "Teacher",
    "TeacherStore",
    "Trainer",
    "make_engine",
]
