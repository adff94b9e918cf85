"""The look of the figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import plotly.graph_objects as go

COLOURS = ("#00695c", "#c2410c", "#4338ca", "#a16207", "#be185d", "#475569", "#0284c7", "#15803d")
WIDTH, HEIGHT = 900, 540


@dataclass(frozen=True)
class Line:
    """A named row of points.

    Attributes:
        name: what the legend says.
        x: positions; y: heights.
        half: half the width of each height's interval, if known.
        colour: which of `COLOURS`.
        dash: how a line is drawn.
        mode: a line, or points.
        symbol: how points are drawn; open circles let others be seen through them.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    half: Sequence[float] | None = None
    colour: int = 0
    dash: str = "solid"
    mode: Literal["lines", "markers"] = "lines"
    symbol: Literal["circle", "circle-open"] = "circle"


def chart(lines: Sequence[Line], title: str, x: str, y: str) -> go.Figure:
    """Lines and points over one pair of axes."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for line in lines:
        colour = COLOURS[line.colour % len(COLOURS)]
        figure.add_trace(
            go.Scatter(
                x=list(line.x),
                y=list(line.y),
                name=line.name,
                mode=line.mode,
                line={"color": colour, "width": 2.5, "dash": line.dash},
                marker={
                    "color": colour,
                    "size": 7 if line.symbol == "circle" else 14,
                    "symbol": line.symbol,
                },
                error_x=_bars(line),
            )
        )
    figure.update_layout(
        template="plotly_white",
        title={"text": title, "x": 0.02},
        width=WIDTH,
        height=HEIGHT,
        margin={"l": 70, "r": 30, "t": 60, "b": 60},
        hovermode="closest",
    )
    figure.update_xaxes(title_text=x, rangemode="tozero")
    figure.update_yaxes(title_text=y, rangemode="tozero")
    return figure


def level(figure: go.Figure, height: float, text: str) -> None:
    """Mark a height, such as a budget."""
    figure.add_hline(
        height,
        line={"color": "#334155", "width": 1.2, "dash": "dash"},
        annotation_text=text,
        annotation_position="top right",
    )


def _bars(line: Line) -> dict[str, object] | None:
    if line.half is None:
        return None
    return {"type": "data", "array": list(line.half), "thickness": 1.2}
