"""Noise: the right law, far into the tails, from both sources."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ballotine.errors import ParameterError
from ballotine.noise import (
    NoiseSource,
    QueryNoise,
    SecureNoise,
    SeededNoise,
    exponential_from_words,
    gaussian_from_words,
    laplace_from_words,
    source,
)

SOURCES = [SecureNoise(), SeededNoise(7)]
LEVEL = 1e-7  # secure noise differs from run to run: nothing may fail by chance


def keys(count: int) -> list[bytes]:
    return [i.to_bytes(8, "big") for i in range(count)]


@pytest.mark.parametrize("origin", SOURCES, ids=repr)
def test_noise_follows_its_law(origin: NoiseSource) -> None:
    noise = QueryNoise(origin, keys(4000))
    gaussian = noise.gaussian(3.0, 10).ravel()
    laplace = noise.laplace(0.5, 10).ravel()
    exponential = noise.exponential(10).ravel()
    assert stats.kstest(gaussian, stats.norm(scale=3.0).cdf).pvalue > LEVEL
    assert stats.kstest(laplace, stats.laplace(scale=0.5).cdf).pvalue > LEVEL
    assert stats.kstest(exponential, stats.expon.cdf).pvalue > LEVEL


@pytest.mark.parametrize("origin", SOURCES, ids=repr)
@pytest.mark.parametrize("bits", [3, 64, 100, 192])
def test_integers_are_uniform(bits: int, origin: NoiseSource) -> None:
    drawn = QueryNoise(origin, keys(8000)).integers(bits)
    assert all(0 <= one < 2**bits for one in drawn)
    for shift in (bits - 3, 0):  # the three highest bits, and the three lowest
        eighths = np.bincount([(one >> shift) & 7 for one in drawn], minlength=8)
        assert stats.chisquare(eighths).pvalue > LEVEL


@pytest.mark.parametrize("origin", SOURCES, ids=repr)
def test_columns_and_calls_are_independent(origin: NoiseSource) -> None:
    noise = QueryNoise(origin, keys(20_000))
    first, second = noise.gaussian(1.0, 2), noise.gaussian(1.0, 2)
    together = np.hstack([first, second])
    correlation = np.corrcoef(together.T) - np.eye(4)
    assert np.abs(correlation).max() < 6.5 / np.sqrt(20_000)


def test_tails_reach_where_they_should() -> None:
    """The word with the smallest 63-bit part is the largest noise; its sign is the low bit."""
    words = np.array([0, 1, 2**64 - 1, 2**64 - 2], dtype=np.uint64)
    gaussian = gaussian_from_words(words)
    expected = stats.norm.isf(2.0**-65)
    assert gaussian[:2] == pytest.approx([expected, -expected])
    assert np.abs(gaussian[2:]).max() < 1e-15
    assert laplace_from_words(words)[:2] == pytest.approx([64 * np.log(2), -64 * np.log(2)])
    assert np.all(np.isfinite(laplace_from_words(words)))
    # Small exponentials are as accurate as large ones.
    exponential = exponential_from_words(words)
    assert exponential[:2] == pytest.approx([65 * np.log(2), 2.0**-65], rel=1e-12)
    assert exponential[2:] == pytest.approx([np.log(2), np.log(2)])


def test_a_seed_gives_the_same_noise_whatever_the_chunks() -> None:
    assert QueryNoise(SeededNoise(1), keys(3)).integers(90) == [
        one for key in keys(3) for one in QueryNoise(SeededNoise(1), [key]).integers(90)
    ]
    whole = QueryNoise(SeededNoise(1), keys(10)).gaussian(1.0, 3)
    parts = [QueryNoise(SeededNoise(1), keys(10)[i : i + 3]).gaussian(1.0, 3) for i in (0, 3, 6, 9)]
    assert np.array_equal(whole, np.vstack(parts))
    other = QueryNoise(SeededNoise(2), keys(10)).gaussian(1.0, 3)
    assert not np.any(whole == other)


def test_secure_noise_does_not_repeat() -> None:
    draws = [QueryNoise(SecureNoise(), keys(5)).gaussian(1.0, 3) for _ in range(2)]
    assert not np.any(draws[0] == draws[1])
    assert not SecureNoise().seeded
    assert source(None).seeded is False
    assert source(0).seeded is True


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_a_scale_that_protects_nobody_is_refused(scale: float) -> None:
    with pytest.raises(ParameterError, match="noise scale"):
        QueryNoise(SecureNoise(), keys(1)).gaussian(scale, 2)
    with pytest.raises(ParameterError):
        SeededNoise(-1)
