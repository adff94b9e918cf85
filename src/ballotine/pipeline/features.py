"""The features that teachers and student use: the raw rows, or what a transformer makes of them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from ballotine.data import Dataset
from ballotine.errors import DataError
from ballotine.estimators import TRANSFORMERS
from ballotine.models import seeded_clone
from ballotine.pipeline.estimators import make_transformer
from ballotine.pipeline.resume import digest_of
from ballotine.pipeline.sections import FeaturesSection
from ballotine.progress import Progress
from ballotine.students import FeaturedModel
from ballotine.types import Matrix

CHECKED = 5
SAME = 1e-3
"""Tolerance; single-precision sums in another order differ by much less."""
ROW_BY_ROW = "the features of a row follow from that row and from public rows alone"


@dataclass(frozen=True, eq=False)
class Features:
    """The rows of a data set, raw or transformed.

    Attributes:
        X_private, X_public: the features of the rows.
        transformer: fitted on public rows; None for raw rows.
        identity: a digest of the transformer's settings and the rows it was fitted on; empty for
            raw rows.
    """

    X_private: Matrix
    X_public: Matrix
    transformer: Any = None
    identity: str = ""

    def name(self, ensemble: bytes) -> bytes:
        """Return the ensemble's name in query ids, which depends on the features."""
        return (
            hashlib.sha256(ensemble + self.identity.encode()).digest()
            if self.identity
            else ensemble
        )

    def transform(self, X: Matrix) -> Matrix:
        """Return the features of other rows."""
        return X if self.transformer is None else transform_rows(self.transformer, X)

    def wrap(self, model: Any) -> Any:
        """Return a model that takes raw rows."""
        if self.transformer is None:
            return model
        return FeaturedModel(self.transformer, model)


def make_features(section: FeaturesSection, dataset: Dataset, progress: Progress) -> Features:
    """Fit the transformer on public rows only, then transform all rows."""
    if section.kind is None:
        return Features(dataset.X_private, dataset.X_public)
    options = _shaped(section, dataset)
    with progress.stage("features", 3) as advance:
        # The seed protects nothing; it gives a resumed run the same features.
        found = seeded_clone(make_transformer(section.kind, options, "features"), 0)
        try:
            found.fit(dataset.X_public)
        except ValueError as problem:  # an error about public rows may be shown
            raise DataError(f"[features] cannot learn from the public rows: {problem}") from problem
        advance(1)
        public = transform_rows(found, dataset.X_public)
        _check_row_by_row(found, dataset.X_public, public)
        advance(1)
        private = transform_rows(found, dataset.X_private)
        advance(1)
    identity = digest_of(section.kind, repr(sorted(options.items())), dataset.X_public)
    return Features(private, public, found, identity)


def feature_assumptions(section: FeaturesSection) -> tuple[str, ...]:
    """Return what a guarantee assumes about a transformer that does not ship with Ballotine."""
    return () if section.kind is None or section.kind in TRANSFORMERS.shipped else (ROW_BY_ROW,)


def transform_rows(transformer: Any, X: Matrix) -> Matrix:
    """Return the features of all rows; errors show no values."""
    try:
        found = np.asarray(transformer.transform(X), dtype=np.float64)
    except Exception:  # its message may contain a private value
        raise DataError("[features] the transformer fails on these rows") from None
    if found.ndim != 2 or len(found) != len(X) or not np.isfinite(found).all():
        raise DataError("[features] the transformer does not return one row of numbers per row")
    return found


def _check_row_by_row(transformer: Any, X: Matrix, whole: Matrix) -> None:
    """Refuse features that depend on other rows of the same call.

    One private record could then influence the features of all others, and so every teacher.
    """
    few = np.unique(np.linspace(0, len(X) - 1, CHECKED).astype(int))
    alone = np.concatenate([transform_rows(transformer, X[[row]]) for row in few])
    if alone.shape != whole[few].shape or not np.allclose(
        alone, whole[few], rtol=SAME, atol=SAME * max(1.0, float(np.abs(whole).max()))
    ):
        raise DataError(
            "[features] the transformer returns other features for a row when it is transformed "
            "alone; features must depend only on the row itself and on the public rows"
        )


def _shaped(section: FeaturesSection, dataset: Dataset) -> dict[str, Any]:
    """Return the options, with the shape of images if the data set has one."""
    if section.kind != "patches" or dataset.image_shape is None:
        return section.options
    return {"shape": dataset.image_shape} | section.options
