"""Sources of randomness: the operating system, or a seed for experiments.

Both sources return raw 64-bit words and share one transformation into Gaussian and Laplace
noise, so a statistical test of one is a test of the other. Noise is drawn *per query*: a seeded
source derives it from (seed, query key), which makes a seeded run independent of chunking,
order and interruptions. A secure source ignores the key.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from scipy.special import ndtri

from ballotine.errors import ParameterError
from ballotine.types import FloatArray, WordArray


class NoiseSource(Protocol):
    """A source of random words for mechanisms and partitions."""

    @property
    def seeded(self) -> bool:
        """True when anyone who knows the seed can remove the noise."""

    def words(self, purpose: str, key: bytes, count: int) -> bytes:
        """Return ``count`` 64-bit words as bytes, for one purpose and one key."""


class SecureNoise:
    """Randomness from the operating system's cryptographic generator (the default)."""

    seeded = False

    def words(self, purpose: str, key: bytes, count: int) -> bytes:  # noqa: ARG002
        """Return fresh words; purpose and key are ignored."""
        return secrets.token_bytes(8 * count)

    def __repr__(self) -> str:
        return "SecureNoise()"


class SeededNoise:
    """Reproducible words, for experiments only: anyone who knows the seed can remove the noise."""

    seeded = True

    def __init__(self, seed: int) -> None:
        if seed < 0:
            raise ParameterError(f"a seed must be 0 or more, got {seed}")
        self._prefix = b"ballotine/noise/1\0" + str(seed).encode() + b"\0"

    def words(self, purpose: str, key: bytes, count: int) -> bytes:
        """Return the same words for the same (seed, purpose, key) every time."""
        label = purpose.encode()
        stream = self._prefix + len(label).to_bytes(4, "big") + label + key
        return hashlib.shake_256(stream).digest(8 * count)

    def __repr__(self) -> str:
        return "SeededNoise()"


def source(seed: int | None) -> NoiseSource:
    """Return the secure source, or a seeded one if a seed is given."""
    return SecureNoise() if seed is None else SeededNoise(seed)


class QueryNoise:
    """Noise for a batch of queries; each call draws fresh noise for all of them."""

    def __init__(self, origin: NoiseSource, keys: Sequence[bytes]) -> None:
        self._origin = origin
        self._keys = keys
        self._calls = 0

    def gaussian(self, scale: float, columns: int) -> FloatArray:
        """Draw independent N(0, scale²) noise, shape (queries, columns)."""
        check_noise_scale(scale)
        return scale * gaussian_from_words(self._draw(columns))

    def laplace(self, scale: float, columns: int) -> FloatArray:
        """Draw independent Laplace noise of this scale, shape (queries, columns)."""
        check_noise_scale(scale)
        return scale * laplace_from_words(self._draw(columns))

    def exponential(self, columns: int) -> FloatArray:
        """Draw independent −ln u of uniform u, shape (queries, columns)."""
        return exponential_from_words(self._draw(columns))

    def integers(self, bits: int) -> list[int]:
        """Draw one integer for each query, uniform from 0 to 2^bits − 1."""
        words = -(-bits // 64)
        drawn = self._draw(words)
        return [int.from_bytes(row.tobytes(), "little") >> (64 * words - bits) for row in drawn]

    def _draw(self, columns: int) -> WordArray:
        purpose = f"query/{self._calls}"
        self._calls += 1
        if self._origin.seeded:
            raw = b"".join(self._origin.words(purpose, key, columns) for key in self._keys)
        else:
            raw = self._origin.words(purpose, b"", columns * len(self._keys))
        return np.frombuffer(raw, dtype="<u8").reshape(len(self._keys), columns)


SMALLEST_SCALE, LARGEST_SCALE = 1e-100, 1e100
"""Outside this range, squares and costs overflow or underflow."""


def check_noise_scale(scale: float) -> None:
    """Raise ParameterError unless the noise scale is positive and within range."""
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:  # also refuses NaN
        raise ParameterError(
            f"a noise scale must be positive, from {SMALLEST_SCALE:g} to {LARGEST_SCALE:g}, got "
            f"{scale}"
        )


def sign_and_uniform(words: WordArray) -> tuple[FloatArray, FloatArray]:
    """Return a fair sign from the lowest bit and a uniform in (0, 1) from the other 63.

    The uniform has a fine resolution near 0, which determines the tails; a plain 53-bit uniform
    would cut them off at eight standard deviations and make one side coarser.
    """
    sign = 1.0 - 2.0 * (words & np.uint64(1)).astype(np.float64)
    uniform = ((words >> np.uint64(1)).astype(np.float64) + 0.5) * 2.0**-63
    return sign, np.minimum(uniform, 1.0 - 2.0**-53)


def gaussian_from_words(words: WordArray) -> FloatArray:
    """Return standard normal noise by inversion of the half-normal tail."""
    sign, uniform = sign_and_uniform(words)
    result: FloatArray = -sign * ndtri(uniform / 2)
    return result


def laplace_from_words(words: WordArray) -> FloatArray:
    """Return standard Laplace noise by inversion of the exponential tail."""
    sign, uniform = sign_and_uniform(words)
    result: FloatArray = -sign * np.log(uniform)
    return result


def exponential_from_words(words: WordArray) -> FloatArray:
    """Return standard exponential noise −ln u, where u has a fine resolution at both ends.

    Small values are as accurate as large ones, so both tails are accurate.
    """
    sign, uniform = sign_and_uniform(words)
    result: FloatArray = np.where(sign > 0, -np.log(uniform / 2), -np.log1p(-uniform / 2))
    return result
