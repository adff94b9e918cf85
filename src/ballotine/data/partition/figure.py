"""A chart of the classes of each teacher's records, for the holder only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ballotine.data.partition.base import Partition, check_classes
from ballotine.types import IntArray, Labels

if TYPE_CHECKING:
    import plotly.graph_objects as go

PRIVATE = "private: for the holder's eyes only"
SCALE = [[0.0, "#ffffff"], [0.001, "#eaf6f5"], [0.3, "#85c4c9"], [1.0, "#2a5674"]]
"""White means none at all, so that a few records of a class differ from none."""
FEW = 30


def label_counts(partition: Partition, labels: Labels) -> tuple[Labels, IntArray]:
    """Return class names, and each teacher's records per class, (teachers, classes): private."""
    check_classes(labels)
    names, codes = np.unique(np.asarray(labels), return_inverse=True)
    counts = [np.bincount(codes[group], minlength=len(names)) for group in partition.shares]
    return names, np.array(counts, dtype=np.int64)


def label_figure(partition: Partition, labels: Labels) -> go.Figure:
    """Plot the share of each class among each teacher's records. Private, as its title says."""
    import plotly.graph_objects as go

    names, counts = label_counts(partition, labels)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    figure = go.Figure(
        go.Heatmap(
            z=shares.T,
            x=list(range(len(counts))),
            y=[str(name) for name in names],
            customdata=counts.T,
            hovertemplate="teacher %{x}, class %{y}: %{customdata} records (%{z:.0%})"
            "<extra></extra>",
            colorscale=SCALE,
            colorbar={"title": {"text": "share of<br>records"}, "tickformat": ".0%"},
            xgap=1 if len(counts) <= FEW else 0,
            ygap=1,
            zmin=0.0,
            zmax=1.0,
        )
    )
    figure.update_layout(
        template="plotly_white",
        title={"text": f"Classes per teacher ({PRIVATE})", "x": 0.02},
        plot_bgcolor="#f0f0f0",
        margin={"l": 70, "r": 30, "t": 60, "b": 60},
    )
    figure.update_xaxes(
        title_text="teacher", showgrid=False, dtick=1 if len(counts) <= FEW else None
    )
    figure.update_yaxes(title_text="class", type="category", showgrid=False)
    return figure
