"""Every experiment of the individualized paper, in its quick form on made-up rows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ballotine_reproduction import find
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.individualized import (
    EXPERIMENTS,
    class_budgets,
    figures,
    influence,
    reported,
    sets,
    three_groups,
    two_groups,
)
from ballotine_reproduction.table import Table

Run = Callable[[str], Table]
NAMES = ["table1", "table5", "table6", "table7", "table8", "table9", "table10", "table11"]
FIGURES = {"figure1": "costs", "figure2": "ratio", "figure3": "ratios"}
BALANCED = "weighting, balanced"


@dataclass
class Remembered:
    """Runs every experiment once."""

    setting: Setting
    tables: dict[str, Table] = field(default_factory=dict)

    def __call__(self, name: str) -> Table:
        if name not in self.tables:
            self.tables[name] = find("individualized", name).run(self.setting)
        return self.tables[name]


SMALL = {"QUICK_RECORDS": 8, "QUICK_PUBLIC": 300, "QUICK_TEST": 60}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Remembered]:
    folder = tmp_path_factory.mktemp("individualized")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SMALL.items():
            patch.setattr(sets, name, value)
        # Tight costs among ten classes take seconds: fewer of them will do here.
        patch.delitem(three_groups.METHODS, BALANCED)
        patch.delitem(three_groups.SPLITS, "34/43/23")
        patch.setattr(figures, "COPIES", {"upsampling": (2,), "weighting": (2,)})
        patch.setattr(influence, "RATIOS", {name: range(2, 3) for name in influence.RATIOS})
        yield Remembered(Setting(quick=True, seeds=1, cache=folder / "votes"))


def number(cell: object) -> float:
    found = re.match(r"(?:≥ )?(-?[\d.]+)", str(cell))
    assert found is not None, cell
    return float(found[1])


def cells(table: Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.to_dict()["rows"]
    return rows


def test_every_table_and_figure_has_a_command() -> None:
    assert [experiment.name for experiment in EXPERIMENTS] == [*NAMES, *FIGURES]
    assert {experiment.paper for experiment in EXPERIMENTS} == {"individualized"}


SLOW = {"table1", "figure1", "figure2", "figure3"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.papers if name in SLOW else ())
        for name in [n for n in NAMES if n not in ("table5", "table8")] + list(FIGURES)
    ],
)
def test_every_experiment_runs_and_says_how_to_read_it(name: str, run: Run) -> None:
    table = run(name)
    assert table.rows
    assert "made-up" in table.title
    assert "mean nothing" in table.notes[0]
    json.dumps(table.to_dict(), allow_nan=False)
    words = " ".join(table.notes)
    assert re.search(r"not releasable|may not be shown", words, re.I)
    assert "sanitis" in words
    assert any(column.startswith(("paper", "ours")) for column in table.columns)


@pytest.mark.papers
@pytest.mark.parametrize(("name", "figure"), FIGURES.items())
def test_figures_can_be_drawn(name: str, figure: str, run: Run) -> None:
    table = run(name)
    assert list(table.figures) == [figure]
    for line in table.figures[figure].data:
        heights = np.asarray(line.y, dtype=float)
        assert heights.size > 0
        assert np.all(np.isfinite(heights))
    assert "<html" in table.figures[figure].to_html(include_plotlyjs=False)


def test_labels_by_budget_split(run: Run) -> None:
    rows = cells(run("table7"))
    found = {(row["method"], row["share with it"]): row for row in rows}
    assert {method for method, _ in found} == {*two_groups.METHODS, *two_groups.BASELINES}
    base = found["standard", "–"]
    assert base["paper"] == 88
    assert found["weighting", "50 %"]["paper"] == 203
    assert found["vanishing", "50 %"]["paper"] is None
    for method in ("upsampling", "weighting", BALANCED):
        counts = [number(found[method, f"{share} %"]["strict"]) for share in (25, 50, 75)]
        # More generous records, more labels; and always more than with the smallest budget.
        assert number(base["strict"]) < counts[0] < counts[1] < counts[2]
    balanced, proportional = (found[m, "50 %"]["strict"] for m in (BALANCED, "weighting"))
    assert number(balanced) >= number(proportional)
    for row in rows:
        assert number(row["fixed, exact"]) >= number(row["strict"]) or row["method"] == "vanishing"


@pytest.mark.papers
def test_saved_votes_stand_beside_fresh_teachers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(0)
    truth = draw.integers(0, 10, 120)
    wrong = draw.integers(0, 10, (120, 250))
    ballots = np.where(draw.random(wrong.shape) < 0.93, truth[:, None], wrong)
    np.savez(tmp_path / "votes_mnist_250.npz", ballots=ballots.astype(np.uint8), y=truth)
    for name, value in SMALL.items():
        monkeypatch.setattr(sets, name, value)
    monkeypatch.setattr(two_groups, "SHARES", (50,))
    for name in (BALANCED, "vanishing"):
        monkeypatch.delitem(two_groups.METHODS, name)
    table = two_groups.table5(Setting(data=tmp_path, quick=True, seeds=1))
    found = {(row["teachers"], row["method"]) for row in cells(table)}
    assert ("saved CNN votes", "weighting") in found
    assert ("saved CNN votes", "upsampling") not in found
    assert ("fresh naive Bayes", "upsampling") in found
    assert any(note.startswith("saved votes:") for note in table.notes)


@pytest.mark.papers
def test_weights_charged_to_the_wrong_group_are_shown_to_be_wrong(run: Run) -> None:
    table = run("table1")
    rows = {(row["% with ε = 1/2/3"], row["method"]): row for row in cells(table)}
    right = rows["54/37/9", three_groups.PRINTED_WEIGHTS]
    wrong = rows["54/37/9", three_groups.BY_RANK]
    ours = "ours, paper's accounting"
    assert number(wrong[ours]) > number(right[ours])
    assert (wrong["paper"], wrong["strict"]) == (1894, None)
    (note,) = [n for n in table.notes if n.startswith("charged by rank, 54/37/9")]
    spent = re.search(r"has spent ε = ([\d.]+)", note)
    assert spent is not None
    # The group that was promised ε = 1 is overspent.
    assert float(spent[1]) > 1.2


def test_budgets_that_go_with_a_class_change_who_is_right(run: Run) -> None:
    accuracy = {
        (row["of"], row["share with it"], row["accuracy in % on"]): row
        for row in cells(run("table10"))
    }
    ours = "ours, paper's accounting"
    for place, label in enumerate(("low income", "high income")):
        before = number(accuracy["teachers", "–", label][ours])
        after = number(accuracy["teachers", "100 %", label][ours])
        assert (after > before) == (place == 1)
        assert accuracy["teachers", "–", label]["paper"] == reported.TEACHERS.baseline[place]
    labels = {row["share with it"]: row for row in cells(run("table11"))}
    assert labels["100 %"]["paper"] == 162
    assert number(labels["–"]["strict"]) < number(labels["100 %"]["strict"])
    assert {row["paper"] for row in cells(run("table6"))} >= {98.01, 24.78, 77.36}


def test_groups_by_class_are_drawn_from_the_rare_class_alone() -> None:
    y = np.array([0] * 300 + [1] * 100)
    groups = class_budgets.groups_of(y, 25, 0)
    assert groups.sum() == 25
    assert np.all(y[groups == 1] == 1)
    assert not np.array_equal(groups, class_budgets.groups_of(y, 25, 1))


def test_accuracy_by_class() -> None:
    truth = np.array([0, 0, 1, 1])
    assert class_budgets.by_class(np.array([0, 1, 1, 1]), truth) == (50.0, 100.0)
    ballots = np.array([[0, 1], [0, 0], [1, 0], [0, 0]], dtype=np.uint8)
    assert class_budgets.by_class(ballots, truth) == (75.0, 25.0)
    low, high = class_budgets.by_class(np.array([0]), np.array([0]))
    assert low == 100.0
    assert np.isnan(high)


def test_every_printed_number_has_its_place() -> None:
    shares = {(high, share) for high in reported.HIGHER for share in reported.SHARES}
    for table in (reported.TABLE5, reported.TABLE7):
        assert all(set(column) == shares for column in table.values())
    bias_shares = {(high, share) for high in reported.HIGHER for share in reported.BIAS_SHARES}
    assert set(reported.TABLE11) == bias_shares
    for accuracies in (reported.STUDENTS, reported.TEACHERS, reported.LABELS):
        assert set(accuracies.low) == set(accuracies.high) == bias_shares
        # What the paper observes: more budget for a class, more accuracy on it.
        assert accuracies.value((16, 100), 1) > accuracies.value(None, 1)
