"""The student of a run: trained once, and stored for a resumed run."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ballotine.errors import BallotineError, RunFolderError
from ballotine.noise import NoiseSource
from ballotine.pipeline.folder import RunFolder
from ballotine.pipeline.resume import digest_of, is_current, save_result
from ballotine.pipeline.steps import Steps
from ballotine.pipeline.student_progress import remove_callback, training_bars
from ballotine.pipeline.training import train_student
from ballotine.progress import Progress
from ballotine.students import Student, trainings
from ballotine.text import quoted
from ballotine.types import IntArray, Matrix

log = logging.getLogger("ballotine.run")


def distill(
    steps: Steps,
    learner: Any,
    rows: Matrix,
    labels: IntArray,
    classes: Sequence[Any],
    *,
    wrap: Callable[[Any], Any],
    folder: RunFolder,
    noise: NoiseSource,
    progress: Progress,
) -> Student:
    """Return the stored student if its inputs are the same; otherwise train a new one.

    Args:
        steps: the steps for the task.
        learner: any scikit-learn classifier.
        rows: the features of the rows to learn from.
        labels: class numbers, or 0 and 1 per label; negative where there is no answer.
        classes: the names of the classes or labels.
        wrap: turns a model of features into a model of raw rows.
        folder: where the student is stored.
        noise: the source of its seed.
        progress: shows the training.
    """
    digest = digest_of(repr(learner), rows, labels, repr(tuple(classes)))
    stored = _load_student(folder, digest)
    if stored is not None:
        with progress.stage("student", 1) as advance:
            advance(1)
        return stored
    with (
        _advise_on_failure(folder),
        warnings.catch_warnings(record=True),  # the run reports interruptions itself
        training_bars(progress, learner, labels) as reporting,
    ):
        model = wrap(remove_callback(train_student(steps, reporting, rows, labels, noise)))
    student = steps.student(model, list(classes))
    save_result(folder, folder.student, digest, student.save)
    if (text := interruption_warning(student)) is not None:
        log.warning("%s", text)
    return student


def interruption_warning(student: Student) -> str | None:
    """Return a warning if the student's training was interrupted, or None."""
    cut = [each for each in trainings(student) if each.interrupted]
    if not cut:
        return None
    if cut[0].label is None:
        when = f"after {cut[0].epochs} epoch{'s' if cut[0].epochs > 1 else ''}"
    else:
        when = f"for {quoted(str(each.label) for each in cut)}"
    return (
        f"the student's training was interrupted {when}: it has the best weights found until "
        "then; to finish the training, remove student.skops and resume the run, which costs no "
        "privacy"
    )


@contextmanager
def _advise_on_failure(folder: RunFolder) -> Iterator[None]:
    """Add to an error that the answers are not lost, and how to continue."""
    try:
        yield
    except BallotineError as problem:
        problem.add_note(
            f"the answers are paid for and stored: change [student] in {folder.runfile} and "
            f"continue with: ballotine run --resume {folder.root}"
        )
        raise


def _load_student(folder: RunFolder, digest: str) -> Student | None:
    """Return the student of an interrupted run, if it contains only trusted types."""
    if not is_current(folder, folder.student, digest):
        return None
    try:
        return Student.load(folder.student)
    except RunFolderError:
        return None  # it contains a type of the user's own: train again rather than trust it
