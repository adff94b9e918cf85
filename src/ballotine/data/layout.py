"""The layout of images: a row holds the channels one after the other, each line by line.

Networks, patches and augmentation reshape a row to (channels, height, width). Images are usually
published with the channels of each pixel together; named sets are converted when they are read,
after their checksums were compared.
"""

from __future__ import annotations

from ballotine.types import Matrix

ImageShape = tuple[int, int, int]
"""Channels, height, width."""


def channels_first(X: Matrix, shape: ImageShape) -> Matrix:
    """Convert rows from (height, width, channels) to (channels, height, width).

    Args:
        X: rows as published, (height, width, channels) each.
        shape: the shape of an image, channels first.
    """
    channels, height, width = shape
    if channels == 1:
        return X
    return X.reshape(-1, height, width, channels).transpose(0, 3, 1, 2).reshape(X.shape)


def channels_last(X: Matrix, shape: ImageShape) -> Matrix:
    """Convert rows from (channels, height, width) back to (height, width, channels)."""
    channels, height, width = shape
    if channels == 1:
        return X
    return X.reshape(-1, channels, height, width).transpose(0, 2, 3, 1).reshape(X.shape)
