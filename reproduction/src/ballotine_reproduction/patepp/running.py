"""Trainings, each kept on disk so that tables share them and can be resumed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np

from ballotine.files import write_atomic
from ballotine.progress import Advance, Silent
from ballotine.students.neural import Epoch
from ballotine.students.neural.teaching import most_suspected
from ballotine.teachers.engine import LocalEngine
from ballotine.types import IntArray
from ballotine_reproduction.patepp.labelling import Answered, answered
from ballotine_reproduction.patepp.methods import Case, make, on_patches, schedule_of
from ballotine_reproduction.patepp.sources import Pool
from ballotine_reproduction.table import Setting

FORMAT = "ballotine/experiments/patepp/2"


@dataclass(frozen=True)
class Result:
    """What a training gave.

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


Memory: TypeAlias = dict[Case, Result]
"""Trainings that are known already, for those that begin where they end."""


def results(setting: Setting, pool: Pool, cases: Sequence[Case]) -> list[Result]:
    """The results of trainings, on as many processes as there may be."""
    known: Memory = {}
    for which in cases:
        if (kept := _load(_place(setting, pool, which))) is not None:
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


def accuracies(setting: Setting, pool: Pool, cases: Sequence[Case]) -> list[float]:
    """Of several trainings."""
    return [found.accuracy for found in results(setting, pool, cases)]


def _chains(cases: Sequence[Case]) -> list[tuple[Case, ...]]:
    """Trainings that share their first half go together, into one process."""
    chains: dict[Case, list[Case]] = {}
    for which in cases:
        chains.setdefault(_first_half(which), []).append(which)
    return [tuple(chain) for chain in chains.values()]


def _first_half(which: Case) -> Case:
    """The PATE+ that a PATE++ begins with; every other training begins with itself."""
    if which.tau is None:
        return which
    return replace(which, method=which.method.replace("++", "+"), tau=None)


def _train_chain(setting: Setting, pool: Pool, chain: tuple[Case, ...]) -> Memory:
    memory: Memory = {}
    for which in chain:
        _result(setting, pool, which, memory)
    return {which: memory[which] for which in chain}


def _result(setting: Setting, pool: Pool, which: Case, memory: Memory) -> Result:
    if which in memory:
        return memory[which]
    kept = _place(setting, pool, which)
    known = _load(kept)
    if known is None:
        if which.tau is None:
            known = _trained(setting, pool, which, _answered(setting, pool, which))
        else:
            first = _result(setting, pool, _first_half(which), memory)
            known = _cleansed(setting, pool, which, first)
        _keep(kept, known)
    memory[which] = known
    return known


def _answered(setting: Setting, pool: Pool, which: Case) -> Answered:
    return answered(pool, which.level, which.seed, quick=setting.quick)


def _cleansed(setting: Setting, pool: Pool, which: Case, first: Result) -> Result:
    """PATE++: the suspicious answers of PATE+ forgotten, and another PATE+ on the rest.

    `PatePlusPlus` does both in one go; here the first half is the training that the row of
    PATE+ and every τ share.
    """
    assert which.tau is not None
    given = _answered(setting, pool, which)
    places = most_suspected(np.array(first.suspicion), given.labels, which.tau)
    forgotten = given.rows[places]
    wrong = given.labels[places] != pool.y[forgotten]
    kept = np.setdiff1d(np.arange(len(given.rows)), places)
    cleaned = replace(
        given,
        rows=given.rows[kept],
        labels=given.labels[kept],
        others=np.sort(np.concatenate([given.others, forgotten])),
    )
    again = _trained(setting, pool, which, cleaned)
    return replace(again, found=float(np.mean(wrong)) if len(wrong) else None)


def _trained(setting: Setting, pool: Pool, which: Case, given: Answered) -> Result:
    student = make(which, pool, schedule_of(quick=setting.quick, long=which.long))
    patches = on_patches(which.method)
    X, labels, others = given.rows_of(pool.patches if patches else pool.X)
    watch = Watch(labels, pool.y[given.rows])
    stage = f"{which.method}, {which.level}, seed {which.seed}"
    if not hasattr(student, "on_epoch"):
        student.fit(X, labels)
    else:
        with setting.progress.stage(stage, student.epochs) as advance:
            watch.advance = advance
            student.set_params(on_epoch=watch, checkpoint=_unfinished(setting, pool, which))
            student.fit(X, labels, others)
    test = pool.patches_test if patches else pool.X_test
    accuracy = 100.0 * float(np.mean(student.predict(test) == pool.y_test))
    return Result(accuracy, watch.curves, getattr(student, "suspicion_", np.zeros(0)).tolist())


def _nobody(_steps: int) -> None:
    """Nobody is told how far it is."""


class Watch:
    """Keeps what Figure 3 shows; the truth it compares with is a judge's, not a student's."""

    def __init__(self, labels: IntArray, truth: IntArray) -> None:
        self._wrong = labels != truth
        self.curves: dict[str, list[float]] = {}
        self.advance: Advance = _nobody

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


def _unfinished(setting: Setting, pool: Pool, which: Case) -> Path | None:
    """Where a training that is stopped goes on from."""
    kept = _place(setting, pool, which)
    if kept is None:
        return None
    kept.parent.mkdir(parents=True, exist_ok=True)
    return kept.with_suffix(".checkpoint")


def _place(setting: Setting, pool: Pool, which: Case) -> Path | None:
    """The file of a training: its name follows from everything it depends on."""
    if setting.cache is None:
        return None
    schedule = schedule_of(quick=setting.quick, long=which.long)
    facts = json.dumps([FORMAT, asdict(which), asdict(schedule), pool.digest.hex()])
    name = hashlib.sha256(facts.encode()).hexdigest()[:40]
    return setting.cache / f"patepp-{name}.json"


def _load(path: Path | None) -> Result | None:
    """A training that was kept; a file that does not hold one is made again."""
    if path is None or not path.is_file():
        return None
    try:
        return Result(**json.loads(path.read_text("utf-8"))["result"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _keep(path: Path | None, found: Result) -> None:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, json.dumps({"result": asdict(found)}))
