"""One layout of images: a row holds the channels one after the other, each line by line.

A row of shape (channels, height, width) is what networks, patches and augmentation reshape it
to. Pictures are published the other way round, with the channels of each pixel together; named
sets are turned where they are read, after their checksums were compared.
"""

from __future__ import annotations

from ballotine.types import Matrix

ImageShape = tuple[int, int, int]
"""Channels, height, width."""


def channels_first(X: Matrix, shape: ImageShape) -> Matrix:
    """Rows with the channels of each pixel together, turned to rows of channels.

    Args:
        X: rows as pictures are published, (height, width, channels) each.
        shape: of an image, channels first.
    """
    channels, height, width = shape
    if channels == 1:
        return X
    return X.reshape(-1, height, width, channels).transpose(0, 3, 1, 2).reshape(X.shape)


def channels_last(X: Matrix, shape: ImageShape) -> Matrix:
    """The way back: rows as pictures are published."""
    channels, height, width = shape
    if channels == 1:
        return X
    return X.reshape(-1, channels, height, width).transpose(0, 2, 3, 1).reshape(X.shape)
