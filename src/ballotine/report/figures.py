"""The Plotly figures of the report, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from ballotine.report.canvas import (
    ACCENT,
    CELL,
    INK,
    LINE,
    MUTED,
    REST,
    SOFT,
    Figure,
    axis,
    bars,
    finished,
    label,
    thinned,
)
from ballotine.report.formatting import number, percent, up
from ballotine.report.promise import mode_of
from ballotine.report.training import curves_of, second_stage
from ballotine.students import losses_in

_MOST_CELLS_WITH_TEXT = 12
MOST_LINES = 6
"""More groups than this are shown in a table only."""
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
MOST_CLASSES = 40
"""More classes than this are shown in a table only: their chart would be unreadable."""


def draw(card: Mapping[str, Any]) -> dict[str, Figure]:
    """Every figure that the card has numbers for, by its name in the template."""
    figures: dict[str, Figure] = {}
    groups = (card.get("individual") or {}).get("groups", [])
    if len(card["history"]) > 1 and len(groups) > 1:
        if len(groups) <= MOST_LINES:
            figures["cost"] = group_cost(card["history"], groups)
    elif len(card["history"]) > 1:
        word = mode_of(card).ceiling
        figures["cost"] = cost(card["history"], card["guarantee"]["budget"]["epsilon"], word)
    figures |= _answer_figures(card["answers"]) | _student_figures(card["evaluation"])
    return figures | _training_figures(curves_of(card["student"]))


def _answer_figures(given: Mapping[str, Any]) -> dict[str, Figure]:
    if 0 < len(given.get("by_class", ())) <= MOST_CLASSES:
        return {"answers": answers(given["by_class"])}
    if 0 < len(given.get("by_label", ())) <= MOST_CLASSES:
        return {"answers": label_answers(given["by_label"])}
    return {}


def _training_figures(curves: Mapping[str, Sequence[float]]) -> dict[str, Figure]:
    names = losses_in(curves)
    if not names or len(curves[names[0]]) < 2:
        return {}
    return {"losses": losses({each: curves[each] for each in names}, second_stage(curves))}


def _student_figures(evaluation: Mapping[str, Any] | None) -> dict[str, Figure]:
    evaluation = evaluation or {}
    if 0 < len(evaluation.get("per_label", ())) <= MOST_CLASSES:
        return {"labels": label_scores(evaluation["per_label"])}
    per_class = evaluation.get("per_class", ())
    if not 0 < len(per_class) <= MOST_CLASSES:
        return {}
    classes = [row["class"] for row in per_class]
    return {"recall": recall(per_class), "confusion": confusion(classes, evaluation["confusion"])}


def cost(history: list[dict[str, Any]], budget: float, word: str = "budget") -> Figure:
    """ε against the number of queries asked, with a line at the budget."""
    points = thinned(history)
    asked = [point["asked"] for point in points]
    spent = [point["epsilon"] for point in points]
    figure = go.Figure(
        go.Scatter(
            x=asked,
            y=spent,
            mode="lines",
            line={"color": ACCENT, "width": 3},
            fill="tozeroy",
            fillcolor=SOFT,
            text=[
                f"{point['asked']:,} asked, {point['answered']:,} answered<br>"
                f"ε = {up(point['epsilon'])}"
                for point in points
            ],
            hovertemplate="%{text}<extra></extra>",
        )
    )
    text = f"{word} ε = {number(budget) if word == 'budget' else up(budget)}"
    _mark_budget(figure, budget, text, {"width": 1.5, "dash": "dash"})
    figure.update_xaxes(axis("queries asked", range=[0, max(*asked, 1)]))
    figure.update_yaxes(
        axis("", range=[0, 1.15 * max(budget, *spent)], gridcolor=LINE, showgrid=True)
    )
    return finished(figure, 340)


def group_cost(history: list[dict[str, Any]], groups: Sequence[Mapping[str, Any]]) -> Figure:
    """ε of each group against the number of queries asked, with a line at each budget."""
    points = thinned(history)
    asked = [point["asked"] for point in points]
    figure, highest = go.Figure(), 0.0
    for place, group in enumerate(groups):
        spent = [(point.get("groups") or {}).get(group["name"], 0.0) for point in points]
        highest = max(highest, group["budget"], *spent)
        shown = label(group["name"])
        figure.add_scatter(
            x=asked,
            y=spent,
            mode="lines",
            line={"color": ACCENT, "width": 3, "dash": _DASHES[place % len(_DASHES)]},
            text=[
                f"{shown}: ε = {up(value)}<br>{point['asked']:,} asked"
                for value, point in zip(spent, points, strict=True)
            ],
            hovertemplate="%{text}<extra></extra>",
        )
        text = f"{shown}: budget ε = {number(group['budget'])}"
        _mark_budget(figure, group["budget"], text, {"width": 1, "dash": "dot"})
    figure.update_xaxes(axis("queries asked", range=[0, max(*asked, 1)]))
    figure.update_yaxes(axis("", range=[0, 1.15 * highest], gridcolor=LINE, showgrid=True))
    return finished(figure, 380)


def _mark_budget(figure: go.Figure, budget: float, text: str, line: dict[str, Any]) -> None:
    """Draw a labelled horizontal line across the figure."""
    line = {"color": INK} | line
    figure.add_shape(type="line", xref="paper", x0=0, x1=1, y0=budget, y1=budget, line=line)
    figure.add_annotation(
        xref="paper",
        x=0,
        xanchor="left",
        y=budget,
        yanchor="bottom",
        yshift=2,
        text=text,
        showarrow=False,
        font={"color": INK},
    )


def losses(curves: Mapping[str, Sequence[float]], stage_end: int | None = None) -> Figure:
    """Mean losses of each epoch, with a line where a second stage of training starts."""
    figure, epochs = go.Figure(), max(map(len, curves.values()))
    for place, (each, values) in enumerate(curves.items()):
        shown = label(each)
        figure.add_scatter(
            x=list(range(1, len(values) + 1)),
            y=list(values),
            name=shown,
            mode="lines",
            line={
                "color": (ACCENT, INK, MUTED)[place % 3],
                "width": 2.5,
                "dash": _DASHES[place % len(_DASHES)],
            },
            text=[f"epoch {n:,}<br>{shown} {value:.4g}" for n, value in enumerate(values, 1)],
            hovertemplate="%{text}<extra></extra>",
        )
    headroom = 1.05
    if stage_end is not None:
        _mark_stage(figure, stage_end + 0.5)
        headroom = 1.2
    highest = max(max(values) for values in curves.values())
    lowest = min(0.0, *(min(values) for values in curves.values()))
    figure.update_xaxes(axis("epoch", range=[1, epochs]))
    figure.update_yaxes(
        axis("mean loss", range=[lowest, headroom * highest or 1], gridcolor=LINE, showgrid=True)
    )
    content = finished(figure, 340)
    content["layout"] |= {
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"color": INK}},
    }
    return content


def _mark_stage(figure: go.Figure, where: float) -> None:
    line = {"color": INK, "width": 1, "dash": "dot"}
    figure.add_shape(type="line", yref="paper", x0=where, x1=where, y0=0, y1=1, line=line)
    figure.add_annotation(
        x=where,
        xanchor="left",
        yref="paper",
        y=1,
        yanchor="top",
        text="trained again",
        showarrow=False,
        font={"color": INK},
    )


def label_answers(by_label: Sequence[Mapping[str, Any]]) -> Figure:
    """How often each label was answered present and absent, and how often not at all."""
    places = list(range(len(by_label)))
    labels = [label(row["label"]) for row in by_label]
    figure = go.Figure()
    for key, colour in (("present", ACCENT), ("absent", REST), ("abstained", CELL)):
        counts = [row[key] for row in by_label]
        figure.add_bar(
            x=counts,
            y=places,
            orientation="h",
            marker={"color": colour},
            customdata=[f"{name}, {key}: {n:,}" for name, n in zip(labels, counts, strict=True)],
            hovertemplate="%{customdata}<extra></extra>",
        )
    ticks = {"tickmode": "array", "tickvals": places, "ticktext": labels}
    figure.update_xaxes(axis("public rows"))
    figure.update_yaxes(axis("", autorange="reversed", **ticks))
    figure.update_layout(barmode="stack", bargap=0.35)
    return finished(figure, 80 + 30 * len(labels))


def label_scores(per_label: Sequence[Mapping[str, Any]]) -> Figure:
    """The balanced accuracy of each label: 50 % for a student that always answers the same."""
    return bars(
        [row["label"] for row in per_label],
        [100 * (row["bac"] or 0) for row in per_label],
        [percent(row["bac"]) for row in per_label],
        "balanced accuracy in percent",
        longest=100,
    )


def answers(by_class: Mapping[str, int]) -> Figure:
    """How many answers of each class were released."""
    counts = list(by_class.values())
    return bars(list(by_class), counts, [f"{count:,}" for count in counts], "released answers")


def recall(per_class: Sequence[Mapping[str, Any]]) -> Figure:
    """The proportion of each class's test rows that the student classifies correctly."""
    return bars(
        [row["class"] for row in per_class],
        [100 * (row["recall"] or 0) for row in per_class],
        [percent(row["recall"]) for row in per_class],
        "recall in percent",
        longest=100,
    )


def confusion(classes: list[Any], matrix: list[list[int]]) -> Figure:
    """True class by predicted class, coloured by the proportion of the true class."""
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
            customdata=[[f"{true} predicted as {guess}" for guess in labels] for true in labels],
            hovertemplate="%{customdata}: %{text}<extra></extra>",
            colorscale=[[0, "var(--cell)"], [1, ACCENT]],
            showscale=False,
            xgap=2,
            ygap=2,
        )
    )
    ticks = {"tickmode": "array", "tickvals": places, "ticktext": labels, "showgrid": False}
    figure.update_xaxes(axis("", side="top", **ticks))
    figure.update_yaxes(axis("", autorange="reversed", **ticks))
    return finished(figure, 60 + min(36, 1400 // max(len(labels), 1)) * len(labels))
