"""What an experiment gets and gives: settings in, one table (and its figures) out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ballotine.errors import ParameterError
from ballotine.progress import Progress, Silent

if TYPE_CHECKING:
    import plotly.graph_objects as go

Cell: TypeAlias = str | int | float | None


@dataclass(frozen=True)
class Setting:
    """How an experiment is carried out.

    Attributes:
        data: folder that holds named sets (and saved votes); None for what can be fetched.
        cache: folder for teachers' votes, so that tables on the same teachers train them once.
        seeds: how many repetitions; means and intervals are over these.
        jobs: processes that train teachers.
        quick: a small version that shows the road in about a minute; its numbers mean little.
        progress: who is told how far it is.
    """

    data: Path | None = None
    cache: Path | None = None
    seeds: int = 5
    jobs: int = 1
    quick: bool = False
    progress: Progress = field(default_factory=Silent, repr=False)

    def __post_init__(self) -> None:
        if self.seeds < 1 or self.jobs < 1:
            raise ParameterError("an experiment needs at least one seed and one job")


@dataclass(frozen=True)
class Table:
    """A result: rows under columns, what to know when reading them, and figures by name."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
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


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper, as one command."""

    paper: str
    name: str
    help: str
    run: Callable[[Setting], Table]


def later(module: str, name: str) -> Callable[[Setting], Table]:
    """An experiment whose module is loaded when it runs: the list need not wait for torch."""

    def run(setting: Setting) -> Table:
        found: Table = getattr(import_module(module), name)(setting)
        return found

    return run


def text_of(cell: Cell) -> str:
    """A cell as people read it."""
    if cell is None:
        return "–"
    if isinstance(cell, float):
        return f"{cell:.4g}"
    return str(cell)


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return "| " + " | ".join(cells) + " |"
