"""Experiments of the paper on PATE++ (Zhang, Ma, Lou, Xiong, Jiang)."""

from ballotine.experiments.table import Experiment, later

_PAPER = "patepp"
_WHAT = {
    "table1": "students at two noise levels, Fashion-MNIST",
    "table2": "co-teaching and PATE+ by assumed noise rate",
    "table3": "PATE++ by the share of answers it forgets",
    "figure3": "how PATE+ trains and where its peers disagree",
}

EXPERIMENTS: tuple[Experiment, ...] = tuple(
    Experiment(_PAPER, name, says, later(f"{__name__}.{name}", name))
    for name, says in _WHAT.items()
)
