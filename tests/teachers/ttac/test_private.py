"""Private rounds: what one record can change, what a round costs, and who sees what."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ballotine.errors import (
    BudgetError,
    InsufficientBudgetError,
    LedgerMismatchError,
    ParameterError,
    RunFolderError,
)
from ballotine.ledger import Binding, Charge, Ledger, Mode, Terms, verify
from ballotine.noise import SecureNoise, SeededNoise
from ballotine.privacy.events import GaussianArgmax
from ballotine.privacy.guarantee import Budget
from ballotine.teachers.ttac import (
    Architecture,
    LearnTogether,
    LocalRecords,
    Method,
    PrivateRounds,
    Rounds,
    plan_rounds,
)
from ballotine.teachers.ttac.network import Weights
from ballotine.teachers.ttac.private import clipped

HOW = LearnTogether(rounds=4, steps=3, step_size=0.3, decay=0.9)
LINEAR, BATCH = Architecture("linear", (3,), 4), 5


def records(seed: int = 0) -> list[LocalRecords]:
    draw = np.random.default_rng(seed)
    return [LocalRecords(draw.normal(size=(9, 3)), np.full(9, place % 4)) for place in range(4)]


def rounds(
    ledger: Ledger, seed: int | None = 1, folder: Path | None = None, z: float = 20.0
) -> PrivateRounds:
    noise = SecureNoise() if seed is None else SeededNoise(seed)
    return PrivateRounds(0.5, z, ledger, noise, b"ensemble", folder)


def spent(ledger: Ledger) -> int:
    return ledger.spending().asked


def release_forever(release: PrivateRounds) -> None:
    for number in range(1_000):
        release(number, np.ones((2, 3), dtype=np.float32))


@pytest.fixture
def ledger() -> Ledger:
    return Ledger.open(None, Budget(50.0, 1e-5))


@given(
    seed=st.integers(0, 10_000),
    teachers=st.integers(1, 6),
    size=st.integers(1, 8),
    scale=st.sampled_from([1e-20, 1e-3, 1.0, 1e3, 1e30]),
    clip=st.sampled_from([1e-3, 0.5, 7.0]),
)
@settings(max_examples=60, deadline=None)
def test_a_replaced_teacher_moves_the_clipped_sum_by_twice_the_clip_at_most(
    seed: int, teachers: int, size: int, scale: float, clip: float
) -> None:
    draw = np.random.default_rng(seed)
    updates = (draw.normal(size=(teachers, size)) * scale).astype(np.float32)
    other = updates.copy()
    other[draw.integers(teachers)] = draw.normal(size=size) * draw.choice([1e-9, 1.0, 1e9])
    distance = np.linalg.norm(clipped(updates, clip).sum(axis=0) - clipped(other, clip).sum(axis=0))
    assert distance <= 2 * clip * (1 + 1e-12)
    assert np.all(np.linalg.norm(clipped(updates, clip), axis=1) <= clip)


def test_twice_the_clip_is_reached_and_small_moves_stay_as_they_are() -> None:
    there = np.array([[3.0, 4.0], [0.3, 0.0]], dtype=np.float32)
    back = np.array([[-3.0, -4.0], [0.3, 0.0]], dtype=np.float32)
    moved = clipped(there, 1.0).sum(axis=0) - clipped(back, 1.0).sum(axis=0)
    np.testing.assert_allclose(np.linalg.norm(moved), 2.0)
    np.testing.assert_allclose(clipped(there, 1.0)[1], [0.3, 0.0], rtol=1e-6)


def test_a_teacher_that_broke_counts_as_one_that_did_not_move() -> None:
    updates = np.array([[np.nan, 1.0], [np.inf, 0.0], [0.1, 0.2]], dtype=np.float32)
    np.testing.assert_array_equal(clipped(updates, 1.0)[:2], 0.0)


def test_a_round_costs_twice_the_order_over_the_squared_multiplier(ledger: Ledger) -> None:
    z, orders = 20.0, np.array([1.5, 4.0, 32.0])
    release = rounds(ledger, z=z)
    for number in range(3):
        release(number, np.ones((4, 5), dtype=np.float32))
        cost = ledger.spending().accounts["everyone"].cost(orders)
        np.testing.assert_allclose(cost, (number + 1) * 2 * orders / z**2)


def test_every_group_pays_every_round_in_full() -> None:
    z, orders = 20.0, np.array([1.5, 4.0, 32.0])
    shared = Ledger.open(None, {"few": Budget(50.0, 1e-5), "many": Budget(30.0, 1e-5)})
    release = rounds(shared, z=z)
    for number in range(3):
        release(number, np.ones((4, 5), dtype=np.float32))
    accounts = shared.spending().accounts
    assert set(accounts) == {"few", "many"}
    for account in accounts.values():
        np.testing.assert_allclose(account.cost(orders), 3 * 2 * orders / z**2)


def test_rounds_end_with_the_smallest_budget_of_any_group() -> None:
    alone = Ledger.open(None, Budget(1.0, 1e-5))
    shared = Ledger.open(None, {"open": Budget(50.0, 1e-5), "careful": Budget(1.0, 1e-5)})
    for ledger in (alone, shared):
        with pytest.raises(InsufficientBudgetError):
            release_forever(rounds(ledger))
    assert spent(shared) == spent(alone) > 0


def test_votes_are_paid_on_top_of_rounds_in_one_ledger(tmp_path: Path) -> None:
    z, sigma, orders = 20.0, 40.0, np.array([1.5, 4.0, 32.0])
    ledger = Ledger.open(tmp_path / "ledger.sqlite", Budget(5.0, 1e-5))
    release = rounds(ledger, z=z)
    for number in range(3):
        release(number, np.ones((4, 5), dtype=np.float32))
    vote = GaussianArgmax(sigma, 10)
    votes = Binding(Charge.of((vote,)), "ensemble", "a rule")
    left = ledger.spending().affordable(votes, 10_000)
    alone = Ledger.open(None, Budget(5.0, 1e-5)).spending().affordable(votes, 10_000)
    assert 0 < left < alone
    assert ledger.reserve([b"1", b"2"], votes).refused == 0
    expected = 3 * 2 * orders / z**2 + 2 * vote.cost(orders)
    np.testing.assert_allclose(ledger.spending().cost(orders), expected)
    verify(ledger)
    ledger.close()


@pytest.mark.parametrize("mode", [Mode.FIXED, Mode.PAPER])
def test_what_is_not_proven_is_refused(mode: Mode) -> None:
    budgets = (("everyone", Budget(50.0, 1e-5)),)
    other = Ledger.open(None, Terms(budgets, mode, 100 if mode is Mode.FIXED else None))
    with pytest.raises(ParameterError, match=f"strict mode, but this one is in {mode}"):
        rounds(other)


def test_rounds_that_another_ledger_paid_are_not_gone_on_from(ledger: Ledger) -> None:
    release = rounds(ledger)
    release.require_paid(0)
    for number in range(2):
        release(number, np.ones((4, 5), dtype=np.float32))
    release.require_paid(2)
    for stranger, done in (
        (release, 3),
        (rounds(Ledger.open(None, ledger.budget)), 1),
        (replace(release, noise_multiplier=30.0), 2),
        (replace(release, ensemble=b"other"), 2),
    ):
        with pytest.raises(LedgerMismatchError, match="not in this ledger"):
            stranger.require_paid(done)


def test_the_noise_has_the_deviation_that_is_paid_for(ledger: Ledger) -> None:
    z, teachers, size = 20.0, 4, 40_000
    mean = rounds(ledger, z=z)(0, np.zeros((teachers, size), dtype=np.float32)) * teachers
    expected = z * 0.5
    # 40,000 seeded draws: the deviation's own is expected / √(2·size), a fiftieth of 18 %.
    assert abs(mean.std() / expected - 1) < 5 / np.sqrt(2 * size)
    assert abs(mean.mean()) < 5 * expected / np.sqrt(size)


def test_the_last_rounds_moves_are_not_released(ledger: Ledger) -> None:
    *_, before, final = Rounds(LINEAR, HOW, BATCH, b"s", release=rounds(ledger)).train(records())
    assert spent(ledger) == HOW.rounds - 1
    np.testing.assert_array_equal(final.theta, before.theta)
    assert not np.array_equal(final.weights, before.weights)


def test_without_budget_there_is_no_round(tmp_path: Path) -> None:
    poor = Ledger.open(None, Budget(0.5, 1e-5))
    with pytest.raises(InsufficientBudgetError):
        release_forever(rounds(poor, folder=tmp_path))
    assert len(list(tmp_path.iterdir())) == spent(poor)


class Scripted:
    """Shows the teachers the same averaging models, whatever they moved by."""

    def __init__(self, size: int) -> None:
        self.means = np.random.default_rng(9).normal(size=(HOW.rounds, size)).astype(np.float32)

    def __call__(self, number: int, updates: Weights) -> Weights:
        mean: Weights = self.means[number]
        return mean


@pytest.mark.parametrize("method", ["ttac", "averaging"])
def test_given_what_is_released_a_teacher_depends_on_its_own_records_alone(method: Method) -> None:
    one, other = records(), records()
    other[2] = LocalRecords(other[2].X * -50.0, (other[2].y + 1) % 4)
    how = replace(HOW, method=method)
    runs = []
    for part in (one, other):
        *_, final = Rounds(LINEAR, how, BATCH, b"s", release=Scripted(16)).train(part)
        runs.append(final)
    others = [0, 1, 3]
    np.testing.assert_array_equal(runs[0].weights[others], runs[1].weights[others])
    np.testing.assert_array_equal(runs[0].own[others], runs[1].own[others])
    np.testing.assert_array_equal(runs[0].common, runs[1].common)
    assert not np.array_equal(runs[0].weights[2], runs[1].weights[2])


def test_what_happens_does_not_depend_on_private_losses(ledger: Ledger) -> None:
    """A teacher whose records are no numbers: no error, the others go on, it is marked."""
    broken = records()
    broken[1] = LocalRecords(np.full((9, 3), np.nan), broken[1].y)
    *_, final = Rounds(LINEAR, HOW, BATCH, b"s", release=rounds(ledger)).train(broken)
    assert final.broken.tolist() == [False, True, False, False]
    assert np.all(np.isfinite(final.weights))


def test_a_seed_repeats_and_a_secure_source_does_not(tmp_path: Path) -> None:
    updates = np.ones((2, 6), dtype=np.float32)

    def release(seed: int | None) -> Weights:
        return rounds(Ledger.open(None, Budget(50.0, 1e-5)), seed)(0, updates)

    np.testing.assert_array_equal(release(3), release(3))
    assert not np.array_equal(release(3), release(4))
    # Equal only if twelve 64-bit words agree.
    assert not np.array_equal(release(None), release(None))


def test_a_resumed_training_pays_no_round_twice(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger.open(path, Budget(50.0, 1e-5)) as ledger:
        trainer = Rounds(
            LINEAR, HOW, BATCH, b"s", release=rounds(ledger, None, tmp_path / "rounds")
        )
        states = list(trainer.train(records()))
        assert spent(ledger) == 3
    with Ledger.open(path, Budget(50.0, 1e-5)) as ledger:
        release = rounds(ledger, None, tmp_path / "rounds")
        trainer = Rounds(LINEAR, HOW, BATCH, b"s", release=release)
        for start in (None, states[1]):
            *_, final = trainer.train(records(), start)
            np.testing.assert_array_equal(final.weights, states[-1].weights)
        assert spent(ledger) == 3


def test_a_crash_between_paying_and_drawing_is_paid_once(tmp_path: Path) -> None:
    ledger = Ledger.open(None, Budget(50.0, 1e-5))
    updates = np.ones((2, 6), dtype=np.float32)
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    with pytest.raises(OSError, match="file"):
        rounds(ledger, None, blocked)(0, updates)
    assert spent(ledger) == 1
    rounds(ledger, None, tmp_path / "rounds")(0, updates)
    assert spent(ledger) == 1


def test_a_released_round_that_is_lost_is_paid_again(tmp_path: Path, ledger: Ledger) -> None:
    updates = np.ones((2, 6), dtype=np.float32)
    release = rounds(ledger, None, tmp_path)
    first = release(0, updates)
    next(tmp_path.iterdir()).unlink()
    again = release(0, updates)
    assert spent(ledger) == 2
    assert not np.array_equal(first, again)
    np.testing.assert_array_equal(release(0, updates), again)
    assert spent(ledger) == 2
    next(tmp_path.iterdir()).write_bytes(b"broken")
    with pytest.raises(RunFolderError, match="is not a round of this training"):
        release(0, updates)


@given(
    epsilon=st.floats(0.3, 20.0),
    releases=st.integers(1, 200),
    share=st.sampled_from([0.2, 0.5, 0.9, 1.0]),
)
@settings(max_examples=25, deadline=None)
def test_a_plan_takes_its_share_and_no_more(epsilon: float, releases: int, share: float) -> None:
    budget = Budget(epsilon, 1e-5)
    plan = plan_rounds(budget, releases + 1, share)
    assert plan.releases == releases
    order, total = plan.order, releases * 2 * plan.order / plan.noise_multiplier**2
    # The conversion, written out: what this order allows in all.
    allowed = epsilon - np.log(1 - 1 / order) + np.log(1e-5 * order) / (order - 1)
    np.testing.assert_allclose(total, share * allowed, rtol=1e-6)
    np.testing.assert_allclose(plan.left, (1 - share) * allowed, rtol=1e-6, atol=1e-7 * allowed)
    assert plan.epsilon <= epsilon
    ledger = Ledger.open(None, budget)
    release = PrivateRounds(1.0, plan.noise_multiplier, ledger, SeededNoise(0), b"e")
    for number in range(min(releases, 3)):
        release(number, np.zeros((1, 2), dtype=np.float32))


def test_a_whole_plan_fits_the_ledger_exactly() -> None:
    budget = Budget(2.0, 1e-5)
    plan = plan_rounds(budget, 11, 1.0)
    release = PrivateRounds(
        1.0, plan.noise_multiplier, Ledger.open(None, budget), SeededNoise(0), b"e"
    )
    for number in range(10):
        release(number, np.zeros((1, 2), dtype=np.float32))
    with pytest.raises(InsufficientBudgetError):
        release(10, np.zeros((1, 2), dtype=np.float32))


def test_impossible_plans_and_parameters(ledger: Ledger) -> None:
    with pytest.raises(ParameterError, match="two rounds"):
        plan_rounds(Budget(1.0, 1e-5), 1)
    with pytest.raises(ParameterError, match="share"):
        plan_rounds(Budget(1.0, 1e-5), 5, 0.0)
    with pytest.raises(BudgetError, match="no amount of noise"):
        plan_rounds(Budget(1e-9, 1e-12), 5)
    with pytest.raises(ParameterError, match="clip must be positive"):
        PrivateRounds(0.0, 1.0, ledger, SeededNoise(0), b"e")
    with pytest.raises(ParameterError):
        PrivateRounds(1.0, 0.0, ledger, SeededNoise(0), b"e")
    with pytest.raises(ParameterError, match="nothing to release"):
        Rounds(LINEAR, replace(HOW, method="conventional"), BATCH, b"s", release=rounds(ledger))
    with pytest.raises(ParameterError, match="adds noise and pays"):
        Rounds(LINEAR, replace(HOW, clip=1.0), BATCH, b"s")
