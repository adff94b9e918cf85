"""The student of a run: trained once, then kept for a resumption."""

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
    """The student in the folder if it was made from the same things, or a new one.

    Args:
        steps: of the task.
        learner: any scikit-learn classifier.
        rows: what it learns from.
        labels: class numbers, or 0 and 1 per label; negative where there is no answer.
        classes: what the numbers stand for.
        wrap: makes a model of these rows one of rows as they come.
        folder: where the student is kept.
        noise: what its seed comes from.
        progress: shows how far it is.
    """
    digest = digest_of(repr(learner), rows, labels, repr(tuple(classes)))
    kept = _kept(folder, digest)
    if kept is not None:
        with progress.stage("student", 1) as advance:
            advance(1)
        return kept
    with (
        _answers_are_safe(folder),
        _silenced(),
        training_bars(progress, learner, labels) as telling,
    ):
        model = wrap(remove_callback(train_student(steps, telling, rows, labels, noise)))
    student = steps.student(model, list(classes))
    save_result(folder, folder.student, digest, student.save)
    if (text := interruption_warning(student)) is not None:
        log.warning("%s", text)
    return student


def interruption_warning(student: Student) -> str | None:
    """What everybody should know about a student whose training somebody ended early."""
    cut = [each for each in trainings(student) if each.interrupted]
    if not cut:
        return None
    if cut[0].label is None:
        when = f"after {cut[0].epochs} epoch{'s' if cut[0].epochs > 1 else ''}"
    else:
        when = f"for {quoted(str(each.label) for each in cut)}"
    return (
        f"the student's training was interrupted {when}: it has the best weights it had until "
        "then; to train it to the end, remove student.skops and resume the run, which costs no "
        "privacy"
    )


@contextmanager
def _silenced() -> Iterator[None]:
    """Silence warnings here: the run reports interruptions itself, also of a kept student."""
    with warnings.catch_warnings(record=True):
        yield


@contextmanager
def _answers_are_safe(folder: RunFolder) -> Iterator[None]:
    """A student that cannot be trained loses nothing that was paid for: say so."""
    try:
        yield
    except BallotineError as problem:
        problem.add_note(
            f"the answers are paid for and kept: change [student] in {folder.runfile} and go on "
            f"with: ballotine run --resume {folder.root}"
        )
        raise


def _kept(folder: RunFolder, digest: str) -> Student | None:
    """The student of an interrupted run, if it holds nothing but trusted types."""
    if not is_current(folder, folder.student, digest):
        return None
    try:
        return Student.load(folder.student)
    except RunFolderError:
        return None  # a type of the user's own: learning again is safer than trusting it
