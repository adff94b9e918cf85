"""Every small tally and every neighbour: true divergences against the claimed costs.

The output laws come from plain quadrature written for this file, independent of the code under
test.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import norm

from ballotine.privacy import published, tight

Array = npt.NDArray[np.float64]
Tally = tuple[float, ...]
Law = Callable[[Tally, float], Array]

ORDERS = np.array([1.5, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])


def tallies(teachers: int, classes: int) -> Iterator[Tally]:
    for votes in itertools.product(range(teachers + 1), repeat=classes):
        if sum(votes) == teachers:
            yield tuple(float(v) for v in votes)


def small_tallies() -> Iterator[Tally]:
    for classes in (2, 3):
        for teachers in range(1, 9):
            yield from tallies(teachers, classes)


def neighbours(tally: Tally) -> Iterator[Tally]:
    for giver, taker in itertools.permutations(range(len(tally)), 2):
        if tally[giver] >= 1.0:
            moved = list(tally)
            moved[giver] -= 1.0
            moved[taker] += 1.0
            yield tuple(moved)


@cache
def gaussian_law(tally: Tally, sigma: float) -> Array:
    """Log-probabilities of GNMax's winners: the trapezoid rule, exact for such integrands."""
    x = np.linspace(min(tally) - 14 * sigma, max(tally) + 14 * sigma, 1201 + 40 * int(max(tally)))
    logs = []
    for winner, votes in enumerate(tally):
        others = [other for i, other in enumerate(tally) if i != winner]
        density = norm.logpdf(x, votes, sigma) + sum(norm.logcdf(x, o, sigma) for o in others)
        logs.append(np.logaddexp.reduce(density) + np.log(x[1] - x[0]))
    return np.array(logs)


@cache
def laplace_law(tally: Tally, gamma: float) -> Array:
    """Log-probabilities of LNMax's winners: Gauss-Legendre between the kinks of the densities."""
    kinks = sorted(set(tally))
    edges = [kinks[0] - np.array([60.0, 25.0, 10.0, 4.0]) / gamma, np.array(kinks)]
    edges.append(kinks[-1] + np.array([4.0, 10.0, 25.0, 60.0]) / gamma)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    totals = np.zeros(len(tally))
    for low, high in itertools.pairwise(np.concatenate(edges)):
        x = (low + high) / 2 + (high - low) / 2 * nodes
        steps = gamma * (x - np.array(tally)[:, None])
        half = np.exp(-np.abs(steps)) / 2.0
        below = np.where(steps < 0.0, half, 1.0 - half)
        for winner in range(len(tally)):
            density = gamma * half[winner] * np.delete(below, winner, axis=0).prod(axis=0)
            totals[winner] += (high - low) / 2 * (weights @ density)
    return np.log(totals)


def divergence(p: Array, q: Array, orders: Array = ORDERS) -> Array:
    terms = orders[:, None] * p + (1.0 - orders[:, None]) * q
    total: Array = np.logaddexp.reduce(terms, axis=1)
    return total / (orders - 1.0)


def worst(tally: Tally, law: Law, noise: float, others: Iterator[Tally]) -> Array:
    """The true two-sided cost of a tally."""
    own = law(tally, noise)
    both = [np.zeros(ORDERS.size)]
    for other in others:
        their = law(other, noise)
        both += [divergence(own, their), divergence(their, own)]
    cost: Array = np.max(both, axis=0)
    return cost


def test_the_laws_are_laws() -> None:
    for tally in ((8.0, 0.0), (3.0, 2.0, 3.0), (0.0, 0.0, 1.0)):
        assert np.logaddexp.reduce(gaussian_law(tally, 1.3)) == pytest.approx(0.0, abs=1e-12)
        assert np.logaddexp.reduce(laplace_law(tally, 0.7)) == pytest.approx(0.0, abs=1e-12)
    two = gaussian_law((5.0, 2.0), 1.3)
    assert two[1] == pytest.approx(norm.logsf(3.0, scale=1.3 * np.sqrt(2.0)), rel=1e-10)
    # PATE, Lemma 4, for two classes: (2 + γΔ)/(4 e^(γΔ)).
    two = laplace_law((5.0, 2.0), 0.7)
    assert np.exp(two[1]) == pytest.approx((2 + 2.1) / (4 * np.exp(2.1)), rel=1e-10)


@pytest.mark.parametrize("sigma", [0.7, 1.0, 2.0, 5.0, 20.0])
def test_gnmax(sigma: float) -> None:
    three_cell = tight.gnmax(ORDERS, sigma)
    one_bit = tight.gnmax(ORDERS, sigma, classes=2)
    every = list(small_tallies())
    truths = np.array([worst(t, gaussian_law, sigma, neighbours(t)) for t in every])
    claims = [published.gnmax_data_dependent(t, ORDERS, sigma)[0] for t in every]
    slack = 1.0 + 1e-9
    assert np.all(truths <= np.array(claims) * slack)
    assert np.all(truths <= three_cell * slack)
    pairs = np.array([len(t) == 2 for t in every])
    assert np.all(truths[pairs] <= one_bit * slack)
    # The claims are tight: two classes come close to their supremum at moderate orders.
    assert np.max(truths[pairs] / one_bit) > 0.97


@pytest.mark.parametrize("sigma", [1.0, 3.0])
def test_gnmax_with_a_record_that_two_teachers_saw(sigma: float) -> None:
    for teachers in range(2, 8):
        for tally in tallies(teachers, 3):
            others = {two for one in neighbours(tally) for two in neighbours(one)}
            truth = worst(tally, gaussian_law, sigma, iter(sorted(others)))
            claim = published.gnmax_data_dependent(tally, ORDERS, sigma, 2.0)[0]
            assert np.all(truth <= claim * (1.0 + 1e-9))


def test_gnmax_with_consensus() -> None:
    """Larger tallies, where Theorem 6 is far below the data-independent cost."""
    ratios = []
    for top, sigma in itertools.product((20.0, 30.0, 40.0, 60.0), (4.0, 6.0, 9.0)):
        for rest in ((0.0, 0.0), (2.0, 1.0), (5.0, 0.0)):
            tally = (top, *rest)
            truth = worst(tally, gaussian_law, sigma, neighbours(tally))
            claim = published.gnmax_data_dependent(tally, ORDERS, sigma)[0]
            # Allow for the quadrature's own rounding, which matters under a strong consensus.
            ratios.append((truth - 1e-12) / claim)
    assert 0.5 < np.max(ratios) <= 1.0


@pytest.mark.parametrize("gamma", [0.1, 0.5, 1.0])
def test_lnmax(gamma: float) -> None:
    highest = 0.0
    for tally in small_tallies():
        truth = worst(tally, laplace_law, gamma, neighbours(tally))
        claim = published.lnmax(tally, ORDERS, gamma)[0]
        assert np.all(truth <= claim * (1.0 + 1e-9))
        highest = max(highest, float(np.max(truth / claim)))
    assert highest > 0.2


def check_law(gap: float, sigma: float) -> Array:
    return np.array([norm.logcdf(gap, scale=sigma), norm.logsf(gap, scale=sigma)])


@pytest.mark.parametrize("sigma", [0.8, 3.0, 15.0])
@pytest.mark.parametrize("weight", [0.5, 1.0, 4.0])
def test_threshold_checks(sigma: float, weight: float) -> None:
    level = 30.0
    supremum = tight.threshold(ORDERS, sigma, weight)
    tops = np.arange(0.0, 80.0, 0.37)
    claims = published.threshold_data_dependent(tops, level, ORDERS, sigma, weight)
    highest = 0.0
    for top, claim in zip(tops, claims, strict=True):
        own = check_law(top - level, sigma)
        for move in (-weight, -0.4 * weight, weight):
            their = check_law(top + move - level, sigma)
            for truth in (divergence(own, their), divergence(their, own)):
                assert np.all(truth <= claim * (1.0 + 1e-9))
                assert np.all(truth <= supremum)
                highest = max(highest, float(np.max(truth / supremum)))
    assert highest > 0.99
