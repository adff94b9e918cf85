"""One contract for every mechanism, and the law of each against plain quadrature."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from scipy import integrate, stats

from ballotine.errors import ParameterError
from ballotine.noise import NoiseSource, QueryNoise, SecureNoise, SeededNoise
from ballotine.oracle.laplace import argmax_law
from ballotine.types import ABSTAIN
from ballotine.voting import MECHANISMS, ConfidentGNMax, GNMax, LNMax, Mechanism, Tallies

ORDERS = np.array([1.5, 2.0, 8.0, 32.0])
SOURCES = [SecureNoise(), SeededNoise(11)]


def draw(mechanism: Mechanism, counts: list[float], times: int, origin: NoiseSource) -> np.ndarray:
    noise = QueryNoise(origin, [i.to_bytes(8, "big") for i in range(times)])
    return mechanism.release(Tallies(np.tile(counts, (times, 1))), noise)


def winner_law(counts: list[float], sigma: float) -> np.ndarray:
    """P(class wins) by one-dimensional quadrature, written without the library."""

    def integrand(x: float, i: int) -> float:
        others = [stats.norm.cdf((x - c) / sigma) for j, c in enumerate(counts) if j != i]
        return float(stats.norm.pdf((x - counts[i]) / sigma) / sigma * np.prod(others))

    low, high = min(counts) - 9 * sigma, max(counts) + 9 * sigma
    law = [integrate.quad(integrand, low, high, args=(i,))[0] for i in range(len(counts))]
    return np.array(law)


class MechanismContract:
    """What the ledger, the engine and the planner rely on."""

    mechanism: Mechanism

    def test_is_frozen_and_describes_itself(self) -> None:
        with pytest.raises(dataclasses.FrozenInstanceError):
            self.mechanism.anything = 1.0  # type: ignore[attr-defined]
        described = json.loads(self.mechanism.describe())
        kind = MECHANISMS[described.pop("mechanism")]
        assert kind(**described) == self.mechanism

    def test_every_parameter_is_part_of_its_description(self) -> None:
        for field in dataclasses.fields(self.mechanism):
            changed = dataclasses.replace(
                self.mechanism, **{field.name: getattr(self.mechanism, field.name) + 1}
            )
            assert changed.describe() != self.mechanism.describe()

    def test_costs_are_positive_and_rise_with_the_order(self) -> None:
        for event in self.mechanism.events(10):
            cost = event.cost(ORDERS)
            assert np.all(cost > 0)
            assert np.all(np.diff(cost) > 0)

    def test_realised_events_never_exceed_the_reserved_ones(self) -> None:
        answers = np.array([0, 2, ABSTAIN, 1, ABSTAIN])
        realised = self.mechanism.realised(answers, 3)
        reserved = self.mechanism.events(3)
        assert set(realised) <= set(reserved)
        assert all(times <= len(answers) for times in realised.values())
        assert sum(realised.values()) > 0

    @pytest.mark.parametrize("origin", SOURCES, ids=repr)
    def test_releases_classes_or_abstentions_only(self, origin: NoiseSource) -> None:
        answers = draw(self.mechanism, [9.0, 8.0, 3.0], 400, origin)
        assert answers.shape == (400,)
        assert answers.dtype == np.int64
        assert set(np.unique(answers)) <= {ABSTAIN, 0, 1, 2}

    def test_answers_do_not_depend_on_the_batch(self) -> None:
        origin = SeededNoise(5)
        keys = [i.to_bytes(8, "big") for i in range(30)]
        counts = np.tile([9.0, 8.0, 3.0], (30, 1))
        whole = self.mechanism.release(Tallies(counts), QueryNoise(origin, keys))
        single = [
            self.mechanism.release(Tallies(counts[:1]), QueryNoise(origin, [key]))[0]
            for key in keys
        ]
        assert whole.tolist() == single


class TestGNMax(MechanismContract):
    mechanism = GNMax(4.0)

    @pytest.mark.parametrize("origin", SOURCES, ids=repr)
    @pytest.mark.parametrize(
        "counts", [[10.0, 8.0, 2.0], [5.0, 5.0], [15.0, 3.0, 3.0, 3.0], [2.5, 1.2, 7.3, 6.6, 0.1]]
    )
    def test_frequencies_follow_the_law(self, counts: list[float], origin: NoiseSource) -> None:
        times = 20_000
        law = winner_law(counts, 4.0)
        seen = np.bincount(draw(self.mechanism, counts, times, origin), minlength=len(counts))
        assert np.all(law * times > 10), "every cell must be common enough for the test"
        assert stats.chisquare(seen, law / law.sum() * times).pvalue > 1e-4

    def test_sigma_must_protect(self) -> None:
        for sigma in (0.0, -1.0, float("nan")):
            with pytest.raises(ParameterError):
                GNMax(sigma)


class TestConfidentGNMax(MechanismContract):
    mechanism = ConfidentGNMax(4.0, threshold=8.0, sigma_threshold=3.0)

    @pytest.mark.parametrize("origin", SOURCES, ids=repr)
    @pytest.mark.parametrize("counts", [[10.0, 8.0, 2.0], [6.0, 3.0, 1.0]])
    def test_abstains_as_often_as_the_closed_form_says(
        self, counts: list[float], origin: NoiseSource
    ) -> None:
        times = 20_000
        answers = draw(self.mechanism, counts, times, origin)
        abstained = int(np.count_nonzero(answers == ABSTAIN))
        rate = float(stats.norm.cdf((8.0 - max(counts)) / 3.0))
        assert stats.binomtest(abstained, times, rate).pvalue > 1e-4
        law = winner_law(counts, 4.0)
        seen = np.bincount(answers[answers >= 0], minlength=len(counts))
        assert stats.chisquare(seen, law / law.sum() * seen.sum()).pvalue > 1e-4

    def test_abstentions_cost_a_check(self) -> None:
        check, argmax = self.mechanism.events(3)
        realised = self.mechanism.realised(np.array([1, ABSTAIN, ABSTAIN]), 3)
        assert realised == {check: 3, argmax: 1}
        assert self.mechanism.realised(np.array([ABSTAIN]), 3) == {check: 1}

    @pytest.mark.parametrize(
        "bad", [{"sigma": 0.0}, {"sigma_threshold": -1.0}, {"threshold": np.inf}]
    )
    def test_bad_parameters(self, bad: dict[str, float]) -> None:
        with pytest.raises(ParameterError):
            dataclasses.replace(self.mechanism, **bad)


class TestLNMax(MechanismContract):
    mechanism = LNMax(0.3)

    @pytest.mark.parametrize("origin", SOURCES, ids=repr)
    @pytest.mark.parametrize("counts", [[10.0, 8.0, 2.0], [5.0, 5.0]])
    def test_frequencies_follow_the_law(self, counts: list[float], origin: NoiseSource) -> None:
        times = 20_000
        law = np.exp(argmax_law(tuple(counts), 0.3))
        seen = np.bincount(draw(self.mechanism, counts, times, origin), minlength=len(counts))
        assert stats.chisquare(seen, law / law.sum() * times).pvalue > 1e-4

    def test_its_cost_is_that_of_a_pure_release(self) -> None:
        """Randomised response with ε = 2γ, summed by hand."""
        high = np.exp(0.6) / (1 + np.exp(0.6))
        moments = high**ORDERS * (1 - high) ** (1 - ORDERS) + (1 - high) ** ORDERS * high ** (
            1 - ORDERS
        )
        (event,) = self.mechanism.events(3)
        assert event.cost(ORDERS) == pytest.approx(np.log(moments) / (ORDERS - 1), rel=1e-12)

    def test_gamma_must_be_positive(self) -> None:
        for gamma in (0.0, -1.0, float("nan")):
            with pytest.raises(ParameterError):
                LNMax(gamma)
