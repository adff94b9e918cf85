"""Divergences against 50 digits, from almost equal laws to very different ones."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import norm

from ballotine.oracle.divergence import error_bound, renyi

ORDERS = np.array([1.01, 1.5, 2.0, 8.0, 64.0])


def by_mpmath(p: list[mp.mpf], q: list[mp.mpf], order: float) -> mp.mpf:
    alpha = mp.mpf(float(order))
    total = mp.fsum(a**alpha * b ** (1 - alpha) for a, b in zip(p, q, strict=True))
    return mp.log(total) / (alpha - 1)


@pytest.mark.parametrize("step", [1e-9, 1e-6, 1e-3, 0.1, 3.0, 40.0])
@pytest.mark.parametrize("rare", [0.4, 1e-5, 1e-120])
def test_against_mpmath(step: float, rare: float) -> None:
    with mp.workdps(400):
        # Exact laws whose logarithms are floats: what is lost is lost in the sums alone.
        small_p, small_q = mp.mpf(rare), mp.mpf(rare) * mp.exp(-mp.mpf(step))
        p, q = [1 - small_p, small_p], [1 - small_q, small_q]
        logs = [np.array([[float(mp.log(x)) for x in law]]) for law in (p, q)]
        for first, second, one, two in ((p, q, *logs), (q, p, *logs[::-1])):
            found = renyi(one, two, ORDERS)[0]
            truths = np.array([float(by_mpmath(first, second, order)) for order in ORDERS])
            assert np.all(np.abs(found - truths) <= error_bound(truths, ORDERS))
            # The bound itself is small: nine digits of anything that matters.
            assert np.all(
                error_bound(truths, ORDERS) <= 1e-9 * truths + 1e-12 * np.sqrt(truths) + 1e-24
            )


def test_equal_laws_cost_nothing() -> None:
    law = np.log([[0.2, 0.3, 0.5]])
    assert np.all(renyi(law, law, ORDERS) == 0.0)


def test_what_only_one_law_allows() -> None:
    p, q = np.array([[-np.inf, 0.0]]), np.log([[0.25, 0.75]])
    assert np.all(np.isinf(renyi(q, p, ORDERS)))
    # D(p‖q) = −ln 0.75 at every order.
    np.testing.assert_allclose(renyi(p, q, ORDERS)[0], -np.log(0.75), rtol=1e-12)
    both = np.array([[-np.inf, *np.log([0.5, 0.5])]])
    other = np.array([[-np.inf, *np.log([0.1, 0.9])]])
    without = renyi(both[:, 1:], other[:, 1:], ORDERS)
    np.testing.assert_allclose(renyi(both, other, ORDERS), without, rtol=1e-14)


def test_many_cells_of_two_gaussians() -> None:
    """Fine cells of two shifted Gaussians come close to α s²/2, from below."""
    edges = np.concatenate(([-np.inf], np.linspace(-5.0, 5.0, 2001), [np.inf]))
    first, second = (np.log(np.diff(norm.cdf(edges, shift)))[np.newaxis] for shift in (0.0, 0.1))
    orders = np.array([2.0, 4.0])
    for found in (renyi(first, second, orders)[0], renyi(second, first, orders)[0]):
        assert np.all(found < orders * 0.1**2 / 2)
        np.testing.assert_allclose(found, orders * 0.1**2 / 2, rtol=1e-3)
