"""The result of an experiment: one table, and its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from ballotine.errors import ParameterError

if TYPE_CHECKING:
    import plotly.graph_objects as go

Cell: TypeAlias = str | int | float | None
Row: TypeAlias = tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """Rows under columns, notes on how to read them, and figures by name."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Row]
    notes: tuple[str, ...] = ()
    figures: Mapping[str, go.Figure] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ParameterError("every row of a table needs one cell per column")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; rows are mappings from column to cell."""
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        return {"title": self.title, "rows": rows, "notes": list(self.notes)}

    def to_markdown(self) -> str:
        """The table as Markdown, notes as a list below it."""
        lines = [_line(self.columns), _line(["---"] * len(self.columns))]
        lines += [_line([text_of(cell) for cell in row]) for row in self.rows]
        return "\n".join([*lines, "", *(f"- {note}" for note in self.notes)]) + "\n"


def text_of(cell: Cell) -> str:
    """A cell as people read it."""
    if cell is None:
        return "–"
    if isinstance(cell, float):
        return f"{cell:.4g}"
    return str(cell)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
