"""Students: models that learn from released answers and may be released themselves."""

from ballotine.students.distill import fit_student, is_semi_supervised
from ballotine.students.spreading import SpreadingClassifier
from ballotine.students.student import Student

__all__ = ["SpreadingClassifier", "Student", "fit_student", "is_semi_supervised"]
