"""What the figures of the report share: colours, axes, bars and safe labels.

Colours are names of the page's CSS variables; the page's script substitutes the current theme's
values. Bars are placed by position and labelled with text, never by category name: two hostile
names that look alike must not be merged into one bar. Plotly interprets some HTML in every text,
so names are escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import plotly.graph_objects as go

from ballotine.report.formatting import name

Figure = dict[str, Any]

ACCENT, REST, CELL, SOFT, INK, MUTED, LINE, CLEAR = (
    "var(--accent)",
    "var(--rest)",
    "var(--cell)",
    "var(--accent-soft)",
    "var(--ink)",
    "var(--muted)",
    "var(--line)",
    "rgba(0,0,0,0)",
)
_LABEL = 14
_MARGIN_FOR_NUMBERS = 64
_MOST_POINTS = 1000


def label(value: object) -> str:
    """A name as Plotly may show it: short, with its markup escaped."""
    return escape(name(value, _LABEL), quote=False)


def thinned(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """At most a thousand points, including the last."""
    stride = -(-len(history) // _MOST_POINTS)
    return history[::-1][::stride][::-1]


def bars(
    classes: list[Any],
    lengths: Sequence[float],
    texts: list[str],
    title: str,
    longest: float | None = None,
) -> Figure:
    """Horizontal bars, each labelled with its number."""
    places = list(range(len(classes)))
    labels = [label(each) for each in classes]
    figure = go.Figure(
        go.Bar(
            x=lengths,
            y=places,
            orientation="h",
            marker={"color": ACCENT},
            text=texts,
            textposition="outside",
            cliponaxis=False,
            customdata=labels,
            hovertemplate="%{customdata}: %{text}<extra></extra>",
        )
    )
    reach = longest or max([*lengths, 1])
    figure.update_xaxes(axis(title, range=[0, reach], showticklabels=False))
    figure.update_yaxes(
        axis("", autorange="reversed", tickmode="array", tickvals=places, ticktext=labels)
    )
    figure.update_layout(bargap=0.35)
    return finished(figure, 70 + 30 * len(classes), right=_MARGIN_FOR_NUMBERS)


def axis(title: str, **more: Any) -> dict[str, Any]:
    """An axis in the page's style."""
    return {
        "title": {"text": title, "font": {"color": MUTED, "size": 13}},
        "tickfont": {"color": MUTED, "size": 12},
        "ticks": "",
        "linecolor": LINE,
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
        "fixedrange": True,
    } | more


def finished(figure: go.Figure, height: int, right: int = 8) -> Figure:
    """A figure as plain JSON, in the page's style."""
    figure.update_layout(
        template="none",
        height=height,
        margin={"l": 8, "r": right, "t": 8, "b": 8},
        paper_bgcolor=CLEAR,
        plot_bgcolor=CLEAR,
        font={"color": INK, "size": 13},
        showlegend=False,
        dragmode=False,
        hoverlabel={
            "bgcolor": "var(--sheet)",
            "bordercolor": LINE,
            "font": {"color": INK},
            "align": "left",
        },
    )
    content: Figure = figure.to_plotly_json()
    content["layout"].pop("template", None)
    return content
