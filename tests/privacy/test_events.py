"""Events: costs against plain integration of the worst pair."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from ballotine.errors import ParameterError
from ballotine.privacy.events import ClippedSum, GaussianArgmax, GaussianCheck


def divergence(order: float, shift: float, sigma: float) -> float:
    """Rényi divergence between N(0, σ²) and N(shift, σ²), by quadrature."""

    def integrand(x: float) -> float:
        log_p, log_q = stats.norm.logpdf(x, 0, sigma), stats.norm.logpdf(x, shift, sigma)
        return float(np.exp(order * log_p + (1 - order) * log_q))

    peak = (1 - order) * shift
    value = integrate.quad(integrand, peak - 12 * sigma, peak + 12 * sigma, points=[peak])[0]
    return float(np.log(value) / (order - 1))


@pytest.mark.parametrize("multiplier", [0.7, 2.0, 9.0])
@pytest.mark.parametrize("order", [1.5, 2.0, 6.0])
def test_a_clipped_sum_costs_what_its_worst_pair_costs(multiplier: float, order: float) -> None:
    """Updates of norm C = 1 that point in opposite directions: the sum moves by 2."""
    claimed = ClippedSum(multiplier).cost(np.array([order]))[0]
    worst = max(divergence(order, shift, multiplier) for shift in (-2.0, -1.3, 1.0, 2.0))
    assert worst <= claimed * (1 + 1e-9)
    assert worst > 0.95 * claimed, "a constant 5 % too small would be noticed"


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_events_refuse_what_protects_nobody(bad: float) -> None:
    for make in (ClippedSum, GaussianCheck, lambda sigma: GaussianArgmax(sigma, 3)):
        with pytest.raises(ParameterError):
            make(bad)
    with pytest.raises(ParameterError, match="two classes"):
        GaussianArgmax(1.0, 1)
