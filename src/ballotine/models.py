"""Copies of estimators, and models on disk as skops files: data, never code that runs."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from sklearn.base import clone

from ballotine.errors import RunFolderError
from ballotine.files import produce_atomic

TRUSTED_ROOTS = ("sklearn.", "numpy.", "scipy.", "builtins.", "ballotine.")


def save_model(path: Path, model: Any, *, private: bool = False) -> None:
    """Write a fitted estimator."""
    import skops.io

    produce_atomic(path, lambda partial: skops.io.dump(model, partial), private=private)


def load_model(path: Path, trusted: tuple[str, ...] = ()) -> Any:
    """Read a fitted estimator back.

    Args:
        path: a file that ``save_model`` wrote.
        trusted: further modules whose types may be rebuilt, for estimators of your own.
    """
    import skops.io

    roots = TRUSTED_ROOTS + tuple(f"{name}." for name in trusted)
    try:
        unknown = skops.io.get_untrusted_types(file=path)
        foreign = [name for name in unknown if not name.startswith(roots)]
        if foreign:
            raise RunFolderError(
                f"{path} holds types that are not trusted ({', '.join(sorted(foreign)[:5])}); "
                "load it only if you know where it comes from, naming their modules as trusted"
            )
        return skops.io.load(path, trusted=unknown)
    except (zipfile.BadZipFile, KeyError, OSError) as problem:
        raise RunFolderError(f"{path} is not a readable model: {problem}") from problem


def seeded_clone(estimator: Any, seed: int) -> Any:
    """An unfitted copy whose every ``random_state`` follows from the seed."""
    model = clone(estimator)
    states = [name for name in sorted(model.get_params(deep=True)) if _is_random_state(name)]
    return model.set_params(**{name: seed + i for i, name in enumerate(states)})


def _is_random_state(name: str) -> bool:
    return name == "random_state" or name.endswith("__random_state")
