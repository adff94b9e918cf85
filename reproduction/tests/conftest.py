"""Experiments are tested on made-up sets, whatever this machine has downloaded before."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import ballotine, homes  # noqa: F401  fixtures that both suites share


@pytest.fixture(scope="session", autouse=True)
def empty_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No named set is found in the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield
