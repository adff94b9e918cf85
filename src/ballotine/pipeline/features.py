"""What teachers and student get of rows: all columns, or features learnt from public rows."""

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
"""Single precision, added up in another order, stays well within."""
ROW_BY_ROW = "the features of a row follow from that row and from public rows alone"


@dataclass(frozen=True, eq=False)
class Features:
    """Rows as teachers and student take them: as they are, or as features.

    Attributes:
        X_private, X_public: the rows of the data set.
        transformer: fitted on public rows; None where rows are taken as they are.
        identity: tells feature steps apart, by settings and by the rows fitted on; empty for none.
    """

    X_private: Matrix
    X_public: Matrix
    transformer: Any = None
    identity: str = ""

    def name(self, ensemble: bytes) -> bytes:
        """An ensemble's name in query ids: other features, other votes."""
        return (
            hashlib.sha256(ensemble + self.identity.encode()).digest()
            if self.identity
            else ensemble
        )

    def transform(self, X: Matrix) -> Matrix:
        """Further rows, as the same features."""
        return X if self.transformer is None else transform_rows(self.transformer, X)

    def wrap(self, model: Any) -> Any:
        """A student that takes rows as they are."""
        if self.transformer is None:
            return model
        return FeaturedModel(self.transformer, model)


def make_features(section: FeaturesSection, dataset: Dataset, progress: Progress) -> Features:
    """Fit on public rows, then transform all of them; private rows have no part in the fit."""
    if section.kind is None:
        return Features(dataset.X_private, dataset.X_public)
    options = _shaped(section, dataset)
    with progress.stage("features", 3) as advance:
        # Nothing is protected by this seed; it gives a resumed run the same features.
        found = seeded_clone(make_transformer(section.kind, options, "features"), 0)
        try:
            found.fit(dataset.X_public)
        except ValueError as problem:  # what is wrong with public rows may be told
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
    """What a guarantee rests on when the transformer is not one of ours."""
    return () if section.kind is None or section.kind in TRANSFORMERS.shipped else (ROW_BY_ROW,)


def transform_rows(transformer: Any, X: Matrix) -> Matrix:
    """Features as numbers in rows, or a clear error that shows none of them."""
    try:
        found = np.asarray(transformer.transform(X), dtype=np.float64)
    except Exception:  # a transformer of the user's own may repeat a private cell
        raise DataError("[features] the transformer cannot take these rows") from None
    if found.ndim != 2 or len(found) != len(X) or not np.isfinite(found).all():
        raise DataError("[features] the transformer does not give a row of numbers for each row")
    return found


def _check_row_by_row(transformer: Any, X: Matrix, whole: Matrix) -> None:
    """Refuse features of a row that depend on the rows beside it.

    One private record would then reach the features of all others, and so every teacher.
    """
    few = np.unique(np.linspace(0, len(X) - 1, CHECKED).astype(int))
    alone = np.concatenate([transform_rows(transformer, X[[row]]) for row in few])
    if alone.shape != whole[few].shape or not np.allclose(
        alone, whole[few], rtol=SAME, atol=SAME * max(1.0, float(np.abs(whole).max()))
    ):
        raise DataError(
            "[features] the transformer gives a row other features when it stands alone; "
            "features of a row must follow from that row and from what was learnt of public rows"
        )


def _shaped(section: FeaturesSection, dataset: Dataset) -> dict[str, Any]:
    """The options, with the shape of images where the data set knows it."""
    if section.kind != "patches" or dataset.image_shape is None:
        return section.options
    return {"shape": dataset.image_shape} | section.options
