"""Copies of estimators, and models on disk as skops files: data, never code that runs."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sklearn.base import clone

from ballotine.archives import check_archive
from ballotine.errors import MissingExtraError, RunFolderError
from ballotine.estimators import added_types, shipped_types
from ballotine.files import produce_atomic
from ballotine.text import printable

PARTS = frozenset(
    {
        "ballotine.neural.augment.RotateShift",
        "ballotine.neural.augment.StrongChange",
        "ballotine.neural.augment.SwapFeatures",
        "ballotine.students.features.FeaturedModel",
        "ballotine.students.student.Student",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
        "sklearn.gaussian_process.kernels.ConstantKernel",
        "sklearn.gaussian_process.kernels.Product",
        "sklearn.gaussian_process.kernels.RBF",
        "sklearn.metrics._dist_metrics.ChebyshevDistance64",
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
        "sklearn.metrics._dist_metrics.ManhattanDistance64",
        "sklearn.neighbors._ball_tree.BallTree",
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.tree._tree.Tree",
    }
)
"""Types that fitted estimators hold beyond those skops trusts itself: a list of exact
names, because a whole package always contains something that can be made to run code."""
TRUSTED = PARTS | shipped_types()
"""The same with every estimator of ours that has a short name."""


def save_model(path: Path, model: Any, *, private: bool = False) -> None:
    """Write a fitted estimator."""
    import skops.io

    produce_atomic(path, lambda stream: skops.io.dump(model, stream), private=private)


def load_model(path: Path, trusted: Collection[str] = ()) -> Any:
    """Read a fitted estimator from a file that may come from anybody.

    Args:
        path: a file that ``save_model`` wrote.
        trusted: full names of further types that may be rebuilt, for estimators of your own.
    """
    content = _read(path)
    found = _unknown_types(path, content)
    foreign = sorted(set(found) - TRUSTED - set(trusted))
    if foreign:  # only now are the classes of other packages imported
        foreign = sorted(set(foreign) - added_types())
    if foreign:
        shown = ", ".join(printable(name) for name in foreign[:5])
        raise RunFolderError(
            f"{path} holds types that are not trusted ({shown}); load it only if you know "
            "where it comes from, naming these types as trusted"
        )
    return _rebuilt(path, content, found)


def load_own_model(path: Path) -> Any:
    """Read a model that this run wrote into its own private folder.

    Whoever can write there holds the teachers and the ballots already.
    """
    content = _read(path)
    return _rebuilt(path, content, _unknown_types(path, content))


def _read(path: Path) -> bytes:
    """The whole file, once: what was checked is what is loaded, whoever writes meanwhile."""
    with _readable(path):
        content = path.read_bytes()
        check_archive(io.BytesIO(content))
    return content


def _rebuilt(path: Path, content: bytes, trusted: list[str]) -> Any:
    import skops.io

    with _readable(path):
        return skops.io.loads(content, trusted=trusted)


def _unknown_types(path: Path, content: bytes) -> list[str]:
    import skops.io

    with _readable(path):
        return [str(name) for name in skops.io.get_untrusted_types(data=content)]


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """A damaged or forged file can fail anywhere in the loader, so other errors are the file's."""
    try:
        yield
    except MissingExtraError:
        raise
    except OSError as problem:
        raise RunFolderError(
            f"{path} cannot be read as a model: {problem.strerror or type(problem).__name__}"
        ) from problem
    except Exception as problem:
        raise RunFolderError(
            f"{path} is not a readable model ({type(problem).__name__}): restore it, or make it "
            "again"
        ) from problem


def seeded_clone(estimator: Any, seed: int) -> Any:
    """An unfitted copy whose every ``random_state`` follows from the seed."""
    model = clone(estimator)
    states = [name for name in sorted(model.get_params(deep=True)) if _is_random_state(name)]
    return model.set_params(**{name: seed + i for i, name in enumerate(states)})


def _is_random_state(name: str) -> bool:
    return name == "random_state" or name.endswith("__random_state")
