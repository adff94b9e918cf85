"""Laws and costs against mpmath: 30 digits, Gauss–Legendre panels, no code in common."""

import functools
import itertools

import mpmath as mp
import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss

from ballotine.privacy import exact

ORDERS = [1.001, 1.5, 2.0, 7.5, 32.0, 64.0, 300.0]


@functools.cache
def panel():
    """Nodes and weights of the 24-point rule on [-1, 1], polished to 30 digits."""
    rule = []
    for guess in leggauss(24)[0]:
        x = mp.mpf(float(guess))
        for _ in range(2):
            slope = 24 * (mp.legendre(23, x) - x * mp.legendre(24, x)) / (1 - x * x)
            x -= mp.legendre(24, x) / slope
        slope = 24 * mp.legendre(23, x) / (1 - x * x)
        rule.append((x, 2 / ((1 - x * x) * slope**2)))
    return rule


@pytest.fixture(autouse=True)
def _thirty_digits():
    with mp.workdps(30):
        yield


class Oracle:
    """The law of argmax(counts + N(0, σ²)) on panels two standard deviations wide."""

    def __init__(self, counts, sigma, reach=13):
        self.sigma = mp.mpf(sigma)
        self.counts = [mp.mpf(float(count)) for count in counts]
        low = (min(self.counts) + max(self.counts)) / 2 - reach * self.sigma
        panels = int(mp.ceil((max(self.counts) + reach * self.sigma - low) / (2 * self.sigma)))
        self.points = [
            (low + self.sigma * (2 * number + 1 + x), weight)
            for number in range(panels)
            for x, weight in panel()
        ]
        self._columns = {}

    def column(self, count):
        """Density and distribution function of one noisy count at every point."""
        if count not in self._columns:
            scaled = [(x - count) / self.sigma for x, _ in self.points]
            self._columns[count] = [(mp.npdf(z), mp.ncdf(z)) for z in scaled]
        return self._columns[count]

    def law(self, counts=None):
        columns = [self.column(count) for count in (counts or self.counts)]
        totals = [mp.mpf(0)] * len(columns)
        for number, (_, weight) in enumerate(self.points):
            cells = [column[number] for column in columns]
            everyone = weight * mp.fprod(cdf for _, cdf in cells)
            for name, (pdf, cdf) in enumerate(cells):
                totals[name] += everyone * pdf / cdf
        return totals

    def neighbours(self, weight):
        weight = mp.mpf(weight)
        for loser, gainer in itertools.permutations(range(len(self.counts)), 2):
            if self.counts[loser] >= weight:
                moved = list(self.counts)
                moved[loser] -= weight
                moved[gainer] += weight
                yield moved


def divergence(p, q, order):
    order = mp.mpf(order)
    total = mp.fsum(a * (a / b) ** (order - 1) for a, b in zip(p, q, strict=True))
    return mp.log(total) / (order - 1)


def two_sided(law, others, order):
    return max(max(divergence(law, q, order), divergence(q, law, order)) for q in others)


def assert_just_above(costs, truths):
    """Costs lie in [true, true (1 + 1e-9) + 1e-11]."""
    for cost, true in zip(costs, truths, strict=True):
        assert true <= mp.mpf(float(cost)) <= true * (1 + mp.mpf("1e-9")) + mp.mpf("1e-11")


def test_the_oracle_agrees_with_a_closed_form():
    law = Oracle([9.0, 4.0], 2.0).law()
    closed = mp.ncdf(5 / (2 * mp.sqrt(2)))
    assert abs(law[0] / closed - 1) < mp.mpf("1e-25")
    assert abs(law[1] / (1 - closed) - 1) < mp.mpf("1e-22")


LAWS = [
    ([3, 3], 0.5),
    ([250, 0, 0, 0, 0, 0, 0, 0, 0, 0], 40.0),
    ([25, 25, 25, 25, 25, 25, 25, 25, 25, 25], 40.0),
    ([200, 20, 10, 8, 5, 3, 2, 1, 1, 0], 40.0),
    ([90.5, 60.25, 0.75, 0.1], 7.0),
    ([30, 30, 30, 30, 0], 3.0),
    ([12.5, 0, 0], 100.0),
    ([37, 76, 34, 37, 28, 38], 0.97),
]


@pytest.mark.parametrize(("counts", "sigma"), LAWS)
def test_law(counts, sigma):
    logs = exact.gnmax_law([counts], sigma)[0]
    for log, true in zip(logs, Oracle(counts, sigma).law(), strict=True):
        assert abs(mp.expm1(mp.mpf(float(log)) - mp.log(true))) < mp.mpf("1e-12")


@pytest.mark.parametrize(
    ("gap", "exponent"),
    [(15.0, -24), (43.0, -202), (52.0, -295), (200.0, -4346), (500.0, -27147)],
)
def test_law_far_in_the_tail(gap, exponent):
    # A third class far below must not disturb; beyond 1e-308 only the logarithm exists.
    counts, sigma = [gap * 2.5, 0.0, 0.0], 2.5
    oracle = Oracle(counts, sigma, reach=9)
    true = oracle.law()[1]
    assert int(mp.floor(mp.log10(true))) == pytest.approx(exponent, abs=8)
    log = mp.mpf(float(exact.gnmax_law([counts], sigma)[0, 1]))
    assert abs(mp.expm1(log - mp.log(true))) < mp.mpf("1e-9")


COSTS = [
    ([250, 0, 0, 0], 40.0, 1.0),
    ([200, 30, 15, 5], 40.0, 1.0),
    ([3, 2], 0.5, 1.0),
    ([4, 1, 1], 1.0, 1.0),
    ([60.3, 44.1, 20.7], 15.0, 0.3),
    ([60, 44, 20], 15.0, 20.0),
    ([30, 30, 30], 100.0, 1.0),
    ([25, 5], 1.25, 2.5),
    ([40, 35, 0], 3.0, 1.0),
    ([12, 11, 3], 0.5, 4.0),
    ([60, 5], 0.75, 1.0),
]


@pytest.mark.parametrize(("counts", "sigma", "weight"), COSTS)
def test_cost(counts, sigma, weight):
    oracle = Oracle(counts, sigma)
    others = [oracle.law(moved) for moved in oracle.neighbours(weight)]
    truths = [two_sided(oracle.law(), others, order) for order in ORDERS]
    assert_just_above(exact.gnmax([counts], ORDERS, sigma, weight)[0], truths)


def test_cost_with_many_classes_and_many_orders():
    counts, sigma = [130, 50, 31, 20, 9, 4, 3, 2, 1, 0], 40.0
    orders = np.linspace(1.2, 64.0, 30)
    oracle = Oracle(counts, sigma, reach=10)
    # Moves that touch the leader cost most here; 30 digits are too slow for all ninety.
    others = [oracle.law(moved) for moved in oracle.neighbours(1) if moved[0] != 130]
    truths = [two_sided(oracle.law(), others, float(order)) for order in orders[::10]]
    assert_just_above(exact.gnmax([counts], orders, sigma)[0, ::10], truths)


@pytest.mark.parametrize(
    ("counts", "sigma", "bar", "noise", "weight"),
    [
        ([9, 5, 1], 4.0, 8.0, 6.0, 1.0),
        ([5, 5, 2], 2.0, 5.5, 1.5, 1.0),
        ([40, 4, 0], 8.0, 90.0, 5.0, 2.0),
        ([40.2, 4.4], 8.0, 1.0, 3.0, 0.6),
    ],
)
def test_confident_cost(counts, sigma, bar, noise, weight):
    def whole(moved, law):
        z = (max(moved) - mp.mpf(bar)) / mp.mpf(noise)
        return [mp.ncdf(-z), *(mp.ncdf(z) * p for p in law)]

    oracle = Oracle(counts, sigma)
    law = whole(oracle.counts, oracle.law())
    others = [whole(moved, oracle.law(moved)) for moved in oracle.neighbours(weight)]
    truths = [two_sided(law, others, order) for order in ORDERS]
    costs = exact.confident_gnmax([counts], ORDERS, sigma, bar, noise, weight)[0]
    assert_just_above(costs, truths)


@pytest.mark.parametrize("top", [0.0, 150.0, 200.0, 249.5, 3000.0])
@pytest.mark.parametrize("weight", [0.3, 1.0, 20.0])
def test_threshold_cost(top, weight):
    def bit(count):
        z = (mp.mpf(count) - 200) / 50
        return [mp.ncdf(-z), mp.ncdf(z)]

    others = [bit(mp.mpf(top) + sign * mp.mpf(weight)) for sign in (-1, 1)]
    truths = [two_sided(bit(top), others, order) for order in ORDERS]
    assert_just_above(exact.threshold([top], 200.0, ORDERS, 50.0, weight)[0], truths)
