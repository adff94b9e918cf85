"""Theorem 6 as printed, against itself at 50 digits and against what ships."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from ballotine.privacy import published
from ballotine.verification.printed import (
    error_bound,
    misprinted_condition,
    printed_condition,
    theorem6,
)


def by_mpmath(q: float, mu1: float, mu2: float, scale: float, order: float) -> mp.mpf:
    q, mu1, mu2, scale, order = (mp.mpf(v) for v in (q, mu1, mu2, scale, order))
    eps1, eps2 = mu1 / scale**2, mu2 / scale**2
    a = (1 - q) / (1 - (q * mp.exp(eps2)) ** ((mu2 - 1) / mu2))
    b = mp.exp(eps1) / q ** (1 / (mu1 - 1))
    return mp.log((1 - q) * a ** (order - 1) + q * b ** (order - 1)) / (order - 1)


@pytest.mark.parametrize(("q", "mu1", "mu2"), [(1e-9, 12.0, 8.0), (0.0786, 4.0, 11.6)])
def test_the_printed_formula(q: float, mu1: float, mu2: float) -> None:
    orders = (2.0, 3.0, 4.0)
    found = theorem6(q, mu1, mu2, 1.5, orders)
    with mp.workdps(50):
        for value, order in zip(found, orders, strict=True):
            truth = by_mpmath(q, mu1, mu2, 1.5, order)
            if mp.im(truth) == 0 and truth > 0:
                assert value == pytest.approx(float(truth), rel=1e-6)
    assert np.isinf(theorem6(q, mu1, mu2, 1.5, (13.0,))[0])


def test_it_is_what_ships_where_every_condition_holds() -> None:
    tally, sigma, orders = (60.0, 10.0, 5.0), 9.0, (1.5, 2.0, 6.0)
    q = error_bound(tally, sigma)
    mu2 = sigma * math.sqrt(-math.log(q))
    shipped = published.gnmax_data_dependent(tally, orders, sigma, two_sided=False)[0]
    assert printed_condition(q, mu2 + 1.0, mu2, sigma) >= 0.0
    np.testing.assert_allclose(theorem6(q, mu2 + 1.0, mu2, sigma, orders), shipped, rtol=1e-9)


def test_the_misprint_lets_more_pass() -> None:
    for q in (1e-6, 0.1, 0.9):
        entry = (q, 3.0, 5.0, 4.0)
        assert misprinted_condition(*entry) > printed_condition(*entry)
    assert printed_condition(0.9, 3.0, 5.0, 4.0) < 0.0 < misprinted_condition(0.9, 3.0, 5.0, 4.0)
