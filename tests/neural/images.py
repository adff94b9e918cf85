"""Small images of bars: the class is where the bar stands."""

from __future__ import annotations

import numpy as np

from ballotine.types import FloatArray, IntArray

SHAPE = (1, 8, 8)


def bars(rows: int, seed: int, classes: int = 3) -> tuple[FloatArray, IntArray]:
    draw = np.random.default_rng(seed)
    y = draw.integers(0, classes, rows)
    images = draw.normal(0, 0.2, (rows, 8, 8))
    images[np.arange(rows), :, 1 + 2 * y] += 1.0
    return images.reshape(rows, -1), y.astype(np.int64)
