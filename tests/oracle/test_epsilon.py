"""Exact privacy profiles."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from ballotine.oracle import epsilon as exactly


@pytest.mark.parametrize("shift", [0.05, 0.7, 3.0])
@pytest.mark.parametrize("eps", [0.0, 0.3, 2.0])
def test_gaussian_delta_is_an_integral(shift: float, eps: float) -> None:
    with mp.workdps(30):
        # Where the density ratio e^(sx − s²/2) exceeds e^ε.
        start = mp.mpf(eps) / shift + mp.mpf(shift) / 2
        truth = mp.quad(
            lambda x: mp.npdf(x - shift) - mp.exp(eps) * mp.npdf(x), [start, start + 5, mp.inf]
        )
        assert exactly.gaussian_delta(eps, shift) == pytest.approx(float(truth), rel=1e-9)


@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.01])
def test_epsilon_inverts_delta(delta: float) -> None:
    for shift in (0.1, 1.0, 5.0):
        eps = exactly.gaussian_epsilon(delta, shift)
        assert exactly.gaussian_delta(eps, shift) == pytest.approx(delta, rel=1e-6)
    eps = exactly.response_epsilon(delta, 0.5, 30)
    assert exactly.response_delta(eps, 0.5, 30) == pytest.approx(delta, rel=1e-6)


def test_what_needs_no_epsilon() -> None:
    assert exactly.gaussian_epsilon(0.3, 0.01) == 0.0
    assert exactly.response_epsilon(0.5, 0.01, 1) == 0.0


@pytest.mark.parametrize("delta", [1e-9, 0.01, 0.2])
def test_one_response_in_closed_form(delta: float) -> None:
    # δ = (e^s − e^ε)/(1 + e^s), solved for ε.
    closed = math.log(math.exp(2.0) - delta * (1.0 + math.exp(2.0)))
    assert exactly.response_epsilon(delta, 2.0, 1) == pytest.approx(closed, rel=1e-9)


def test_responses_against_all_sequences() -> None:
    p = 1.0 / (1.0 + math.exp(-0.8))
    outcomes = [
        (p**j * (1 - p) ** (6 - j), (1 - p) ** j * p ** (6 - j), math.comb(6, j)) for j in range(7)
    ]
    truth = sum(number * max(0.0, a - math.exp(1.1) * b) for a, b, number in outcomes)
    assert exactly.response_delta(1.1, 0.8, 6) == pytest.approx(truth, rel=1e-12)
    order = 3.5
    total = sum(number * a**order * b ** (1 - order) for a, b, number in outcomes)
    found = exactly.response_renyi(np.array([order]), 0.8, 6)[0]
    assert found == pytest.approx(math.log(total) / (order - 1.0), rel=1e-12)
