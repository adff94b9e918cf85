"""Experiments of the paper on PATE++ (Zhang, Ma, Lou, Xiong, Jiang)."""

from ballotine_reproduction.table import Experiment, later

_PAPER = "patepp"
_WHAT = {
    "teachers": "how good teachers of 240 images can be",
    "choice": "how the recommended student was chosen",
    "table1": "students at two noise levels, Fashion-MNIST",
    "mnist": "the same students on MNIST, at the tighter noise",
    "table2": "co-teaching and PATE+ by assumed noise rate",
    "table3": "PATE++ by the share of answers it forgets",
    "long": "one run with the schedule of the paper, on patches",
    "longer": "the same on pixels: hours, resumable",
    "figure3": "how PATE+ trains and where its peers disagree",
}

EXPERIMENTS: tuple[Experiment, ...] = tuple(
    Experiment(_PAPER, name, says, later(f"{__name__}.{name}", name))
    for name, says in _WHAT.items()
)
