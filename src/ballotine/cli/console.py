"""Console output: messages, progress bars, and text without terminal escapes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars
from rich.text import Text

from ballotine.progress import Advance
from ballotine.text import printable

console = Console()
errors = Console(stderr=True)
LONGEST_MESSAGE = 2000
LONGEST_NOTE = 200


def plain(value: object, style: str = "", longest: int = 60) -> Text:
    """Untrusted text: without markup, escape sequences or line breaks."""
    return Text(printable(value, longest), style=style)


def complain(message: str) -> None:
    """Print an error message to standard error."""
    line = Text("error: ", style="bold red") + plain(message, longest=LONGEST_MESSAGE)
    errors.print(line, soft_wrap=True)


def warn(message: str) -> None:
    """Print a warning to standard error."""
    line = Text("warning: ", style="bold yellow") + plain(message, longest=LONGEST_MESSAGE)
    errors.print(line, soft_wrap=True)


class RateColumn(ProgressColumn):
    """Steps per second, or per minute if they are slow."""

    def render(self, task: Task) -> Text:
        """The rate; empty until it is known."""
        speed = task.finished_speed or task.speed
        if not speed:
            return Text("")
        rate = f"{speed:.1f}/s" if speed >= 1 else f"{60 * speed:.1f}/min"
        return Text(rate, style="progress.data.speed")


class BarsWithNote(Bars):
    """Progress bars, with a one-line note of the current stage below them."""

    note = Text()

    def get_renderables(self) -> Iterable[RenderableType]:
        """The bars and the note; on its own line it fits on a narrow terminal too."""
        yield from super().get_renderables()
        if self.note:
            yield Padding(Text.assemble(self.note, no_wrap=True, overflow="ellipsis"), (0, 0, 0, 2))


class RichProgress:
    """One bar per stage, with its rate, elapsed and remaining time, and a note."""

    def __init__(self) -> None:
        self._bars = BarsWithNote(
            SpinnerColumn(finished_text="✓"),
            TextColumn("{task.description:<10}"),
            BarColumn(),
            MofNCompleteColumn(),
            RateColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=errors,
        )

    def __enter__(self) -> RichProgress:
        self._bars.start()
        return self

    def __exit__(self, *details: object) -> None:
        self._bars.stop()

    @contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Advance]:
        """Show a bar for one stage."""
        self.tell("")
        task = self._bars.add_task(name, total=total)
        yield lambda steps: self._bars.advance(task, steps)
        # The budget may end before the pool does: show the stage as finished.
        done = self._bars.tasks[task].completed
        self._bars.update(task, total=max(done, 1), completed=max(done, 1))

    def tell(self, text: str) -> None:
        """Show a note below the bars."""
        self._bars.note = plain(text, "dim", longest=LONGEST_NOTE)
