"""What people see: a console, progress bars, and text that cannot drive the terminal."""

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
LONGEST_TOLD = 200


def plain(value: object, style: str = "", longest: int = 60) -> Text:
    """Text from outside: no markup, no escape sequences, no end of line."""
    return Text(printable(value, longest), style=style)


def complain(message: str) -> None:
    """One error, on standard error."""
    line = Text("error: ", style="bold red") + plain(message, longest=LONGEST_MESSAGE)
    errors.print(line, soft_wrap=True)


def warn(message: str) -> None:
    """One warning, on standard error."""
    line = Text("warning: ", style="bold yellow") + plain(message, longest=LONGEST_MESSAGE)
    errors.print(line, soft_wrap=True)


class RateColumn(ProgressColumn):
    """How many steps are done in a second, or in a minute when they are slow."""

    def render(self, task: Task) -> Text:
        """The rate, once there is one."""
        speed = task.finished_speed or task.speed
        if not speed:
            return Text("")
        rate = f"{speed:.1f}/s" if speed >= 1 else f"{60 * speed:.1f}/min"
        return Text(rate, style="progress.data.speed")


class ToldBars(Bars):
    """Bars, and under the last of them what its stage has to tell, on one line."""

    told = Text()

    def get_renderables(self) -> Iterable[RenderableType]:
        """The bars; a line of its own leaves them their room on a narrow terminal."""
        yield from super().get_renderables()
        if self.told:
            yield Padding(Text.assemble(self.told, no_wrap=True, overflow="ellipsis"), (0, 0, 0, 2))


class RichProgress:
    """One bar per stage, with its rate, time used, time left, and what it has to tell."""

    def __init__(self) -> None:
        self._bars = ToldBars(
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
        # A budget may end before the pool does: the stage is over all the same.
        done = self._bars.tasks[task].completed
        self._bars.update(task, total=max(done, 1), completed=max(done, 1))

    def tell(self, text: str) -> None:
        """Show a few words under the latest bar."""
        self._bars.told = plain(text, "dim", longest=LONGEST_TOLD)
