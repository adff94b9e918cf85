"""Experiments of the paper "Preserving privacy with PATE for heterogeneous data" (TTAC)."""

from ballotine_reproduction.table import Experiment, later

_PAPER = "ttac"
_WHAT = {
    "table1": ("table1", "students by queries, γ and similarity, MNIST"),
    "figure2": ("figure2", "right labels against γ by similarity, MNIST"),
    "convolutions": ("convolutions", "the same labels by convolutional networks, MNIST"),
    "private": ("private_rounds", "rounds with noise that is paid for, 10 to 250 teachers"),
    "canary": ("canary", "does one record still change one ballot at most?"),
}

EXPERIMENTS: tuple[Experiment, ...] = tuple(
    Experiment(_PAPER, name, says, later(f"{__name__}.{module}", name))
    for name, (module, says) in _WHAT.items()
)
