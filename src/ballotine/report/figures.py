"""The plotly figures of the report, as plain JSON.

Colours are names of the page's CSS variables; the page's script puts the current theme's
values in. Labels are positions with a text beside them, never category names: two hostile
names that look alike must not fall into one bar. Plotly reads a small HTML dialect in every
text, so names are escaped for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import plotly.graph_objects as go

from ballotine.report.words import name, number, percent, up

Figure = dict[str, Any]

_ACCENT, _SOFT, _INK, _MUTED, _LINE, _CLEAR = (
    "var(--accent)",
    "var(--accent-soft)",
    "var(--ink)",
    "var(--muted)",
    "var(--line)",
    "rgba(0,0,0,0)",
)
_LABEL = 14
_ROOM_FOR_NUMBERS = 64
_MOST_POINTS = 1000
_MOST_CELLS_WITH_TEXT = 12
MOST_CLASSES = 40
"""More classes than this are told in a table alone: a chart of them cannot be read."""


def draw(card: Mapping[str, Any]) -> dict[str, Figure]:
    """Every figure the card has numbers for, by the name the page knows it under."""
    figures: dict[str, Figure] = {}
    if len(card["history"]) > 1:
        figures["cost"] = cost(card["history"], card["guarantee"]["budget"]["epsilon"])
    by_class = card["answers"]["by_class"]
    if 0 < len(by_class) <= MOST_CLASSES:
        figures["answers"] = answers(by_class)
    evaluation = card["evaluation"]
    if evaluation is not None and 0 < len(evaluation["per_class"]) <= MOST_CLASSES:
        figures["recall"] = recall(evaluation["per_class"])
        classes = [row["class"] for row in evaluation["per_class"]]
        figures["confusion"] = confusion(classes, evaluation["confusion"])
    return figures


def cost(history: list[dict[str, Any]], budget: float) -> Figure:
    """ε against the number of queries asked, under the line of the budget."""
    stride = -(-len(history) // _MOST_POINTS)
    points = history[::-1][::stride][::-1]
    asked = [point["asked"] for point in points]
    spent = [point["epsilon"] for point in points]
    figure = go.Figure(
        go.Scatter(
            x=asked,
            y=spent,
            mode="lines",
            line={"color": _ACCENT, "width": 3},
            fill="tozeroy",
            fillcolor=_SOFT,
            text=[
                f"{point['asked']:,} asked, {point['answered']:,} answered<br>"
                f"ε = {up(point['epsilon'])}"
                for point in points
            ],
            hovertemplate="%{text}<extra></extra>",
        )
    )
    figure.add_shape(
        type="line",
        xref="paper",
        x0=0,
        x1=1,
        y0=budget,
        y1=budget,
        line={"color": _INK, "width": 1.5, "dash": "dash"},
    )
    figure.add_annotation(
        xref="paper",
        x=0,
        xanchor="left",
        y=budget,
        yanchor="bottom",
        yshift=2,
        text=f"budget ε = {number(budget)}",
        showarrow=False,
        font={"color": _INK},
    )
    figure.update_xaxes(_axis("queries asked", range=[0, max(*asked, 1)]))
    figure.update_yaxes(
        _axis("", range=[0, 1.15 * max(budget, *spent)], gridcolor=_LINE, showgrid=True)
    )
    return _finished(figure, 340)


def answers(by_class: Mapping[str, int]) -> Figure:
    """How many answers of each class were released."""
    counts = list(by_class.values())
    return _bars(list(by_class), counts, [f"{count:,}" for count in counts], "released answers")


def recall(per_class: list[dict[str, Any]]) -> Figure:
    """The share of each class's labelled public rows that the student gets right."""
    return _bars(
        [row["class"] for row in per_class],
        [100 * (row["recall"] or 0) for row in per_class],
        [percent(row["recall"]) for row in per_class],
        "recall in percent",
        longest=100,
    )


def confusion(classes: list[Any], matrix: list[list[int]]) -> Figure:
    """True class by predicted class, coloured by the share of the true class."""
    labels = [label(each) for each in classes]
    places = list(range(len(labels)))
    shares = [[count / max(sum(row), 1) for count in row] for row in matrix]
    few = len(labels) <= _MOST_CELLS_WITH_TEXT
    figure = go.Figure(
        go.Heatmap(
            x=places,
            y=places,
            z=shares,
            zmin=0,
            zmax=1,
            text=matrix,
            texttemplate="%{text}" if few else "",
            customdata=[[f"{true} taken for {guess}" for guess in labels] for true in labels],
            hovertemplate="%{customdata}: %{text}<extra></extra>",
            colorscale=[[0, "var(--cell)"], [1, _ACCENT]],
            showscale=False,
            xgap=2,
            ygap=2,
        )
    )
    ticks = {"tickmode": "array", "tickvals": places, "ticktext": labels, "showgrid": False}
    figure.update_xaxes(_axis("", side="top", **ticks))
    figure.update_yaxes(_axis("", autorange="reversed", **ticks))
    return _finished(figure, 60 + min(36, 1400 // max(len(labels), 1)) * len(labels))


def label(value: object) -> str:
    """A class's name as plotly may show it: short, and without plotly's own markup."""
    return escape(name(value, _LABEL), quote=False)


def _bars(
    classes: list[Any],
    lengths: Sequence[float],
    texts: list[str],
    title: str,
    longest: float | None = None,
) -> Figure:
    places = list(range(len(classes)))
    labels = [label(each) for each in classes]
    figure = go.Figure(
        go.Bar(
            x=lengths,
            y=places,
            orientation="h",
            marker={"color": _ACCENT},
            text=texts,
            textposition="outside",
            cliponaxis=False,
            customdata=labels,
            hovertemplate="%{customdata}: %{text}<extra></extra>",
        )
    )
    reach = longest or max([*lengths, 1])
    figure.update_xaxes(_axis(title, range=[0, reach], showticklabels=False))
    figure.update_yaxes(
        _axis("", autorange="reversed", tickmode="array", tickvals=places, ticktext=labels)
    )
    figure.update_layout(bargap=0.35)
    return _finished(figure, 70 + 30 * len(classes), right=_ROOM_FOR_NUMBERS)


def _axis(title: str, **more: Any) -> dict[str, Any]:
    return {
        "title": {"text": title, "font": {"color": _MUTED, "size": 13}},
        "tickfont": {"color": _MUTED, "size": 12},
        "ticks": "",
        "linecolor": _LINE,
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
        "fixedrange": True,
    } | more


def _finished(figure: go.Figure, height: int, right: int = 8) -> Figure:
    figure.update_layout(
        template="none",
        height=height,
        margin={"l": 8, "r": right, "t": 8, "b": 8},
        paper_bgcolor=_CLEAR,
        plot_bgcolor=_CLEAR,
        font={"color": _INK, "size": 13},
        showlegend=False,
        dragmode=False,
        hoverlabel={
            "bgcolor": "var(--sheet)",
            "bordercolor": _LINE,
            "font": {"color": _INK},
            "align": "left",
        },
    )
    content: Figure = figure.to_plotly_json()
    content["layout"].pop("template", None)
    return content
