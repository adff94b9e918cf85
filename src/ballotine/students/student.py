"""The released model: a fitted classifier that predicts class names."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from ballotine.errors import RunFolderError
from ballotine.models import load_model, save_model
from ballotine.types import FloatArray, Labels, Matrix

OWN = (
    "ballotine.students.multilabel.LabelStudents",
    "ballotine.students.multilabel.MultiLabelStudent",
)
"""Further types of Ballotine that a student's file may contain."""


class Student(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted student: a model that predicts class numbers, and the classes."""

    def __init__(self, model: Any = None, classes: Any = None) -> None:
        self.model = model
        self.classes = classes

    @property
    def classes_(self) -> Labels:
        """The classes, in the order of their numbers."""
        return np.asarray(self.classes)

    def predict(self, X: Matrix) -> Labels:
        """Return the class of each row."""
        named: Labels = self.classes_[self.model.predict(X)]
        return named

    def predict_proba(self, X: Matrix) -> FloatArray:
        """Return one column per class; a class that was never answered has probability 0."""
        result = np.zeros((len(X), len(self.classes_)))
        result[:, self.model.classes_] = self.model.predict_proba(X)
        return result

    def save(self, path: Path) -> None:
        """Write the student to a file that runs no code when loaded."""
        save_model(path, self)

    @classmethod
    def load(cls, path: str | Path, trusted: Collection[str] = ()) -> Student:
        """Read a student that ``save`` wrote; ``trusted`` names your own types."""
        student = load_model(Path(path), {*OWN, *trusted})
        if not isinstance(student, cls):
            raise RunFolderError(f"{path} contains a model that is not a Ballotine student")
        return student
