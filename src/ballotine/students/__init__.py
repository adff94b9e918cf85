"""Students: models that learn from released answers and may be released themselves."""

from ballotine.students.distill import fit_student, is_semi_supervised
from ballotine.students.student import Student

__all__ = ["Student", "fit_student", "is_semi_supervised"]
