"""Seeded copies of estimators, and models stored as skops files, which run no code on loading."""

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
"""Types that fitted estimators contain and skops does not trust by itself. Exact names, because
any whole package contains something that can be made to run code."""
TRUSTED = PARTS | shipped_types()
"""The same, plus Ballotine's own estimators that have a short name."""


def save_model(path: Path, model: Any, *, private: bool = False) -> None:
    """Write a fitted estimator."""
    import skops.io

    produce_atomic(path, lambda stream: skops.io.dump(model, stream), private=private)


def load_model(path: Path, trusted: Collection[str] = ()) -> Any:
    """Read a fitted estimator from an untrusted file.

    Args:
        path: a file that ``save_model`` wrote.
        trusted: full names of further types to allow, for your own estimators.
    """
    content = _read(path)
    found = _unknown_types(path, content)
    foreign = sorted(set(found) - TRUSTED - set(trusted))
    if foreign:  # classes of other packages are imported only if needed
        foreign = sorted(set(foreign) - added_types())
    if foreign:
        shown = ", ".join(printable(name) for name in foreign[:5])
        raise RunFolderError(
            f"{path} contains types that are not trusted ({shown}); if you know where the file "
            "comes from, load it with these types as trusted"
        )
    return _rebuilt(path, content, found)


def load_own_model(path: Path) -> Any:
    """Read a model that this run wrote into its own private folder.

    Anyone who can write there already has the teachers and the ballots.
    """
    content = _read(path)
    return _rebuilt(path, content, _unknown_types(path, content))


def _read(path: Path) -> bytes:
    """Read the whole file once, so that what was checked is what is loaded."""
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
    """Report any other error as the file's: a damaged one can fail anywhere in the loader."""
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
            f"{path} is not a readable model ({type(problem).__name__}): restore it, or create it "
            "again"
        ) from problem


def seeded_clone(estimator: Any, seed: int) -> Any:
    """Return an unfitted copy with every ``random_state`` derived from the seed."""
    model = clone(estimator)
    states = [name for name in sorted(model.get_params(deep=True)) if _is_random_state(name)]
    return model.set_params(**{name: seed + i for i, name in enumerate(states)})


def _is_random_state(name: str) -> bool:
    return name == "random_state" or name.endswith("__random_state")
