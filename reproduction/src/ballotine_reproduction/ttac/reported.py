"""Numbers printed in the paper on heterogeneous data (Dodwadmath and Stich)."""

from __future__ import annotations

from typing import TypeAlias

Cell: TypeAlias = tuple[str, int, int, float]
"""A method, the similarity in percent, the number of queries, γ."""

QUERIES = (100, 1000)
GAMMAS = (0.1, 0.5)
SIMILARITIES = (0, 1, 100)

_ROWS: dict[tuple[str, int], tuple[float, float, float, float]] = {
    ("conventional", 0): (8.77, 9.46, 9.53, 10.54),
    ("ttac", 0): (21.05, 61.41, 23.36, 70.95),
    ("conventional", 1): (18.41, 56.80, 20.57, 69.59),
    ("ttac", 1): (25.57, 74.02, 22.64, 82.83),
    ("conventional", 100): (21.91, 77.86, 26.94, 90.73),
    ("ttac", 100): (21.37, 75.82, 24.69, 90.06),
}

TABLE1: dict[Cell, float] = {
    (method, s, queries, gamma): value
    for (method, s), row in _ROWS.items()
    for (queries, gamma), value in zip(((q, g) for q in QUERIES for g in GAMMAS), row, strict=True)
}
"""Student's accuracy in percent."""

EPSILONS = {
    (100, 0.1): "11.75",
    (100, 0.5): "> 20",
    (1000, 0.1): "> 20",
    (1000, 0.5): "≫ 20",
}
"""The paper's ε for each number of queries and γ."""

FIGURE2_SAYS = (
    "paper: its Figure 2 is a picture without numbers; it says that conventional teachers label "
    "like guessing (about 10 %) at 0 % similarity, that TTAC is better at 0 and 1 %, and that "
    "both are close at 10 and 100 %"
)
