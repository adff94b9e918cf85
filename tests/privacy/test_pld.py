"""Checks of dp-accounting's privacy-loss distributions: closed forms and composition."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from ballotine.errors import ParameterError
from ballotine.privacy import conversion, pld

pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own start-up warnings


def gaussian_delta(epsilon: float, shift: float) -> float:
    """δ(ε) of the Gaussian mechanism in closed form (Balle and Wang 2018, Theorem 8)."""
    return float(
        norm.cdf(shift / 2 - epsilon / shift)
        - np.exp(epsilon) * norm.cdf(-shift / 2 - epsilon / shift)
    )


def gaussian_epsilon(delta: float, shift: float) -> float:
    return float(brentq(lambda e: gaussian_delta(e, shift) - delta, 0.0, 200.0))


@pytest.mark.extras
@pytest.mark.parametrize("count", [1, 7, 300])
@pytest.mark.parametrize("shift", [0.05, 0.4])
def test_gaussians_compose_like_one_gaussian(shift: float, count: int) -> None:
    exact = gaussian_epsilon(1e-5, shift * np.sqrt(count))
    found = pld.epsilon([(pld.Gaussian(shift), count)], 1e-5)
    assert exact * (1 - 1e-9) <= found <= exact + 2e-3 * max(1.0, exact)


@pytest.mark.extras
def test_count_n_is_n_compositions() -> None:
    for part in (pld.Gaussian(0.3), pld.OneBit(-1.0, 0.2)):
        together = pld.epsilon([(part, 12)], 1e-4)
        apart = pld.epsilon([(part, 1)] * 12, 1e-4)
        assert together == pytest.approx(apart, abs=5e-4)


@pytest.mark.extras
@pytest.mark.parametrize("position", [-3.0, -0.2, 1.5])
def test_one_bit_equals_its_hockey_stick(position: float) -> None:
    shift, delta = 0.7, 1e-2
    p, q = norm.cdf(position), norm.cdf(position + shift)
    pairs = [(p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p)]
    exact = max(0.0, *(np.log((a - delta) / b) for a, b in pairs if a > delta))
    found = pld.epsilon([(pld.OneBit(position, shift), 1)], delta)
    assert exact <= found + 1e-9
    assert found <= exact + 5e-4


@pytest.mark.extras
def test_renyi_is_never_below_the_exact_answer() -> None:
    orders = np.linspace(1.1, 200, 4000)
    shift, count = 0.1, 200
    renyi = conversion.epsilon(orders, count * orders * shift**2 / 2, 1e-5)[0]
    exact = pld.epsilon([(pld.Gaussian(shift), count)], 1e-5)
    assert exact < renyi < 1.2 * exact


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    with pytest.raises(ParameterError, match=r"ballotine\[pld\]"):
        pld.epsilon([(pld.Gaussian(1.0), 1)], 1e-5)


def test_bad_input() -> None:
    with pytest.raises(ParameterError):
        pld.epsilon([], 1e-5)
    with pytest.raises(ParameterError):
        pld.epsilon([(pld.Gaussian(1.0), 0)], 1e-5)
