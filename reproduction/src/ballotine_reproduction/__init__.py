"""Tables and figures of the PATE papers: one package per paper, one command per table."""

from ballotine.errors import ParameterError
from ballotine_reproduction import individualized, multiwinner, patepp, student, ttac
from ballotine_reproduction.experiment import Experiment, Setting
from ballotine_reproduction.table import Table

EXPERIMENTS: tuple[Experiment, ...] = (
    *individualized.EXPERIMENTS,
    *multiwinner.EXPERIMENTS,
    *patepp.EXPERIMENTS,
    *student.EXPERIMENTS,
    *ttac.EXPERIMENTS,
)


def find(paper: str, name: str) -> Experiment:
    """The experiment of that paper and name."""
    for experiment in EXPERIMENTS:
        if (experiment.paper, experiment.name) == (paper, name):
            return experiment
    papers = {experiment.paper for experiment in EXPERIMENTS}
    if paper not in papers:
        raise ParameterError(f"no experiments for {paper!r}; papers: {', '.join(sorted(papers))}")
    names = ", ".join(e.name for e in EXPERIMENTS if e.paper == paper)
    raise ParameterError(f"{paper} has no experiment {name!r}; available: {names}")


__all__ = ["EXPERIMENTS", "Experiment", "Setting", "Table", "find"]
