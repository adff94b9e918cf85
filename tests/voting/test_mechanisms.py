"""One contract for every mechanism, and what is particular to those that choose one class.

That answers follow their laws is tested in `test_laws.py` and `test_label_laws.py`.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Mapping
from contextlib import nullcontext
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from ballotine.errors import ParameterError
from ballotine.noise import NoiseSource, QueryNoise, SecureNoise, SeededNoise
from ballotine.privacy.events import Event
from ballotine.privacy.reach import Reach
from ballotine.types import ABSTAIN, IntArray
from ballotine.voting import (
    MECHANISMS,
    ConfidentGNMax,
    GNMax,
    LNMax,
    Mechanism,
    Tallies,
    make_mechanism,
)
from ballotine.voting.individual import require_priced

ORDERS = np.array([1.5, 2.0, 8.0, 32.0])
SOURCES = [SecureNoise(), SeededNoise(11)]
QUERIES, TEACHERS = 40, 12


def keys(count: int) -> list[bytes]:
    return [i.to_bytes(8, "big") for i in range(count)]


def release(mechanism: Mechanism, ballots: IntArray) -> IntArray:
    """Answers to ballots of labels, shape (queries, teachers, labels)."""
    tallies = mechanism.tally(ballots, ballots.shape[2])
    return mechanism.release(tallies, QueryNoise(SecureNoise(), keys(len(ballots))))


def covered(released: list[Event], reserved: list[Event]) -> bool:
    """Whether each release finds a reserved event of its own that covers it."""
    return any(
        all(event.covers(one) for event, one in zip(chosen, released, strict=False))
        for chosen in itertools.permutations(reserved, len(released))
    )


class MechanismContract:
    """What the ledger, the engine and the planner rely on."""

    mechanism: Mechanism
    classes = 3
    listed = True
    priced: tuple[str, ...] = ("published", "exact")
    """The data-dependent costs that it has."""
    changes: Mapping[str, Any] = MappingProxyType({})
    """Another value for each parameter to which 1 cannot be added."""

    def ballots(self) -> IntArray:
        draw = np.random.default_rng(3)
        if not self.mechanism.multilabel:
            return draw.integers(0, self.classes, (QUERIES, TEACHERS))
        common = draw.random((QUERIES, 1, self.classes)) < 0.4
        other = draw.random((QUERIES, TEACHERS, self.classes)) < draw.random((QUERIES, 1, 1)) / 2
        return (common ^ other).astype(np.int64)

    def tallies(self, rows: slice = slice(None)) -> Tallies:
        return self.mechanism.tally(self.ballots()[rows], self.classes)

    def answers(self, origin: NoiseSource) -> IntArray:
        return self.mechanism.release(self.tallies(), QueryNoise(origin, keys(QUERIES)))

    def test_is_frozen_and_describes_itself(self) -> None:
        with pytest.raises(dataclasses.FrozenInstanceError):
            self.mechanism.anything = 1.0  # type: ignore[attr-defined]
        described = json.loads(self.mechanism.describe())
        assert described.pop("mechanism") == self.mechanism.name
        kind = type(self.mechanism)
        assert kind(**described) == self.mechanism
        assert kind(**described).describe() == self.mechanism.describe()
        assert (MECHANISMS.get(self.mechanism.name) is kind) == self.listed
        if self.listed:
            assert make_mechanism(self.mechanism.name, described) == self.mechanism

    def test_every_parameter_is_part_of_its_description(self) -> None:
        for field in dataclasses.fields(self.mechanism):
            old = getattr(self.mechanism, field.name)
            new = self.changes[field.name] if field.name in self.changes else old + 1
            changed = dataclasses.replace(self.mechanism, **{field.name: new})
            assert changed.describe() != self.mechanism.describe()

    def test_costs_are_positive_and_rise_with_the_order(self) -> None:
        for event in self.mechanism.events(self.classes):
            cost = event.cost(ORDERS)
            assert np.all(cost > 0)
            assert np.all(np.diff(cost) > 0)

    @pytest.mark.parametrize("origin", SOURCES, ids=repr)
    def test_what_a_query_releases_was_reserved(self, origin: NoiseSource) -> None:
        answers = self.answers(origin)
        reserved = list(self.mechanism.events(self.classes))
        worst = sum(event.cost(ORDERS) for event in reserved)
        together = self.mechanism.realised(answers, self.classes)
        for answer in answers:
            released = self.mechanism.realised(answer[np.newaxis], self.classes)
            together -= released
            cost = sum(times * event.cost(ORDERS) for event, times in released.items())
            assert covered(list(released.elements()), reserved)
            assert cost[0] > 0
            assert np.all(cost <= worst * (1 + 1e-12))
        assert not +together

    def test_tight_costs_are_those_of_what_was_released(self) -> None:
        answers = self.answers(SeededNoise(2))
        costs = self.mechanism.costs(self.tallies(), answers, ORDERS, "tight")
        for answer, cost in zip(
            answers, costs.unlock(reason="a test of made-up votes"), strict=True
        ):
            released = self.mechanism.realised(answer[np.newaxis], self.classes)
            expected = sum(times * event.cost(ORDERS) for event, times in released.items())
            assert cost == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize("bounds", ["published", "exact"])
    def test_data_dependent_costs_are_private_or_refused(self, bounds: Any) -> None:
        answers = self.answers(SeededNoise(2))
        if bounds not in self.priced:
            with pytest.raises(ParameterError, match="use the tight"):
                self.mechanism.costs(self.tallies(), answers, ORDERS, bounds)
            return
        costs = self.mechanism.costs(self.tallies(), answers, ORDERS, bounds)
        assert "private" in repr(costs)
        each = costs.unlock(reason="a test of made-up votes")
        assert each.shape == (QUERIES, len(ORDERS))
        assert np.all(each > 0)
        if bounds == "exact":
            worst = sum(event.cost(ORDERS) for event in self.mechanism.events(self.classes))
            assert np.all(each <= worst * (1 + 1e-9))

    def test_declares_what_it_can(self) -> None:
        kind = type(self.mechanism)
        assert {"tight", *self.priced} <= kind.analyses
        if self.listed:
            MECHANISMS._check(kind.name, kind)
            assert kind.audit is not None
            make_mechanism(kind.name, kind.audit.parameters)
        with nullcontext() if kind.publishable else pytest.raises(ParameterError, match="envelope"):
            assert np.nanmin(self.mechanism.envelope(5, self.classes, 3.0)) > 0.0
        with nullcontext() if kind.individual else pytest.raises(ParameterError, match="budgets"):
            require_priced(self.mechanism)
            assert self.mechanism.events(self.classes, Reach(weight=2.0))

    def test_twice_the_votes_take_twice_the_noise(self) -> None:
        if not self.listed:
            with pytest.raises(ParameterError, match="does not declare how"):
                self.mechanism.scaled(2.0)
            return
        assert self.mechanism.scaled(1.0) == self.mechanism
        assert self.mechanism.scaled(2.0).scaled(0.5) == self.mechanism
        if not self.mechanism.multilabel:
            double = Tallies(2.0 * self.tallies().unlock(reason="a test of made-up votes"))
            noise = QueryNoise(SeededNoise(5), keys(QUERIES))
            answers = self.mechanism.scaled(2.0).release(double, noise)
            assert np.array_equal(answers, self.answers(SeededNoise(5)))

    @pytest.mark.parametrize("origin", SOURCES, ids=repr)
    def test_releases_answers_and_nothing_else(self, origin: NoiseSource) -> None:
        answers = self.answers(origin)
        assert answers.dtype == np.int64
        if self.mechanism.multilabel:
            assert answers.shape == (QUERIES, self.classes)
            assert set(np.unique(answers)) <= {ABSTAIN, 0, 1}
        else:
            assert answers.shape == (QUERIES,)
            assert set(np.unique(answers)) <= {ABSTAIN, *range(self.classes)}

    def test_answers_do_not_depend_on_the_batch(self) -> None:
        whole = self.answers(SeededNoise(5))
        assert len(np.unique(whole, axis=0)) > 1
        parts = [slice(0, 1), slice(1, 2), slice(2, 9), slice(9, QUERIES)]
        for rows in parts:
            noise = QueryNoise(SeededNoise(5), keys(QUERIES)[rows])
            assert np.array_equal(self.mechanism.release(self.tallies(rows), noise), whole[rows])


class TestGNMax(MechanismContract):
    mechanism = GNMax(4.0)

    def test_sigma_must_protect(self) -> None:
        for sigma in (0.0, -1.0, float("nan")):
            with pytest.raises(ParameterError):
                GNMax(sigma)


class TestConfidentGNMax(MechanismContract):
    mechanism = ConfidentGNMax(4.0, threshold=8.0, sigma_threshold=3.0)

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
    priced = ("published",)

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

    def test_weighted_votes_have_no_cost(self) -> None:
        with pytest.raises(ParameterError, match="weighted or shared"):
            self.mechanism.events(3, Reach(weight=2.0))


@pytest.mark.parametrize(
    ("name", "parameters", "complaint"),
    [
        ("majority", {}, "unknown mechanism 'majority'"),
        ("gnmax", {"sigma": None}, "gnmax needs sigma"),
        ("confident-gnmax", {"sigma": 4.0}, "needs sigma_threshold, threshold"),
        ("clipped", {"sigma": 4.0}, "clipped needs tau"),
        ("gnmax", {"sigma": 4.0, "tau": 2.0}, "gnmax does not use tau"),
        ("powerset", {"sigma": 4.0, "norm": "l1"}, "powerset does not use norm"),
    ],
)
def test_mechanisms_take_the_parameters_they_know(
    name: str, parameters: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ParameterError, match=complaint):
        make_mechanism(name, parameters)
