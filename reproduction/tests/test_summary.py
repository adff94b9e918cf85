"""Means over seeds, the rows of a pool, and charts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from ballotine_reproduction.charts import Line, chart
from ballotine_reproduction.encoders import public_components, public_standard
from ballotine_reproduction.pool import Pool
from ballotine_reproduction.summary import Interval, deviation, interval, percent_right, plurality


def test_intervals_are_students() -> None:
    values = [3.0, 5.0, 4.0, 9.0]
    found = Interval.of(values)
    low, high = stats.t.interval(0.95, 3, np.mean(values), stats.sem(values))
    assert found.half is not None
    assert (found.mean - found.half, found.mean + found.half) == pytest.approx((low, high))
    assert found.text(1) == found.brief(1) == interval(values, 1) == "5.2 ± 4.2"
    assert interval([7.0]) == Interval.of([7.0]).brief() == "7"
    assert interval([]) == interval([float("nan")]) == Interval.of([]).brief() == "–"
    same = Interval.of([float("nan"), 2.0, 2.0])
    assert (same.text(1), same.brief(1)) == ("2.0 ± 0.0", "2.0")


def test_deviations() -> None:
    assert deviation([50.0]) == "50.0"
    assert deviation([49.0, 51.0]) == "50.0 ± 1.4"
    assert deviation([1.0, 3.0, float("nan")], 3) == "2.000 ± 1.414"
    assert deviation([float("nan")]) == "–"


def test_the_plurality_and_its_accuracy() -> None:
    ballots = np.array([[0, 1, 1], [2, 2, 0], [1, 0, 2]])
    winners = plurality(ballots, 3)
    assert winners.tolist() == [1, 2, 0]
    assert percent_right(winners, np.array([1, 2, 1])) == pytest.approx(200 / 3)


@pytest.fixture
def pool() -> Pool:
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10)
    return Pool("toy", X[:4], y[:4], X[4:8], y[4:8], X[8:], y[8:])


def test_every_row_changes_the_digest(pool: Pool) -> None:
    others = [replace(pool, name="other")]
    for name in ("X", "y", "X_public", "y_public", "X_test", "y_test"):
        changed = getattr(pool, name).copy()
        changed[-1] += 1
        others.append(replace(pool, **{name: changed}))
    assert len({each.digest for each in [pool, *others]}) == 8
    assert replace(pool).digest == pool.digest


def test_public_rows_can_be_held_out_for_evaluation(pool: Pool) -> None:
    own = pool.held_out(np.array([2, 0]), np.array([3]))
    assert own.y_public.tolist() == [6, 4]
    assert own.y_test.tolist() == [7]
    assert own.X_test.tolist() == [[14.0, 15.0]]
    assert own.y.tolist() == pool.y.tolist()


def test_features_come_from_public_rows_alone() -> None:
    draw = np.random.default_rng(0)
    public, private = draw.normal(2, 3, (80, 6)), draw.normal(0, 1, (50, 6))
    public[:, 5] = 1.0
    for make in (public_components, public_standard):
        encode = make(public)
        assert float(np.mean(np.sum(encode(public) ** 2, axis=1))) == pytest.approx(1.0)
        np.testing.assert_allclose(encode(private)[:10], encode(private[:10]))
    assert public_components(public, 2)(private).shape == (50, 2)


def test_a_chart_has_a_panel_for_each_title_and_one_legend() -> None:
    lines = [
        Line.of_intervals("a", [1, 2], [Interval(1.0, 0.5), Interval(2.0)], mode="steps"),
        Line("b", [1, 2], [3, 4], half_x=[0.1, 0.2], mode="markers", open_circles=True),
    ]
    figure = chart(
        {"left": lines, "right": lines},
        "x",
        "y",
        logarithmic=True,
        marks={"right": 1.5},
        levels={"budget": 2.0},
    )
    assert [trace.name for trace in figure.data] == ["a", "b", "a", "b"]
    assert [trace.showlegend for trace in figure.data] == [True, True, False, False]
    assert list(figure.data[0].error_y.array) == [0.5, 0.0]
    assert list(figure.data[1].error_x.array) == [0.1, 0.2]
    assert figure.layout.yaxis2.type == "log"
    assert {"left", "right", "budget"} <= {note.text for note in figure.layout.annotations}
