"""The tables of TTAC: the paper's ε, the votes in the cache, and every table on digits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ballotine.data.named import sets as named
from ballotine.data.partition import make_partition
from ballotine.errors import DataUnavailableError
from ballotine.teachers.ttac import METHODS, TtacTrainer
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.pool import Pool
from ballotine_reproduction.ttac import (
    EXPERIMENTS,
    canary,
    effort,
    labelling,
    pools,
    private_rounds,
    reported,
)
from ballotine_reproduction.ttac.effort import LONGER, STEP_SIZES, effort_of
from ballotine_reproduction.ttac.ensembles import EnsembleKey, ballots


@pytest.fixture
def digits(monkeypatch: pytest.MonkeyPatch) -> Pool:
    """What a quick run works on where there is no MNIST."""
    found = named.get

    def without_mnist(name: str, *rest: object, **more: object) -> object:
        if name == "mnist":
            raise DataUnavailableError("no MNIST here")
        return found(name, None, download=False)

    monkeypatch.setattr(named, "get", without_mnist)
    monkeypatch.setattr(effort, "QUICK_ROUNDS", 3)
    return pools.pool_of(Setting(quick=True))


def test_equation_10_alone_gives_the_papers_epsilon() -> None:
    found = labelling.epsilon_equation10(100, 0.1)
    by_hand = min(
        (100 * 2 * 0.1**2 * l * (l + 1) + np.log(1e5)) / l
        for l in range(1, 9)  # noqa: E741
    )
    assert found == pytest.approx(by_hand)
    assert found == pytest.approx(11.756, abs=5e-4)


def test_epsilons_of_unanimous_votes_are_no_larger() -> None:
    unanimous = np.zeros((100, 10), dtype=np.int64)
    for gamma in reported.GAMMAS:
        bound = labelling.epsilon_equation10(100, gamma)
        assert labelling.epsilon_published(unanimous, gamma) <= bound
        assert labelling.epsilon_strict(100, gamma) < bound


def test_the_papers_table_is_whole() -> None:
    assert len(reported.TABLE1) == 2 * 3 * 4
    assert reported.TABLE1["ttac", 0, 1000, 0.5] == 70.95
    assert reported.TABLE1["conventional", 100, 100, 0.5] == 77.86
    assert set(reported.EPSILONS) == {(q, g) for q in reported.QUERIES for g in reported.GAMMAS}


def test_every_method_takes_the_same_steps(digits: Pool) -> None:
    setting = Setting()
    efforts = [effort_of(setting, digits, method) for method in METHODS]
    found = {(e.settings.rounds, e.settings.steps, e.network.batch) for e in efforts}
    assert found == {(100, 10, 50)}
    assert set(STEP_SIZES) == set(METHODS)
    longer = effort_of(setting, digits, "conventional", LONGER).settings
    usual = effort_of(setting, digits, "conventional").settings
    assert longer.rounds == LONGER * usual.rounds
    assert longer.step_size_at(longer.rounds) == pytest.approx(usual.step_size_at(usual.rounds))


def test_noise_decides_how_many_labels_are_right(digits: Pool) -> None:
    votes = np.tile(digits.y_public[:, None], (1, 10))
    right = [
        float(np.mean(labelling.labels(votes, gamma, 0) == digits.y_public))
        for gamma in (0.01, 0.5, 50.0)
    ]
    assert right[0] < 0.25 < right[1] < right[2] == 1.0


def test_asked_rows_do_not_depend_on_anything_but_the_seed(digits: Pool) -> None:
    rows = labelling.asked(digits, 100, 3)
    assert len(set(rows.tolist())) == 100
    np.testing.assert_array_equal(rows, labelling.asked(digits, 100, 3))
    assert not np.array_equal(rows, labelling.asked(digits, 100, 4))


def test_a_student_learns_from_its_labels(digits: Pool) -> None:
    rows = labelling.asked(digits, 300, 0)
    assert labelling.student_accuracy(digits, rows, digits.y_public, 0) > 70.0
    assert labelling.student_accuracy(digits, rows, np.zeros_like(digits.y_public), 0) < 20.0


def test_votes_are_kept_and_found_again(
    digits: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = Setting(cache=tmp_path, quick=True)
    which = EnsembleKey("averaging", 100, 0)
    first = ballots(setting, digits, which)

    def untrained(*_: object) -> None:
        raise AssertionError("trained again")

    with monkeypatch.context() as patch:
        patch.setattr(TtacTrainer, "train", untrained)
        np.testing.assert_array_equal(ballots(setting, digits, which), first)
        with pytest.raises(AssertionError, match="trained again"):
            ballots(setting, digits, EnsembleKey("averaging", 100, 1))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("epsilon", private_rounds.EPSILONS)
def test_rounds_and_votes_stay_within_the_budget(method: str, epsilon: float) -> None:
    spent, sigma, z = private_rounds._prices(private_rounds.TaughtRow(method, 0, 50, epsilon))  # type: ignore[arg-type]
    assert 0.98 * epsilon < spent <= epsilon
    assert sigma is not None
    assert (z is None) == (method == "conventional")


def test_splits_sorted_by_label_are_conditional(digits: Pool) -> None:
    for similarity, conditional in ((0, True), (100, False)):
        partition = make_partition("similarity", digits.y, 10, b"s", s=similarity)
        assert (partition.assumption is not None) == conditional


ON_DIGITS = [
    pytest.param(each, id=each.name, marks=() if each.name == "figure2" else pytest.mark.papers)
    for each in EXPERIMENTS
    if each.name != "canary"
]


@pytest.mark.parametrize("experiment", ON_DIGITS)
def test_every_table_on_digits(
    digits: Pool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, experiment: object
) -> None:
    monkeypatch.setattr(labelling, "COPIES", 5)
    monkeypatch.setattr(private_rounds, "TEACHERS", (3, 6))
    monkeypatch.setattr(private_rounds, "ROUNDS", 3)
    table = experiment.run(Setting(cache=tmp_path, quick=True))  # type: ignore[attr-defined]
    assert table.rows
    assert "digits" in table.title
    assert any("digits stand in" in note for note in table.notes)


@pytest.mark.papers
def test_a_canary_refutes_learning_together_without_noise_and_only_that() -> None:
    assert canary.audit(canary.World("ttac"), 40, Setting()).exceeded
    assert not canary.audit(canary.World("conventional"), 20, Setting()).exceeded
