"""Output laws against closed forms and against 30 digits."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ballotine.oracle import gaussian, laplace

GAUSSIAN = [
    ((3.0, 3.0), 0.5, (1, 1)),
    ((5.0, 2.0, 0.0), 1.0, (1, 1, 1)),
    ((40.0, 3.0, 1.0), 2.5, (1, 1, 1)),
    ((12.5, 4.25, 4.25, 0.75), 6.0, (1, 1, 1, 1)),
    ((0.0, 30.0, 29.0), 1.5, (1, 1, 1)),
    ((9.0, 4.0, 0.0), 3.0, (1, 1, 6)),
    ((30.0, 2.0, 0.0), 4.0, (1, 1, 2**20)),
    ((7.0, 0.0), 2.0, (1, 2**12)),
    ((30.0, 2.0, 0.0), 4.0, (1, 1, 2**40)),
]


def law_by_mpmath(counts: tuple[float, ...], sigma: float, sizes: tuple[int, ...]) -> list[mp.mpf]:
    """The trapezoid rule, whose error falls like e^(−2π²/h²) for integrands like these."""
    centres = [mp.mpf(count) / mp.mpf(sigma) for count in counts]
    low, high, step = min(centres) - 12, max(centres) + 17, mp.mpf(1) / 24
    totals = [mp.mpf(0)] * len(centres)
    for number in range(int((high - low) / step)):
        x = low + number * step
        below = [mp.ncdf(x - centre) for centre in centres]
        everyone = mp.fprod(chance**size for chance, size in zip(below, sizes, strict=True))
        for winner, centre in enumerate(centres):
            totals[winner] += step * mp.npdf(x - centre) * everyone / below[winner]
    return totals


@pytest.mark.parametrize(("counts", "sigma", "sizes"), GAUSSIAN)
def test_gaussian_law_against_mpmath(
    counts: tuple[float, ...], sigma: float, sizes: tuple[int, ...]
) -> None:
    found = gaussian.argmax_law(counts, sigma, sizes)
    with mp.workdps(30):
        for log, truth in zip(found, law_by_mpmath(counts, sigma, sizes), strict=True):
            assert abs(mp.mpf(float(log)) - mp.log(truth)) < 1e-13 * (1 + abs(mp.log(truth)) / 100)


@pytest.mark.parametrize("gap", [0.0, 0.3, 4.0, 60.0, 900.0])
def test_two_classes_are_one_error_function(gap: float) -> None:
    loser = float(gaussian.argmax_law((gap + 1.0, 1.0), 3.0)[1])
    with mp.workdps(30):
        truth = mp.log(mp.ncdf(-mp.mpf(gap) / (3 * mp.sqrt(2))))
        assert abs(mp.mpf(loser) - truth) < 1e-13 * (1 + abs(truth) / 100)


@given(
    st.lists(st.floats(0.0, 30.0), min_size=1, max_size=8),
    st.floats(0.3, 30.0),
    st.floats(-5.0, 5.0),
)
@settings(max_examples=40, deadline=None)
def test_laws_add_up_and_know_only_differences(
    counts: list[float], sigma: float, shift: float
) -> None:
    law = gaussian.argmax_law(tuple(counts), sigma)
    assert np.logaddexp.reduce(law) == pytest.approx(0.0, abs=1e-13)
    moved = gaussian.argmax_law(tuple(count + shift for count in counts), sigma)
    np.testing.assert_allclose(moved, law, rtol=1e-9, atol=1e-12)
    order = np.argsort(counts)
    assert np.all(np.diff(law[order]) >= -1e-12)
    other = laplace.argmax_law(tuple(counts), 1.0 / sigma)
    assert np.logaddexp.reduce(other) == pytest.approx(0.0, abs=1e-12)


def test_a_group_is_as_many_classes() -> None:
    grouped = gaussian.argmax_law((6.0, 2.0, 0.0), 2.0, (1, 1, 9))
    listed = gaussian.argmax_law((6.0, 2.0, *(0.0,) * 9), 2.0)
    np.testing.assert_allclose(grouped, listed[:3], rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("gap", [0.0, 1.0, 7.5, 40.0])
@pytest.mark.parametrize("gamma", [0.1, 0.8, 2.0])
def test_two_classes_under_laplace_noise(gap: float, gamma: float) -> None:
    # PATE, Lemma 4 with two classes is an equality: (2 + γΔ)/(4 e^(γΔ)).
    loser = float(laplace.argmax_law((gap, 0.0), gamma)[1])
    closed = math.log((2.0 + gamma * gap) / 4.0) - gamma * gap
    assert loser == pytest.approx(closed, abs=1e-12)


@pytest.mark.parametrize("counts", [(3.0, 1.0, 0.0), (6.0, 6.0, 1.0, 0.0), (2.0, 9.0, 4.0)])
def test_laplace_law_against_mpmath(counts: tuple[float, ...]) -> None:
    gamma = 0.7
    with mp.workdps(30):

        def below(x: mp.mpf) -> mp.mpf:
            return mp.exp(x) / 2 if x < 0 else 1 - mp.exp(-x) / 2

        edges = [-80, *sorted(set(counts)), max(counts) + 20, 140]
        for winner, log in enumerate(laplace.argmax_law(counts, gamma)):
            truth = mp.quad(
                lambda x, winner=winner: (
                    gamma
                    * mp.exp(-gamma * abs(x - counts[winner]))
                    / 2
                    * mp.fprod(below(gamma * (x - c)) for i, c in enumerate(counts) if i != winner)
                ),
                edges,
            )
            assert float(log) == pytest.approx(float(mp.log(truth)), abs=1e-12)
