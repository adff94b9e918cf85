"""Experiments are tested on made-up sets, whatever this machine has downloaded before."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits

from tests.conftest import homes  # noqa: F401  the real holder's keys stay out of all tests


@pytest.fixture(scope="session", autouse=True)
def empty_data_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No named set is found in the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("BALLOTINE_DATA", raising=False)
        yield


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Matrices here are so small that several threads would only wait for each other."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with threadpool_limits(1):
        yield
    torch.set_num_threads(before)
