"""Students against DP-SGD: what DP-SGD costs, who is asked what, and the quick tables."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

from ballotine.errors import BudgetError, DataError, ParameterError
from ballotine.privacy.guarantee import Budget
from ballotine_reproduction import find
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.individualized import reported, sets, students
from ballotine_reproduction.multiwinner.sets import MADE_UP, TMC2007, load
from ballotine_reproduction.student import (
    dpsgd,
    label_students,
    repetitions,
    several_labels,
)
from ballotine_reproduction.student import reported as printed
from ballotine_reproduction.student.dpsgd_cost import (
    ORDERS,
    DpsgdPlan,
    Relation,
    SgdSteps,
    cost,
    epsilon,
    noise_for,
)
from ballotine_reproduction.student.repetitions import Repetition

BUDGET = Budget(8.0, 1e-5)
TENTH = 0.1


def by_mpmath(rate: float, noise: float, order: float, other: float | None) -> float:
    """The Rényi divergence of one step: quadrature with twenty digits, pieces around the mass."""
    mp.dps = 20
    q, z, a = mp.mpf(rate), mp.mpf(noise), mp.mpf(order)

    def law(x: mp.mpf, shift: float) -> mp.mpf:
        return (1 - q) * mp.npdf(x, 0, z) + q * mp.npdf(x, shift, z)

    def integrand(x: mp.mpf) -> mp.mpf:
        below = mp.npdf(x, 0, z) if other is None else law(x, other)
        return law(x, 1.0) ** a * below ** (1 - a)

    ends = np.linspace(-14 * noise, 2 * order + 14 * noise, 16)
    return float(mp.log(mp.quad(integrand, [mp.mpf(float(end)) for end in ends])) / (a - 1))


@pytest.mark.parametrize(
    ("rate", "noise", "order"), [(0.05, 0.7, 7.5), (0.3, 1.5, 1.1), (1.0, 2.0, 2.0)]
)
def test_the_cost_of_a_step_is_its_divergence(rate: float, noise: float, order: float) -> None:
    orders = np.array([order])
    relations: dict[Relation, float | None] = {"replace": -1.0, "add or remove": None}
    for relation, other in relations.items():
        true = by_mpmath(rate, noise, order, other)
        found = float(cost(SgdSteps(1, rate, noise), orders, relation)[0])
        assert true <= found <= true * (1 + 1e-8) + 1e-10


def test_without_sampling_it_is_a_gaussian_of_twice_the_norm() -> None:
    steps = SgdSteps(3, 1.0, 4.0)
    np.testing.assert_allclose(cost(steps), 3 * 2 * ORDERS / 16, rtol=1e-6)
    np.testing.assert_allclose(cost(steps, ORDERS, "add or remove"), 3 * ORDERS / 32, rtol=1e-6)


def in_the_plane(rate: float, noise: float, order: float, g: complex, other: complex) -> float:
    """The divergence of a step for any two gradients: a sum over a fine grid of the plane."""
    step = noise / 6
    line = np.arange(-8 * noise - 2 * order, 8 * noise + 2 * order, step)
    x, y = np.meshgrid(line, line)
    base = -(x**2 + y**2) / (2 * noise**2) - np.log(2 * np.pi * noise**2)

    def ratio(v: complex) -> np.ndarray:
        tilt = (x * v.real + y * v.imag - abs(v) ** 2 / 2) / noise**2
        return np.logaddexp(np.log1p(-rate), np.log(rate) + tilt)

    logs = base + order * ratio(g) + (1 - order) * ratio(other)
    return float(np.log(np.exp(logs).sum() * step**2) / (order - 1))


@settings(max_examples=25, deadline=None)
@given(
    st.floats(0.01, 0.9),
    st.floats(0.6, 3.0),
    st.sampled_from([1.5, 2.0, 4.0]),
    st.complex_numbers(max_magnitude=1.0),
    st.complex_numbers(max_magnitude=1.0),
)
def test_no_two_gradients_cost_more(
    rate: float, noise: float, order: float, g: complex, other: complex
) -> None:
    bound = float(cost(SgdSteps(1, rate, noise), np.array([order]))[0])
    assert in_the_plane(rate, noise, order, g, other) <= bound * (1 + 1e-7) + 1e-9


def test_the_worst_two_gradients_are_opposite() -> None:
    bound = float(cost(SgdSteps(1, 0.2, 1.0), np.array([2.0]))[0])
    assert in_the_plane(0.2, 1.0, 2.0, 1j, -1j) == pytest.approx(bound, rel=1e-6)
    assert in_the_plane(0.2, 1.0, 2.0, 1j, 1 + 0j) < 0.7 * bound


@pytest.mark.parametrize(("rate", "noise"), [(0.02, 0.8), (0.2, 2.0)])
def test_replacing_lies_between_removing_and_both_in_turn(rate: float, noise: float) -> None:
    steps = SgdSteps(1, rate, noise)
    orders = ORDERS[ORDERS > 1.5]
    removed = cost(steps, orders, "add or remove")
    twice = (orders - 0.5) / (orders - 1) * cost(steps, 2 * orders, "add or remove")
    twice = twice + cost(steps, 2 * orders - 1, "add or remove")
    assert np.all(removed < cost(steps, orders))
    assert np.all(cost(steps, orders) < twice)


def test_steps_of_different_noise_add_up() -> None:
    course = DpsgdPlan(TENTH, 3, last=0.5)
    schedule = course.schedule(2.0)
    assert [steps.noise for steps in schedule] == [2.0, 1.5, 1.0]
    assert {(steps.number, steps.rate) for steps in schedule} == {(10, TENTH)}
    loud, quiet = (epsilon((SgdSteps(30, TENTH, z),), 1e-5) for z in (2.0, 1.0))
    assert loud < epsilon(schedule, 1e-5) < quiet
    assert len(DpsgdPlan(TENTH, 3).schedule(2.0)) == 1


@pytest.mark.parametrize("last", [1.0, 0.5])
@pytest.mark.parametrize("budget", [Budget(1.0, 1e-5), Budget(20.0, 1e-5)])
def test_the_least_noise_for_a_budget(budget: Budget, last: float) -> None:
    course = DpsgdPlan(TENTH, 4, last)
    noise = noise_for(course, budget)
    assert epsilon(course.schedule(noise), budget.delta) <= budget.epsilon
    assert epsilon(course.schedule(0.99 * noise), budget.delta) > budget.epsilon


def test_what_cannot_be_is_refused() -> None:
    for broken in ((0, 0.1, 1.0), (1, 0.0, 1.0), (1, 1.1, 1.0), (1, 0.1, 0.0), (1, 0.1, np.nan)):
        with pytest.raises(ParameterError):
            SgdSteps(*broken)
    with pytest.raises(ParameterError, match="relation"):
        cost(SgdSteps(1, 0.1, 1.0), ORDERS, "swap")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="course"):
        DpsgdPlan(0.1, 1, last=0.0)
    with pytest.raises(BudgetError):
        noise_for(DpsgdPlan(1.0, 5000), Budget(1e-6, 1e-5))
    with pytest.raises(ParameterError, match="positive"):
        dpsgd.Recipe(clip=0.0)


@pytest.mark.parametrize("name", ["labels", "dpsgd"])
def test_without_opacus_it_says_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ParameterError, match=re.escape("'ballotine-reproduction[dpsgd]'")):
        find("student", name).run(Setting(quick=True))


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> list[Repetition]:
    cache = tmp_path_factory.mktemp("votes")
    return repetitions.repetitions(MADE_UP, Setting(quick=True, seeds=2, cache=cache))


def test_public_rows_are_those_that_teachers_vote_on(
    made_up: list[Repetition], monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = Setting(quick=True, seeds=2)
    pool = load(MADE_UP, setting)
    known = {row.tobytes(): label for row, label in zip(pool.X_public, pool.y_public, strict=True)}
    held = {repetition.seed: repetition.election for repetition in made_up}
    monkeypatch.setattr(repetitions, "public_components", lambda _: lambda X: X)
    monkeypatch.setattr(repetitions, "hold_election", lambda *facts: held[facts[3]])
    for repetition in repetitions.repetitions(MADE_UP, setting):
        found = zip(repetition.rows.X_public, repetition.election.truth, strict=True)
        assert all(np.array_equal(known[row.tobytes()], label) for row, label in found)


def test_more_teachers_are_asked_the_same(tmp_path: Path, made_up: list[Repetition]) -> None:
    (more,) = repetitions.repetitions(MADE_UP, Setting(quick=True, seeds=1, cache=tmp_path), 10)
    assert more.election.teachers == 10
    np.testing.assert_array_equal(more.election.truth, made_up[0].election.truth)
    np.testing.assert_array_equal(more.rows.X_public, made_up[0].rows.X_public)


def test_every_seed_is_evaluated_on_other_rows(made_up: list[Repetition]) -> None:
    first, second = made_up
    assert len(first.rows.y_test) == repetitions.TEST_ROWS[MADE_UP.name]
    assert not np.array_equal(first.rows.y_test, second.rows.y_test)


@pytest.mark.parametrize("name", ["Binary", "τ, l2"])
def test_students_beat_chance(made_up: list[Repetition], name: str) -> None:
    repetition, spare = made_up
    rule = label_students.rules(MADE_UP)[name]
    votes = rule(repetition.election)
    choice = label_students.choose(spare, rule(spare.election), (6, 12), BUDGET, "strict")
    taught = label_students.teach(repetition, votes, choice, BUDGET, "strict")
    assert 10 < taught.queries <= votes.queries
    assert taught.scores.auc > 0.65
    assert taught.wrong < 0.45
    clear = replace(choice, sigma=1.0)
    generous = label_students.teach(repetition, votes, clear, Budget(5000.0, 1e-5), "strict")
    assert generous.queries == votes.queries
    assert generous.scores.auc > taught.scores.auc - 0.03


@pytest.mark.parametrize("name", label_students.SIGMAS)
def test_exact_costs_afford_at_least_as_much(made_up: list[Repetition], name: str) -> None:
    votes = label_students.rules(MADE_UP)[name](made_up[0].election)
    strict, exact = (
        label_students.queries_for(votes, 3.0, BUDGET, a) for a in label_students.ACCOUNTS
    )
    assert 0 < strict <= exact


def test_from_one_answer_only_constants_are_learnt(made_up: list[Repetition]) -> None:
    one = made_up[0].rows
    answer = made_up[0].election.truth[:1]
    np.testing.assert_array_equal(
        label_students.fitted(one, answer, 1.0), np.tile(answer, (150, 1))
    )
    assert not label_students.fitted(one, answer[:0], 1.0).any()


def test_rows_of_a_table_have_a_cell_per_column(made_up: list[Repetition]) -> None:
    ceiling = several_labels._ceiling(made_up)
    cells = several_labels._row(MADE_UP, None, ceiling)
    assert several_labels._row(TMC2007, None, ceiling)[-1] == 0.97
    assert len(cells) == len(several_labels.COLUMNS) + 1
    assert cells[:3] == ("made-up", "∞", "non-private")
    assert float(str(cells[-3]).partition(" ")[0]) > 0.8
    assert cells[-1] is None


SMALL = {"QUICK_RECORDS": 30, "QUICK_PUBLIC": 400, "QUICK_TEST": 200}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setting]:
    """Few made-up rows, whose votes are cast once."""
    folder: Path = tmp_path_factory.mktemp("small")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SMALL.items():
            patch.setattr(sets, name, value)
        patch.setattr(students, "SHARES", (50,))
        # Tight costs among ten classes take seconds.
        patch.delitem(students.COMPARED, "weighting, balanced")
        yield Setting(quick=True, seeds=1, cache=folder / "votes")


@pytest.mark.parametrize(("name", "chance"), [("table8", 0.1), ("table9", 0.75)])
def test_students_by_budget_split(small: Setting, name: str, chance: float) -> None:
    table = find("individualized", name).run(small)
    found = table.to_dict()["rows"]
    assert [row["method"] for row in found] == ["standard", *students.COMPARED]
    for row in found[1:]:
        assert float(row["fixed, exact"]) > 100 * (chance + 0.1)
    assert any("paper's student" in note for note in table.notes)


def test_the_papers_numbers_stand_where_they_belong() -> None:
    assert printed.auc("Binary", 20.0) == 0.85
    assert printed.auc("Binary", 8.0) == 0.79
    assert printed.auc("adaptive DP-SGD", 20.0) is None
    assert printed.auc("Binary, 250 teachers", 20.0) is None


def test_printed_accuracies_of_students() -> None:
    assert reported.TABLE8.value("upsampling", (8, 50)) == 94.48
    assert reported.TABLE8.value("weighting", (8, 25)) == 88.94
    assert reported.TABLE9.value("weighting", (16, 75)) == 83.04
    assert reported.TABLE9.value("standard", None) == 79.85
    assert reported.TABLE9.value("weighting, balanced", (16, 75)) is None


@pytest.mark.extras
@pytest.mark.parametrize(("rate", "noise"), [(0.01, 0.6), (0.1, 1.3), (1.0, 3.0)])
def test_opacus_agrees_on_adding_and_removing(rate: float, noise: float) -> None:
    from opacus.accountants.analysis.rdp import compute_rdp

    orders = np.array([1.5, 2.0, 8.0, 31.0])
    theirs = compute_rdp(q=rate, noise_multiplier=noise, steps=7, orders=orders.tolist())
    ours = cost(SgdSteps(7, rate, noise), orders, "add or remove")
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def _table(records: int = 400) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(1)
    X = draw.normal(size=(records, 5)) / 2
    return X, (X[:, 0] + X[:, 1] > 0).astype(np.int64)


@pytest.mark.extras
@pytest.mark.parametrize("last", [1.0, 0.5])
def test_dpsgd_learns_within_its_budget(last: float) -> None:
    X, y = _table()
    recipe = dpsgd.Recipe(batch=80, epochs=5, learning_rate=2.0, last=last)
    model = dpsgd.train(recipe, X[:300], y[:300], 2, BUDGET, 0)
    assert model.epsilon() <= BUDGET.epsilon
    assert model.epsilon("add or remove") < model.epsilon()
    assert np.mean(model.predict(X[300:]) == y[300:]) > 0.85
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    both = np.column_stack([y, 1 - y])
    labels = dpsgd.train(recipe, X[:300], both[:300], 2, BUDGET, 0)
    assert np.mean(labels.predict(X[300:]) == both[300:]) > 0.85
    little = dpsgd.train(recipe, X[:300], y[:300], 2, Budget(0.5, 1e-5), 0)
    weights = [float(m.net[1].weight.detach().abs().max()) for m in (model, little)]
    assert weights[1] > 1.5 * weights[0]


@pytest.mark.extras
def test_dpsgd_adds_the_noise_that_is_accounted() -> None:
    """On rows of zeros a linear layer's weights get no gradient: they move by noise alone."""
    X, y = np.zeros((50, 4000)), np.zeros(50, dtype=np.int64)
    recipe = dpsgd.Recipe(batch=10, epochs=1, learning_rate=1.0, clip=0.5)
    model = dpsgd.train(recipe, X, y, 2, BUDGET, 0)
    (steps,) = model.schedule
    moved = model.net[1].weight.detach().numpy()
    # Momentum carries a step's noise on into the later ones.
    powers = [sum(0.9**i for i in range(steps.number - t)) for t in range(steps.number)]
    wanted = steps.noise * 0.5 / 10 * np.sqrt(np.sum(np.square(powers)))
    assert moved.std() == pytest.approx(wanted, rel=0.05)


@pytest.mark.extras
def test_a_replaced_record_moves_a_step_by_twice_the_norm_at_most() -> None:
    X, y = _table(60)
    other = X.copy()
    other[7] *= 1e4
    recipe = dpsgd.Recipe(batch=60, epochs=1, learning_rate=1.0, clip=0.5)
    flipped = y.copy()
    flipped[7] = 1 - y[7]
    one = dpsgd.train(recipe, X, y, 2, BUDGET, 3)
    two = dpsgd.train(recipe, other, flipped, 2, BUDGET, 3)
    pairs = zip(one.net.parameters(), two.net.parameters(), strict=True)
    moved = np.sqrt(sum(float(((a - b).detach() ** 2).sum()) for a, b in pairs))
    assert 0.0 < moved <= 2 * 0.5 / 60 * (1 + 1e-4)


@pytest.mark.extras
def test_batches_may_be_empty_and_records_missing() -> None:
    X, y = _table(40)
    model = dpsgd.train(dpsgd.Recipe(batch=1, epochs=2), X, y, 2, BUDGET, 0)
    assert np.isfinite(model.predict_proba(X)).all()
    with pytest.raises(DataError):
        dpsgd.train(dpsgd.Recipe(), X, y[:3], 2, BUDGET, 0)


@pytest.mark.extras
def test_the_quick_tables(small: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dpsgd, "RATES", (1.0,))
    found = find("student", "labels").run(small).to_dict()["rows"]
    assert {row["method"] for row in found} == {
        "non-private",
        *several_labels.BASELINES,
        *label_students.SIGMAS,
    }
    aucs = {row["method"]: float(row["AUC"]) for row in found}
    assert min(aucs[name] for name in ("DP-SGD, last layer", "adaptive DP-SGD", "Binary")) > 0.65
    single_rows = find("student", "dpsgd").run(small).to_dict()["rows"]
    for row in single_rows:
        chance = 75.0 if "Adult" in row["set"] else 10.0
        if row["account"] != "strict":
            assert float(row["accuracy, %"]) > chance + 5
