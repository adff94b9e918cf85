"""The teachers: 250 of 240 records each, and what they say about public images."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from sklearn.svm import SVC

from ballotine.data.named import sets as named
from ballotine.data.partition import make_partition
from ballotine.features import PatchFeatures
from ballotine.files import produce_atomic
from ballotine.teachers.engine import LocalEngine
from ballotine.teachers.train import TeacherShare, predict_classes, train_share, train_teacher
from ballotine.types import IntArray, Matrix
from ballotine_reproduction.table import Setting

CLASSES = 10
TEACHERS = 250
PUBLIC = 9_000
SECRET = b"ballotine/experiments/patepp"
FORMAT = b"ballotine/experiments/patepp/teachers/1\0"
SHAPE = (1, 28, 28)


@dataclass(frozen=True, eq=False)
class Images:
    """A set of images: private ones for teachers, public ones to ask about, some to judge by.

    Attributes:
        name: of the set; title: the same, for tables.
        X: private images; y: their classes. The others likewise.
        shape: of one image.
    """

    name: str
    title: str
    X: Matrix
    y: IntArray
    X_public: Matrix
    y_public: IntArray
    X_test: Matrix
    y_test: IntArray
    shape: tuple[int, int, int] = SHAPE


@dataclass(frozen=True, eq=False)
class Ensemble:
    """What teachers say about public images.

    Attributes:
        ballots: class numbers, shape (public rows, teachers).
        patches: features of the public images; patches_test: of those to judge by.
    """

    ballots: IntArray
    patches: Matrix
    patches_test: Matrix


def images_of(setting: Setting, name: str) -> Images:
    """The set of that name, cut as the paper cuts Fashion-MNIST."""
    found = named.get(name, setting.data)
    assert found.X_test is not None
    assert found.y_test is not None
    X_test, y_test = found.X_test.astype(np.float32), found.y_test.astype(np.int64)
    return Images(
        name,
        {"fashion-mnist": "Fashion-MNIST", "mnist": "MNIST"}[name],
        found.X.astype(np.float32),
        found.y.astype(np.int64),
        X_test[:PUBLIC],
        y_test[:PUBLIC],
        X_test[PUBLIC:],
        y_test[PUBLIC:],
    )


def teacher() -> Any:
    """What each of the 250 is."""
    return SVC(C=10.0)


def features(images: Images) -> PatchFeatures:
    """What teachers and students may see of an image: learnt from public ones alone."""
    return PatchFeatures(images.shape, random_state=0).fit(images.X_public)


def ensemble(setting: Setting, images: Images) -> Ensemble:
    """The votes of all teachers: from the cache, or now."""
    kept = _place(setting, images)
    known = _load(kept)
    if known is None:
        with setting.progress.stage(f"{images.title}: patches", 1) as advance:
            seen = features(images)
            X, public, test = map(seen.transform, (images.X, images.X_public, images.X_test))
            advance(1)
        ballots = votes(setting, teacher(), X, images.y, public, TEACHERS, TEACHERS)
        known = Ensemble(ballots, public.astype(np.float32), test.astype(np.float32))
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            produce_atomic(kept, partial(_save, found=known))
    return known


def votes(
    setting: Setting,
    estimator: Any,
    X: Matrix,
    y: IntArray,
    asked: Matrix,
    teachers: int,
    dealt: int,
) -> IntArray:
    """Every teacher's class for every asked row, shape (asked, teachers).

    Args:
        setting: says how many processes train.
        estimator: what a teacher is.
        X: private rows.
        y: their classes.
        asked: the rows to vote on.
        teachers: how many of the shares have a teacher.
        dealt: how many shares the records are dealt to.
    """
    partition = make_partition("random", y, dealt, SECRET)
    shares = [TeacherShare(i, partition.shares[i], i) for i in range(teachers)]
    found = np.empty((len(asked), teachers), dtype=np.int64)
    with setting.progress.stage("teachers", teachers) as advance:
        work = partial(_vote, estimator, X, y, asked)
        for position, cast in LocalEngine(setting.jobs).map(work, shares):
            found[:, position] = cast
            advance(1)
    return found


def _vote(
    estimator: Any, X: Matrix, y: IntArray, asked: Matrix, share: TeacherShare
) -> tuple[int, IntArray]:
    trained = train_share(train_teacher, estimator, X, y, share)
    return share.position, predict_classes(trained.model, asked, CLASSES)[0]


def _place(setting: Setting, images: Images) -> Path | None:
    """The file for these votes: its name follows from everything they depend on."""
    if setting.cache is None:
        return None
    name = hashlib.sha256(FORMAT + f"{images.name} {teacher()!r} {PatchFeatures()!r}".encode())
    for rows in (images.X, images.y, images.X_public):
        name.update(str(rows.shape).encode() + np.ascontiguousarray(rows[::97]).tobytes())
    return setting.cache / f"teachers-{name.hexdigest()[:40]}.npz"


def _load(path: Path | None) -> Ensemble | None:
    """Votes that were kept; a file that does not hold them is trained again."""
    if path is None or not path.is_file():
        return None
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            ballots = archive["ballots"].astype(np.int64)
            return Ensemble(ballots, archive["patches"], archive["patches_test"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def _save(stream: BinaryIO, found: Ensemble) -> None:
    np.savez_compressed(
        stream,
        ballots=found.ballots.astype(np.uint8),
        patches=found.patches,
        patches_test=found.patches_test,
    )
