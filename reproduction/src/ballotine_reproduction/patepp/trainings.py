"""Trainings of students, each in the cache, so that tables share and resume them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ballotine.progress import Advance, Silent
from ballotine.students.neural import Epoch
from ballotine.students.neural.teaching import most_suspected
from ballotine.teachers.engine import LocalEngine
from ballotine.types import IntArray
from ballotine_reproduction.cache import cache_path, read_json, write_json
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.patepp.ensemble import VotedPool
from ballotine_reproduction.patepp.labelling import LEVELS, Answered, answered, numbers
from ballotine_reproduction.patepp.methods import Training, make, on_patches, schedule_of
from ballotine_reproduction.summary import percent_right


@dataclass(frozen=True)
class Result:
    """The result of a training.

    Attributes:
        accuracy: on the evaluation slice, in percent.
        curves: numbers by name, one per epoch.
        suspicion: of each answer, for methods that watch it.
        found: of the forgotten answers, the share that was wrong; None if none was forgotten.
    """

    accuracy: float
    curves: dict[str, list[float]] = field(default_factory=dict)
    suspicion: list[float] = field(default_factory=list)
    found: float | None = None


Memory: TypeAlias = dict[Training, Result]
"""Results of trainings, for those that begin where others end."""


def results(setting: Setting, pool: VotedPool, cases: Sequence[Training]) -> list[Result]:
    """The results of trainings, on as many processes as there may be."""
    known: Memory = {}
    for which in cases:
        if (kept := _load(_path(setting, pool, which))) is not None:
            known[which] = kept
    chains = _chains([which for which in dict.fromkeys(cases) if which not in known])
    if setting.jobs == 1 or len(chains) == 1:
        # One thread, as workers have: trainings round differently with another number.
        for found in LocalEngine(1).map(partial(_train_chain, setting, pool), chains):
            known |= found
    elif chains:
        work = partial(_train_chain, replace(setting, progress=Silent()), pool)
        with setting.progress.stage("students", sum(map(len, chains))) as advance:
            for found in LocalEngine(setting.jobs).map(work, chains):
                known |= found
                advance(len(found))
    return [known[which] for which in cases]


def accuracies(setting: Setting, pool: VotedPool, cases: Sequence[Training]) -> list[float]:
    """The accuracies of several trainings."""
    return [found.accuracy for found in results(setting, pool, cases)]


def _chains(cases: Sequence[Training]) -> list[tuple[Training, ...]]:
    """Trainings that share their first half go together, into one process."""
    chains: dict[Training, list[Training]] = {}
    for which in cases:
        chains.setdefault(_first_half(which), []).append(which)
    return [tuple(chain) for chain in chains.values()]


def _first_half(which: Training) -> Training:
    """The PATE+ that a PATE++ begins with; every other training begins with itself."""
    if which.tau is None:
        return which
    return replace(which, method=which.method.replace("++", "+"), tau=None)


def _train_chain(setting: Setting, pool: VotedPool, chain: tuple[Training, ...]) -> Memory:
    memory: Memory = {}
    for which in chain:
        _result(setting, pool, which, memory)
    return {which: memory[which] for which in chain}


def _result(setting: Setting, pool: VotedPool, which: Training, memory: Memory) -> Result:
    if which in memory:
        return memory[which]
    kept = _path(setting, pool, which)
    known = _load(kept)
    if known is None:
        if which.tau is None:
            known = _trained(setting, pool, which, _answered(setting, pool, which))
        else:
            first = _result(setting, pool, _first_half(which), memory)
            known = _cleansed(setting, pool, which, first)
        write_json(kept, {"result": asdict(known)})
    memory[which] = known
    return known


def _answered(setting: Setting, pool: VotedPool, which: Training) -> Answered:
    return answered(pool, which.level, which.seed, quick=setting.quick)


def _cleansed(setting: Setting, pool: VotedPool, which: Training, first: Result) -> Result:
    """PATE++: the suspicious answers of PATE+ forgotten, and another PATE+ on the rest.

    `PatePlusPlus` does both in one go; here the first half is the training that the row of
    PATE+ and every τ share.
    """
    assert which.tau is not None
    given = _answered(setting, pool, which)
    places = most_suspected(np.array(first.suspicion), given.labels, which.tau)
    forgotten = given.rows[places]
    wrong = given.labels[places] != pool.rows.y_public[forgotten]
    kept = np.setdiff1d(np.arange(len(given.rows)), places)
    cleaned = replace(
        given,
        rows=given.rows[kept],
        labels=given.labels[kept],
        others=np.sort(np.concatenate([given.others, forgotten])),
    )
    again = _trained(setting, pool, which, cleaned)
    return replace(again, found=float(np.mean(wrong)) if len(wrong) else None)


def _trained(setting: Setting, pool: VotedPool, which: Training, given: Answered) -> Result:
    student = _student(setting, pool, which)
    patches = on_patches(which.method)
    X, labels, others = given.rows_of(pool.patches if patches else pool.rows.X_public)
    watch = Watch(labels, pool.rows.y_public[given.rows])
    stage = f"{which.method}, {which.level}, seed {which.seed}"
    if not hasattr(student, "on_epoch"):
        student.fit(X, labels)
    else:
        with setting.progress.stage(stage, student.epochs) as advance:
            watch.advance = advance
            student.set_params(on_epoch=watch, checkpoint=_unfinished(setting, pool, which))
            student.fit(X, labels, others)
    test = pool.patches_test if patches else pool.rows.X_test
    accuracy = percent_right(student.predict(test), pool.rows.y_test)
    return Result(accuracy, watch.curves, getattr(student, "suspicion_", np.zeros(0)).tolist())


def _student(setting: Setting, pool: VotedPool, which: Training) -> Any:
    return make(which, pool, schedule_of(quick=setting.quick, long=which.long))


def _no_progress(_steps: int) -> None:
    """Report no progress."""


class Watch:
    """Records what Figure 3 shows; the truth it compares with is not known to the student."""

    def __init__(self, labels: IntArray, truth: IntArray) -> None:
        self._wrong = labels != truth
        self.curves: dict[str, list[float]] = {}
        self.advance: Advance = _no_progress

    def __call__(self, epoch: Epoch) -> None:
        """After each epoch."""
        self.advance(1)
        if "disagreed" not in epoch.rows:
            return
        disputed = self._wrong[epoch.rows["disagreed"]]
        numbers = {
            "agreement_1": epoch.losses["agreement_1"],
            "agreement_2": epoch.losses["agreement_2"],
            "disagreed": float(len(disputed)),
            "wrong": float(np.mean(disputed)) if len(disputed) else 0.0,
        }
        for name, value in numbers.items():
            self.curves.setdefault(name, []).append(value)


def _unfinished(setting: Setting, pool: VotedPool, which: Training) -> Path | None:
    """The checkpoint from which an interrupted training is resumed."""
    path = _path(setting, pool, which)
    return None if path is None else path.with_suffix(".checkpoint")


def _path(setting: Setting, pool: VotedPool, which: Training) -> Path | None:
    """The file of a training; everything that its result depends on goes into the name."""
    student = repr(_student(setting, pool, which))
    level = repr(LEVELS[which.level])
    facts = (pool.digest, asdict(which), student, level, numbers(quick=setting.quick))
    return cache_path(setting.cache, "patepp-student", ".json", *facts)


def _load(path: Path | None) -> Result | None:
    """A training from the cache; a file that does not hold one counts as absent."""
    try:
        return Result(**read_json(path)["result"])
    except (KeyError, TypeError):
        return None
