from __future__ import annotations

import json
from typing import Any

from ballotine.report.figures import MOST_CLASSES, answers, confusion, cost, draw, label, recall


def test_a_whole_card_has_four_figures(make_card: Any) -> None:
    figures = draw(make_card())
    assert set(figures) == {"cost", "answers", "recall", "confusion"}
    json.dumps(figures, allow_nan=False)


def test_what_the_card_does_not_hold_is_not_drawn(make_card: Any) -> None:
    card = make_card(evaluation=None, history=[])
    card["answers"]["by_class"] = {str(i): i for i in range(MOST_CLASSES + 1)}
    assert draw(card) == {}


def test_plotly_is_given_no_markup(hostile_names: list[str]) -> None:
    figures = [
        answers(dict.fromkeys(hostile_names, 1)),
        recall([{"class": each, "rows": 1, "recall": 0.5} for each in hostile_names]),
        confusion(hostile_names, [[1] * len(hostile_names)] * len(hostile_names)),
    ]
    for figure in figures:
        text = json.dumps(figure, ensure_ascii=False)
        assert "<" not in text.replace("<extra></extra>", "")
        assert all(c.isprintable() for c in text)


def test_label_escapes_and_shortens() -> None:
    assert label("<b>&") == "&lt;b&gt;&amp;"
    assert label("x" * 100) == "x" * 13 + "…"


def test_names_that_look_alike_keep_their_own_bar() -> None:
    figure = answers({"a": 3, "a\x00": 5, "\u202ea": 7})
    assert figure["data"][0]["y"] == [0, 1, 2]
    assert figure["data"][0]["x"] == [3, 5, 7]
    assert figure["layout"]["yaxis"]["ticktext"] == ["a", "a", "a"]


def test_cost_ends_at_the_last_point_and_rounds_nothing_down() -> None:
    history = [{"asked": i, "answered": i, "epsilon": 0.00111 * i} for i in range(5001)]
    figure = cost(history, 8.0)
    line = figure["data"][0]
    assert len(line["x"]) <= 1000
    assert (line["x"][-1], line["y"][-1]) == (5000, 0.00111 * 5000)
    shown = [float(text.rpartition("= ")[2]) for text in line["text"]]
    assert all(text >= true for text, true in zip(shown, line["y"], strict=True))


def test_the_budget_line_lies_at_the_budget_and_is_in_view() -> None:
    history = [{"asked": i, "answered": i, "epsilon": 0.1 * i} for i in range(3)]
    layout = cost(history, 6.5)["layout"]
    (line,) = layout["shapes"]
    assert line["y0"] == line["y1"] == 6.5
    assert layout["yaxis"]["range"][1] > 6.5
    assert layout["annotations"][0]["text"] == "budget ε = 6.5"


def test_a_class_without_rows_has_no_recall() -> None:
    bars = recall([{"class": "a", "rows": 0, "recall": None}])["data"][0]
    assert bars["text"] == ["–"]


def test_confusion_is_coloured_by_the_share_of_the_true_class() -> None:
    cells = confusion(["a", "b"], [[3, 1], [0, 0]])["data"][0]
    assert cells["z"] == [[0.75, 0.25], [0.0, 0.0]]
    assert cells["text"] == [[3, 1], [0, 0]]
