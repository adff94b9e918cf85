"""Laws written down once more, and how to tell whether answers follow them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy import special, stats

from ballotine.noise import SecureNoise, SeededNoise

LEVEL = 1e-8  # see `test_laws.py`
COMMON = 150
TIMES = 25_000
SOURCES = [SecureNoise(), SeededNoise(11)]
SEEDED = SeededNoise(12)
WRONG = [0.9, 1.1]
both_sources = pytest.mark.parametrize("origin", SOURCES, ids=repr)
wrong_noise = pytest.mark.parametrize("factor", WRONG)


def keys(count: int) -> list[bytes]:
    return [i.to_bytes(8, "big") for i in range(count)]


def chance(seen: np.ndarray, law: npt.ArrayLike) -> float:
    """The p-value of χ², where cells are joined until each is common."""
    expected = np.asarray(law, dtype=float) / np.sum(law) * np.sum(seen)
    cells = [[0, 0.0]]
    for number, mean in zip(seen.tolist(), expected.tolist(), strict=True):
        if cells[-1][1] >= COMMON:
            cells.append([0, 0.0])
        cells[-1] = [cells[-1][0] + number, cells[-1][1] + mean]
    if cells[-1][1] < COMMON:
        last = cells.pop()
        cells[-1] = [cells[-1][0] + last[0], cells[-1][1] + last[1]]
    assert len(cells) > 1, "a test needs at least two common cells"
    return float(stats.chisquare(*np.array(cells).T).pvalue)


def chance_of_bits(present: np.ndarray, times: np.ndarray, law: np.ndarray) -> float:
    """The p-value of independent bits that should be present so often."""
    assert np.all(np.minimum(law, 1 - law) * times > COMMON)
    deviations = (present - times * law) ** 2 / (times * law * (1 - law))
    return float(stats.chi2.sf(deviations.sum(), len(law)))


def winner_law(counts: list[float], sigma: float) -> np.ndarray:
    """P(class wins) by one-dimensional quadrature, written without the library."""

    step = sigma / 200
    x = np.arange(min(counts) - 9 * sigma, max(counts) + 9 * sigma, step)
    position = (x - np.array(counts)[:, np.newaxis]) / sigma
    below = special.ndtr(position)
    law = [
        np.sum(stats.norm.pdf(position[i]) * np.prod(np.delete(below, i, axis=0), axis=0))
        for i in range(len(counts))
    ]
    return np.array(law) * step / sigma
