"""Engines: the same results wherever they run, and shared data."""

from __future__ import annotations

import os
import pickle
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression

from ballotine.data.partition import random_partition
from ballotine.teachers import Ensemble, LocalEngine, TeacherStore, Trainer
from ballotine.teachers.ensemble import StoredTeacher
from ballotine.teachers.shared import Shared
from tests.teachers.workers import describe, fail, memory, square

X, Y = make_blobs(n_samples=240, centers=3, random_state=0)
Y = Y.astype(np.int64)
PARTITION = random_partition(len(X), 6, b"secret")


def trained(estimator: object, jobs: int, store: TeacherStore | None = None) -> Ensemble:
    trainer = Trainer(estimator, 3, b"secret", engine=LocalEngine(jobs), store=store)
    return trainer.train(X, Y, PARTITION)


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_task_is_done_once(jobs: int) -> None:
    assert sorted(LocalEngine(jobs).map(square, range(20))) == [n * n for n in range(20)]
    assert list(LocalEngine(jobs).map(square, [])) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_of_the_work_itself_is_told(jobs: int) -> None:
    with pytest.raises(RuntimeError, match="task"):
        list(LocalEngine(jobs).map(fail, range(4)))


def test_tasks_are_taken_as_workers_become_free() -> None:
    taken = []

    def tasks() -> object:
        for number in range(50):
            taken.append(number)
            yield number

    results = LocalEngine(2).map(square, tasks())  # type: ignore[arg-type]
    next(results)
    assert len(taken) <= 5
    results.close()  # type: ignore[attr-defined]


def test_workers_have_one_thread_and_share_the_data() -> None:
    table = np.random.default_rng(0).random((1000, 50))
    found = list(LocalEngine(2).map(partial(describe, table), range(30)))
    assert os.getpid() not in {process for process, *_ in found}
    assert len({process for process, *_ in found}) == 2
    assert {threads for _, threads, *_ in found} == {1}
    assert all(read_only for _, _, read_only, _ in found)
    assert sorted(total for *_, total in found) == pytest.approx(sorted(table[:30].sum(axis=1)))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's figures")
def test_no_worker_has_a_copy_of_the_data() -> None:
    """Every worker reads a table of 80 MB, and its own memory grows by far less."""
    table = np.random.default_rng(0).random((100, 100_000))
    before = dict(LocalEngine(2).map(partial(memory, table[:1, :1]), range(8)))
    after = dict(LocalEngine(2).map(partial(memory, table), range(8)))
    assert set(after) == set(before)
    megabytes = table.nbytes / 1e6
    for process, (own, shared) in after.items():
        assert own - before[process][0] < megabytes / 4
        assert shared - before[process][1] > megabytes / 2


@pytest.mark.neural
def test_one_process_has_one_thread_too_and_gives_the_others_back() -> None:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        found = list(LocalEngine(1).map(partial(describe, np.ones((3, 2))), range(3)))
        assert {threads for _, threads, *_ in found} == {1}
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_a_shared_value_is_small_on_its_way_and_whole_on_arrival() -> None:
    value = {"rows": np.arange(100_000), "empty": np.empty((0, 3)), "name": "x"}
    with Shared(value) as shared:
        parcel = pickle.dumps(shared)
        assert len(parcel) < 1000
        image = pickle.loads(parcel).value
        assert np.array_equal(image["rows"], value["rows"])
        assert image["empty"].shape == (0, 3)
        assert image["name"] == "x"
        assert shared.value is value


def test_one_process_and_several_train_the_same_teachers() -> None:
    ballots = [trained(LogisticRegression(), jobs).ballots(X) for jobs in (1, 2)]
    assert np.array_equal(ballots[0], ballots[1])


@pytest.mark.neural
def test_one_process_and_several_train_the_same_networks() -> None:
    from ballotine.neural import TorchClassifier

    ensembles = [trained(TorchClassifier(epochs=3), jobs) for jobs in (1, 2)]
    ballots = [ensemble.ballots(X) for ensemble in ensembles]
    assert np.array_equal(ballots[0], ballots[1])
    states = [[teacher.model.state_ for teacher in e.teachers] for e in ensembles]
    for here, there in zip(*states, strict=True):
        assert all(np.array_equal(here[name], there[name]) for name in here)


@pytest.mark.neural
@pytest.mark.parametrize("jobs", [1, 2])
def test_teachers_of_a_store_stay_on_disk(tmp_path: Path, jobs: int) -> None:
    from ballotine.neural import TorchClassifier

    ensemble = trained(TorchClassifier(epochs=2), jobs, TeacherStore(tmp_path))
    assert all(isinstance(teacher, StoredTeacher) for teacher in ensemble.teachers)
    in_memory = trained(TorchClassifier(epochs=2), 1)
    assert np.array_equal(ensemble.ballots(X), in_memory.ballots(X))
    again = trained(TorchClassifier(epochs=2), jobs, TeacherStore(tmp_path))
    assert np.array_equal(again.ballots(X), in_memory.ballots(X))


def test_an_engine_can_be_pickled() -> None:
    list(LocalEngine(2).map(square, range(4)))
    assert pickle.loads(pickle.dumps(LocalEngine(2))).n_jobs == 2
