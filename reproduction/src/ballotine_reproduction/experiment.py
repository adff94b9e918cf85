"""An experiment: one table or figure of a paper, as one command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from ballotine.errors import ParameterError
from ballotine.progress import Progress, Silent
from ballotine_reproduction.table import Table


@dataclass(frozen=True)
class Setting:
    """How an experiment is carried out.

    Attributes:
        data: folder that holds named sets (and saved votes); None for what can be fetched.
        cache: folder for results that tables share, such as teachers' votes.
        seeds: number of repetitions, over which means and intervals are taken.
        jobs: processes that train teachers.
        quick: a small version that takes about a minute; its numbers mean little.
        progress: where progress is reported.
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

    def seed_range(self, quick: int = 1) -> range:
        """The seeds of the repetitions.

        Args:
            quick: how many a quick run uses at most.
        """
        return range(min(self.seeds, quick) if self.quick else self.seeds)


@dataclass(frozen=True)
class Experiment:
    """A paper, the name of one of its tables or figures, and what produces it."""

    paper: str
    name: str
    help: str
    run: Callable[[Setting], Table]


def catalogue(package: str, experiments: Mapping[str, tuple[str, str]]) -> tuple[Experiment, ...]:
    """The experiments of one paper; their modules are loaded when they run.

    Args:
        package: the package of the paper.
        experiments: by name, the module with the function of that name, and a help text.
    """
    paper = package.rpartition(".")[2]
    return tuple(
        Experiment(paper, name, text, _loading(f"{package}.{module}", name))
        for name, (module, text) in experiments.items()
    )


def _loading(module: str, name: str) -> Callable[[Setting], Table]:
    def run(setting: Setting) -> Table:
        table: Table = getattr(import_module(module), name)(setting)
        return table

    return run
