"""The training of a student in card.json, report.html and card.md."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ballotine.errors import DataError
from ballotine.report.canvas import LINE
from ballotine.report.figures import draw
from ballotine.report.html import render_html
from ballotine.report.markdown import render_markdown
from ballotine.report.training import sparkline, training_parts, training_view
from ballotine.students import Student

LOSSES = {"labelled": [2.0, 1.0, 0.5], "unlabelled": [0.75, 0.5, 0.625]}


def part(**changes: Any) -> dict[str, Any]:
    whole = {"label": None, "epochs": 3, "interrupted": False, "curves": LOSSES, "removed": None}
    return whole | changes


def trained(card: dict[str, Any], *parts: dict[str, Any]) -> dict[str, Any]:
    card["student"]["training"] = list(parts)
    return card


def test_losses_are_drawn_and_told(make_card: Any) -> None:
    counted = {"agreement_1": [0.25, 0.5, 0.75], "disagreed": [400.0, 300.0, 200.0]}
    card = trained(make_card(), part(curves=LOSSES | counted))
    figure = draw(card)["losses"]
    assert {line["name"]: line["y"] for line in figure["data"]} == LOSSES
    assert all(line["x"] == [1, 2, 3] for line in figure["data"])
    assert figure["layout"]["showlegend"]
    low, high = figure["layout"]["yaxis"]["range"]
    assert low == 0
    assert high > 2.0
    assert figure["layout"]["yaxis"]["gridcolor"] == LINE, "a colour of the page's theme"
    assert "shapes" not in figure["layout"]
    view = training_view(card)
    assert view is not None
    assert view["heads"] == ["labelled", "unlabelled", "agreement 1", "disagreed"]
    assert view["rows"][1] == ("2", "1", "0.5", "0.5", "300")
    page, text = render_html(card), render_markdown(card)
    assert 'id="figure-losses"' in page
    assert '<th scope="col"><bdi>disagreed</bdi></th>' in page
    assert "| labelled | █▃▁ | 2 | 0.5 |" in text
    for shown in (page, text):
        assert "could use more epochs" in shown
        assert "from released answers and public rows alone" in shown


def test_records_that_need_no_privacy_are_told(grouped_card: Any) -> None:
    removed = {"rows": [4, 7, 9], "records": 2}
    text = render_markdown(trained(grouped_card, part(removed=removed)))
    assert "public rows and records that need no privacy alone" in text
    assert "in the end: 3, and labels of records that need no privacy: 2." in text


@pytest.mark.parametrize("training", [None, [], "absent"])
def test_a_card_without_networks_is_as_before(make_card: Any, training: Any) -> None:
    card = make_card()
    if training != "absent":
        card["student"]["training"] = training
    assert training_view(card) is None
    assert set(draw(card)) == {"cost", "answers", "recall", "confusion"}
    assert render_html(card) == render_html(make_card())
    assert render_markdown(card) == render_markdown(make_card())


def test_no_student_no_training(make_card: Any) -> None:
    card = make_card(student=None)
    assert training_view(card) is None
    assert "losses" not in draw(card)
    render_html(card)


def test_a_second_stage_is_marked_where_it_starts(make_card: Any) -> None:
    card = trained(make_card(), part(curves=LOSSES | {"stage": [0.0, 0.0, 1.0]}))
    (line,) = draw(card)["losses"]["layout"]["shapes"]
    assert line["x0"] == line["x1"] == 2.5
    view = training_view(card)
    assert view is not None
    assert view["heads"] == ["labelled", "unlabelled"]


def test_networks_by_label_have_no_chart(make_card: Any, hostile_names: list[str]) -> None:
    parts = [part(label=each, curves={}, interrupted=True) for each in hostile_names]
    card = trained(make_card(), *parts)
    assert "losses" not in draw(card)
    page = render_html(card)
    assert f"Each of {len(parts)} labels has its own network." in page
    assert "was interrupted early" in page
    assert "<script>alert" not in page


def test_hostile_series_are_only_names(make_card: Any, hostile_names: list[str]) -> None:
    curves = {each: [1.0, 2.0, 3.0] for each in hostile_names}
    card = trained(make_card(), part(curves=curves))
    page, text = render_html(card), render_markdown(card)
    assert "<script>alert" not in page + text
    assert "\x1b" not in page + text
    drawn = json.dumps(draw(card)["losses"], ensure_ascii=False)
    assert "<" not in drawn.replace("<extra></extra>", "").replace("<br>", "")


@pytest.mark.parametrize(
    "bad",
    [
        {"label": None},
        part(curves={"labelled": [1.0, 2.0]}),
        part(curves={"labelled": [1.0, float("nan"), 2.0]}),
        part(curves={"labelled": []}, epochs=0),
        part(removed={"rows": []}),
        "text",
    ],
)
def test_a_training_that_is_not_whole_is_refused(make_card: Any, bad: Any) -> None:
    with pytest.raises(DataError):
        render_html(trained(make_card(), bad))


def test_one_epoch_is_no_line(make_card: Any) -> None:
    card = trained(make_card(), part(curves={"labelled": [1.0]}, epochs=1))
    assert "losses" not in draw(card)
    assert "trained for 1 epoch." in render_html(card)
    assert "| labelled | ▁ | 1 | 1 |" in render_markdown(card)


def test_rows_after_the_public_ones_are_counted_and_not_named() -> None:
    model = SimpleNamespace(history_=LOSSES, interrupted_=True, removed_=np.array([3, 9, 10, 12]))
    (found,) = training_parts(Student(model, ["a"]), public_rows=10)
    assert found["removed"] == {"rows": [3, 9], "records": 2}
    assert (found["epochs"], found["interrupted"], found["curves"]) == (3, True, LOSSES)
    json.dumps(found, allow_nan=False)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200))
def test_a_curve_in_letters_keeps_the_order_of_its_ends(values: list[float]) -> None:
    drawn = sparkline(values)
    assert len(drawn) == min(len(values), 24)
    assert set(drawn) <= set("▁▂▃▄▅▆▇█")
    if values[0] <= values[-1]:
        assert drawn[0] <= drawn[-1]
    else:
        assert drawn[0] >= drawn[-1]
