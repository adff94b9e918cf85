"""Line charts, all alike: one panel or several, with one legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ballotine_reproduction.summary import Interval

if TYPE_CHECKING:
    import plotly.graph_objects as go

COLOURS = ("#00695c", "#c2410c", "#4338ca", "#a16207", "#be185d", "#475569", "#0284c7", "#15803d")
PER_ROW = 3
PANEL_WIDTH, PANEL_HEIGHT = 420, 320
ONLY_WIDTH, ONLY_HEIGHT = 780, 410
"""Of the panel of a chart that has no other."""


@dataclass(frozen=True)
class Line:
    """A named series of points.

    Attributes:
        name: what the legend says.
        x: positions.
        y: heights.
        half_x: half the widths of the positions' intervals, if they have any.
        half_y: half the widths of the heights' intervals, if they have any.
        colour: which of `COLOURS`.
        dash: how the line is drawn.
        mode: what is drawn; steps go from point to point at right angles.
        open_circles: whether other points can be seen through its points.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    half_x: Sequence[float] | None = None
    half_y: Sequence[float] | None = None
    colour: int = 0
    dash: str = "solid"
    mode: Literal["lines", "markers", "lines+markers", "steps"] = "lines"
    open_circles: bool = False

    @classmethod
    def of_intervals(
        cls, name: str, x: Sequence[float], heights: Sequence[Interval], **look: Any
    ) -> Line:
        """Heights with their intervals; ``look`` as in the attributes."""
        halves = [each.half or 0.0 for each in heights]
        options = {"mode": "lines+markers", **look}
        return cls(name, x, [each.mean for each in heights], half_y=halves, **options)


def chart(
    panels: Mapping[str, Sequence[Line]],
    x_title: str,
    y_title: str,
    *,
    logarithmic: bool = False,
    marks: Mapping[str, float] | None = None,
    levels: Mapping[str, float] | None = None,
) -> go.Figure:
    """Draw panels side by side.

    Args:
        panels: the lines of each panel, by its title.
        x_title: below every panel.
        y_title: beside the first panel of every row.
        logarithmic: whether heights are shown in powers of ten.
        marks: a position to mark in a panel, by its title.
        levels: heights to mark in every panel, by what is written there.
    """
    from plotly.subplots import make_subplots

    width = min(PER_ROW, len(panels))
    rows = -(-len(panels) // width)
    spacing = {"horizontal_spacing": 0.08, "vertical_spacing": 0.25 / rows}
    figure = make_subplots(rows, width, subplot_titles=list(panels), **spacing)
    shown: set[str] = set()
    for number, (title, lines) in enumerate(panels.items()):
        place = {"row": number // width + 1, "col": number % width + 1}
        for line in lines:
            figure.add_trace(_trace(line, line.name not in shown), **place)
            shown.add(line.name)
        if marks and title in marks:
            figure.add_vline(marks[title], line={"color": "#dc2626", "width": 1.5}, **place)
        figure.update_xaxes(title_text=x_title, **place)
        if place["col"] == 1:
            figure.update_yaxes(title_text=y_title, **place)
    for text, height in (levels or {}).items():
        _mark_level(figure, height, text)
    figure.update_yaxes(**({"type": "log", "dtick": "D2"} if logarithmic else {}))
    figure.update_layout(**_layout(width, rows))
    return figure


def _layout(width: int, rows: int) -> dict[str, Any]:
    single = width * rows == 1
    wide, high = (ONLY_WIDTH, ONLY_HEIGHT) if single else (PANEL_WIDTH, PANEL_HEIGHT)
    return {
        "template": "plotly_white",
        "width": wide * width + 120,
        "height": high * rows + 130,
        "legend": {"orientation": "h", "yanchor": "top", "y": -0.28 / rows, "x": 0},
        "margin": {"l": 70, "r": 30, "t": 50, "b": 60},
        "hovermode": "closest",
    }


def _mark_level(figure: go.Figure, height: float, text: str) -> None:
    figure.add_hline(
        height,
        line={"color": "#334155", "width": 1.2, "dash": "dash"},
        annotation_text=text,
        annotation_position="top right",
    )


def _trace(line: Line, in_legend: bool) -> go.Scatter:
    import plotly.graph_objects as go

    colour = COLOURS[line.colour % len(COLOURS)]
    steps = line.mode == "steps"
    return go.Scatter(
        x=list(line.x),
        y=list(line.y),
        error_x=_bars(line.half_x),
        error_y=_bars(line.half_y),
        mode="lines" if steps else line.mode,
        name=line.name,
        legendgroup=line.name,
        showlegend=in_legend,
        line={
            "color": colour,
            "dash": line.dash,
            "width": 2,
            "shape": "hv" if steps else "linear",
        },
        marker={
            "color": colour,
            "size": 14 if line.open_circles else 6,
            "symbol": "circle-open" if line.open_circles else "circle",
        },
    )


def _bars(halves: Sequence[float] | None) -> dict[str, object] | None:
    if halves is None:
        return None
    return {"type": "data", "array": list(halves), "thickness": 1}
