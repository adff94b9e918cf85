"""Plain line charts: one panel per set, one line per mechanism or account."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ballotine_reproduction.multiwinner.summary import Spread

COLOURS = ("#00695c", "#c2410c", "#4338ca", "#a16207", "#be185d", "#475569", "#0284c7")
MODES = {"paper": "dot", "strict": "solid", "fixed": "dash"}
"""Ways of counting answered queries, and how their lines are drawn."""

PANEL_WIDTH = 420
PANEL_HEIGHT = 320


@dataclass(frozen=True)
class Line:
    """One line: where, how high, and how sure; without markers it goes in steps."""

    name: str
    x: Sequence[float]
    y: Sequence[Spread]
    dash: str = "solid"
    colour: int = 0
    markers: bool = True


Panels = Mapping[str, Sequence[Line]]
"""Lines by the title of the panel they belong to."""


def chart(
    panels: Panels,
    x_title: str,
    y_title: str,
    *,
    logarithmic: bool = False,
    columns: int = 3,
    mark: Mapping[str, float] | None = None,
) -> go.Figure:
    """Panels side by side, with one legend for all.

    Args:
        panels: the lines of each panel.
        x_title: below every panel.
        y_title: beside the first panel of every row.
        logarithmic: whether heights are shown in powers of ten.
        columns: panels per row.
        mark: a place on the x-axis to mark in a panel, by its title.
    """
    titles = list(panels)
    width = min(columns, len(titles))
    rows = -(-len(titles) // width)
    figure = make_subplots(
        rows, width, subplot_titles=titles, horizontal_spacing=0.08, vertical_spacing=0.25 / rows
    )
    shown: set[str] = set()
    for number, (title, lines) in enumerate(panels.items()):
        place = {"row": number // width + 1, "col": number % width + 1}
        for line in lines:
            figure.add_trace(_trace(line, line.name not in shown), **place)
            shown.add(line.name)
        if mark and title in mark:
            figure.add_vline(mark[title], line={"color": "#dc2626", "width": 1.5}, **place)
        figure.update_xaxes(title_text=x_title, **place)
        if place["col"] == 1:
            figure.update_yaxes(title_text=y_title, **place)
    if logarithmic:
        figure.update_yaxes(type="log", dtick="D2")
    figure.update_layout(
        template="plotly_white",
        width=PANEL_WIDTH * width + 120,
        height=PANEL_HEIGHT * rows + 130,
        legend={"orientation": "h", "yanchor": "top", "y": -0.28 / rows, "x": 0},
        margin={"l": 70, "r": 30, "t": 50, "b": 60},
    )
    return figure


def _trace(line: Line, in_legend: bool) -> go.Scatter:
    colour = COLOURS[line.colour % len(COLOURS)]
    return go.Scatter(
        x=list(line.x),
        y=[each.mean for each in line.y],
        error_y={"type": "data", "array": [each.half for each in line.y], "thickness": 1},
        mode="lines+markers" if line.markers else "lines",
        name=line.name,
        legendgroup=line.name,
        showlegend=in_legend,
        line={
            "color": colour,
            "dash": line.dash,
            "width": 2,
            "shape": "linear" if line.markers else "hv",
        },
        marker={"size": 5},
    )
