"""Features of images: how similar each region is to typical patches of public images.

Single-layer features by k-means (Coates, Ng and Lee 2011): typical patches are found in public
images without labels; an image is then described by the similarity of each of its regions to each
typical patch. Teachers with few records learn far more from these features than from pixels, and
no private record is used to find them.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data
from torch.nn import functional

from ballotine.errors import DataError, ParameterError
from ballotine.neural.predicting import row_by_row
from ballotine.types import FloatArray, Matrix

CONTRAST = 0.003
"""Added to the variance of a patch with values in [0, 1], so that flat patches stay flat."""
WHITENING = 0.1
"""Added to the variances of whitened directions, as directions of low variance are noise."""
FLOOR = 0.01
"""Added to standard deviations, so that features that hardly vary are not amplified."""
NEGLIGIBLE = 1e-6
"""Standard deviations below this are rounding errors."""
SAMPLED = 60_000
"""Number of patches sampled to find typical ones."""

Floats = NDArray[np.float32]


class PatchFeatures(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Describe images by typical patches of public images.

    Fit on public images only: the fitted features reveal information about the rows they were
    fitted on.

    Parameters:
        shape: of one image, (channels, height, width); rows hold the pixels in that order.
        patch: side of a patch in pixels.
        centres: number of typical patches.
        regions: an image is divided into regions × regions.
        components: number of principal components to keep.
        random_state: a seed; None draws one.
    """

    def __init__(
        self,
        shape: tuple[int, int, int] = (1, 28, 28),
        *,
        patch: int = 5,
        centres: int = 100,
        regions: int = 4,
        components: int = 200,
        random_state: Any = None,
    ) -> None:
        self.shape = shape
        self.patch = patch
        self.centres = centres
        self.regions = regions
        self.components = components
        self.random_state = random_state

    def fit(self, X: Matrix, y: Any = None) -> Self:  # noqa: ARG002
        """Find typical patches in public images.

        Args:
            X: public rows of pixels, all on one scale.
            y: not used.
        """
        X = validate_data(self, X, dtype=np.float32)
        self._check(X)
        random = check_random_state(self.random_state)
        self.scale_ = float(np.abs(X).max()) or 1.0
        sample = self._sample(X, random)
        self.middle_ = sample.mean(axis=0)
        values, vectors = np.linalg.eigh(np.cov(sample.T))
        self.whitening_ = ((vectors / np.sqrt(values + WHITENING)) @ vectors.T).astype(np.float32)
        self.centres_ = self._typical((sample - self.middle_) @ self.whitening_, random)
        seen = self._regions(X)
        self.mean_ = seen.mean(axis=0)
        deviation = seen.std(axis=0)
        if deviation.max() < NEGLIGIBLE:
            raise DataError(
                "the public images are all alike, so there is nothing to learn from them"
            )
        self.deviation_ = deviation + FLOOR
        found = PCA(min(self.components, *seen.shape), svd_solver="randomized", random_state=random)
        found.fit((seen - self.mean_) / self.deviation_)
        # One factor for all features: their mean variance becomes 1, their proportions stay.
        spread = math.sqrt(float(found.explained_variance_.mean()))
        self.directions_ = (found.components_.T / spread).astype(np.float32)
        return self

    def transform(self, X: Matrix) -> FloatArray:
        """Return features of images, shape (rows, components)."""
        check_is_fitted(self, "directions_")
        X = validate_data(self, X, dtype=np.float32, reset=False)
        mean, deviation = torch.from_numpy(self.mean_), torch.from_numpy(self.deviation_)
        directions = torch.from_numpy(np.ascontiguousarray(self.directions_.T))

        def described(rows: torch.Tensor) -> torch.Tensor:
            return functional.linear((self._activations(rows) - mean) / deviation, directions)

        found: FloatArray = row_by_row(described, self._rows(X)).double().numpy()
        return found

    @property
    def _n_features_out(self) -> int:
        """The number of features, for scikit-learn's feature names."""
        return int(self.directions_.shape[1])

    def _check(self, X: Floats) -> None:
        shape = tuple(self.shape)
        if len(shape) != 3 or math.prod(shape) != X.shape[1]:
            raise DataError(
                f"rows have {X.shape[1]} values, which do not form an image of shape {shape}: give "
                "shape as (channels, height, width)"
            )
        if not 2 <= self.patch <= min(shape[1:]):
            raise ParameterError(
                f"patch must be at least 2 pixels and fit into the image, got {self.patch}"
            )
        most = min(shape[1:]) - self.patch + 1
        if not 1 <= self.regions <= most:
            raise ParameterError(
                f"regions must be 1 to {most} for these patches, got {self.regions}"
            )
        if self.centres < 2 or self.components < 1:
            raise ParameterError("centres must be at least 2, and components at least 1")

    def _sample(self, X: Floats, random: np.random.RandomState) -> Floats:
        """Return random patches, normalised."""
        channels, height, width = self.shape
        images = self._images(X)
        size = max(SAMPLED, 10 * self.centres)
        rows = random.randint(len(images), size=size)
        down = random.randint(height - self.patch + 1, size=size)
        right = random.randint(width - self.patch + 1, size=size)
        span = np.arange(self.patch)
        found = images[
            rows[:, None, None, None],
            np.arange(channels)[:, None, None],
            (down[:, None] + span)[:, None, :, None],
            (right[:, None] + span)[:, None, None, :],
        ]
        flat = torch.from_numpy(np.ascontiguousarray(found.reshape(size, -1)) / self.scale_)
        normalised: Floats = _normalised(flat).numpy()
        return normalised

    def _images(self, X: Floats) -> Floats:
        channels, height, width = self.shape
        return X.reshape(-1, channels, height, width)

    def _typical(self, patches: Floats, random: np.random.RandomState) -> Floats:
        found = MiniBatchKMeans(
            self.centres, batch_size=2048, n_init=1, max_iter=30, random_state=random
        )
        centres: Floats = found.fit(patches).cluster_centers_.astype(np.float32)
        return centres

    def _regions(self, X: Floats) -> Floats:
        """Return the similarity of each region of each image to each typical patch."""
        near: Floats = row_by_row(self._activations, self._rows(X)).numpy()
        return near

    def _rows(self, X: Floats) -> torch.Tensor:
        return torch.from_numpy(self._images(X) / np.float32(self.scale_))

    def _activations(self, images: torch.Tensor) -> torch.Tensor:
        patches = functional.unfold(images, self.patch).transpose(1, 2).contiguous()
        centres = torch.from_numpy(self.centres_)
        white = functional.linear(
            _normalised(patches) - torch.from_numpy(self.middle_),
            torch.from_numpy(self.whitening_.T),
        )
        distances = _distances(white, centres)
        near = functional.relu(distances.mean(dim=2, keepdim=True) - distances)
        down, right = (side - self.patch + 1 for side in images.shape[2:])
        grid = near.transpose(1, 2).reshape(len(images), len(centres), down, right)
        return functional.adaptive_avg_pool2d(grid, self.regions).flatten(1)


def _distances(points: torch.Tensor, centres: torch.Tensor) -> torch.Tensor:
    """Return Euclidean distances of points to centres, by |p|² + |c|² − 2 p·c."""
    squares = functional.linear(points, -2 * centres, centres.square().sum(dim=1))
    squares += points.square().sum(dim=-1, keepdim=True)
    return squares.clamp(min=0).sqrt()


def _normalised(patches: torch.Tensor) -> torch.Tensor:
    """Remove the brightness of patches and equalise their contrast."""
    centred = patches - patches.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    return centred / torch.sqrt(variance + CONTRAST)
