"""Ray, really run: the same teachers as on this machine's own processes."""

from __future__ import annotations

import socket

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.ensemble import RandomForestClassifier

from ballotine.data.partition import random_partition
from ballotine.errors import ParameterError
from ballotine.teachers import Trainer, make_engine
from ballotine.teachers.ray_engine import require_listener

X, Y = make_blobs(n_samples=240, centers=3, random_state=0)


@pytest.mark.extras
@pytest.mark.filterwarnings("ignore")  # what Ray warns of while starting is not ours to mend
def test_ray_trains_the_same_teachers() -> None:
    import ray

    partition = random_partition(len(X), 6, b"secret")
    ballots = {}
    try:
        for name in ("local", "ray"):
            trainer = Trainer(
                RandomForestClassifier(10), 3, b"secret", engine=make_engine(name, n_jobs=2)
            )
            ballots[name] = trainer.train(X, Y.astype(np.int64), partition).ballots(X)
        assert ray.is_initialized()
    finally:
        ray.shutdown()
    assert np.array_equal(ballots["local"], ballots["ray"])
    assert np.mean(ballots["ray"] == Y[:, None]) > 0.8


def test_a_door_is_knocked_at_only_where_there_is_a_number() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        require_listener(f"127.0.0.1:{port}")
        require_listener(f"ray://127.0.0.1:{port}")
    require_listener("auto")
    for nobody in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}"):
        with pytest.raises(OSError, match="refused"):
            require_listener(nobody)


def test_without_ray_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(ParameterError, match=r"ballotine\[ray\]"):
        make_engine("ray")
