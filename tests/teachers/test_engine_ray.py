"""Ray, really run: killed workers, networks, and clusters that do not answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from ballotine.data.partition import random_partition
from ballotine.errors import ParameterError
from ballotine.neural import TorchClassifier
from ballotine.teachers import LocalEngine, RayEngine, TeacherStore, Trainer
from tests.teachers.workers import describe, die, die_once, memory

pytestmark = [
    pytest.mark.extras,
    pytest.mark.filterwarnings("ignore"),  # what Ray warns of while starting is not ours to mend
]
X, Y = make_blobs(n_samples=120, centers=3, random_state=0)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    ray = pytest.importorskip("ray", reason="needs the extra: pip install 'ballotine[ray]'")
    engine = RayEngine(2)
    assert list(engine.map(partial(describe, np.ones((2, 2))), range(2)))
    yield engine
    ray.shutdown()


def test_networks_are_the_same_as_on_this_machine(cluster: RayEngine, tmp_path: Path) -> None:
    partition = random_partition(len(X), 4, b"secret")
    ballots = []
    for engine, name in ((LocalEngine(1), "local"), (cluster, "ray")):
        store = TeacherStore(tmp_path / name)
        trainer = Trainer(TorchClassifier(epochs=3), 3, b"secret", engine=engine, store=store)
        ballots.append(trainer.train(X, Y.astype(np.int64), partition).ballots(X))
    assert np.array_equal(ballots[0], ballots[1])


def test_workers_have_one_thread_and_share_the_data(cluster: RayEngine) -> None:
    table = np.random.default_rng(0).random((1000, 50))
    found = list(cluster.map(partial(describe, table), range(10)))
    assert {threads for _, threads, *_ in found} == {1}
    assert all(read_only for _, _, read_only, _ in found)


def test_no_worker_has_a_copy_of_the_data(cluster: RayEngine) -> None:
    table = np.random.default_rng(0).random((100, 100_000))
    before = dict(cluster.map(partial(memory, table[:1, :1]), range(8)))
    after = dict(cluster.map(partial(memory, table), range(8)))
    assert set(after) & set(before)
    for process in set(after) & set(before):
        assert after[process][0] - before[process][0] < table.nbytes / 4e6


def test_a_killed_worker_loses_its_own_task_only(cluster: RayEngine, tmp_path: Path) -> None:
    found = dict(cluster.map(partial(die_once, tmp_path), range(10)))
    assert sorted(found) == list(range(10))
    runs = Counter((tmp_path / "runs").read_text().split())
    assert runs.pop("3") == 2
    assert set(runs.values()) == {1}


def test_a_task_that_always_kills_is_given_up(cluster: RayEngine) -> None:
    stood_for = list(cluster.map(die, range(4), lambda task, reason: -task))
    assert sorted(stood_for) == [-1, 0, 2, 3]


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "127.0.0.1:x"])
def test_a_cluster_that_does_not_answer_is_named_at_once(address: str) -> None:
    ray = pytest.importorskip("ray", reason="needs the extra: pip install 'ballotine[ray]'")
    ray.shutdown()
    with pytest.raises(ParameterError, match=rf"{address}.*RAY_ADDRESS") as refused:
        list(RayEngine(2, address).map(die, [0, 2]))
    # The address itself refused; Ray, which waits for minutes, was not asked.
    assert isinstance(refused.value.__cause__, ConnectionRefusedError | ValueError)
