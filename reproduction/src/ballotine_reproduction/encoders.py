"""Features that public rows alone define: they cost no privacy."""

from __future__ import annotations

import numpy as np

from ballotine.types import FloatArray, Matrix
from ballotine_reproduction.pool import Encoder

COMPONENTS = 100


def principal_directions(X_public: Matrix, most: int) -> tuple[Matrix, FloatArray, float]:
    """The mean of the public rows, their first principal directions, and their length there.

    The length is the root mean square of the centred rows, projected to the directions.
    """
    centre = X_public.mean(axis=0)
    shifted = (X_public - centre).astype(np.float64)
    values, vectors = np.linalg.eigh(shifted.T @ shifted)
    directions = vectors[:, np.argsort(values)[::-1][:most]]
    return centre, directions, float(np.sqrt(np.mean(np.sum((shifted @ directions) ** 2, axis=1))))


def public_components(X_public: Matrix, most: int = COMPONENTS) -> Encoder:
    """Principal components of the public rows, of mean square length 1 there."""
    centre, directions, length = principal_directions(X_public, most)

    def encode(X: Matrix) -> FloatArray:
        found: FloatArray = (X - centre) @ directions / length
        return found

    return encode


def public_standard(X_public: Matrix) -> Encoder:
    """Columns centred and scaled as the public rows say, of mean square length 1 there."""
    centre, deviation = X_public.mean(axis=0), X_public.std(axis=0)
    scale = np.where(deviation > 0, deviation, 1.0) * np.sqrt(max(1, int((deviation > 0).sum())))

    def encode(X: Matrix) -> FloatArray:
        found: FloatArray = (X - centre) / scale
        return found

    return encode
