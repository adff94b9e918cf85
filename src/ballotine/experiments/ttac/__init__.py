"""Experiments of the paper "Preserving privacy with PATE for heterogeneous data" (TTAC)."""

from ballotine.experiments.table import Experiment
from ballotine.experiments.ttac.convolutions import convolutions
from ballotine.experiments.ttac.figure2 import figure2
from ballotine.experiments.ttac.marked import canary
from ballotine.experiments.ttac.paid import private
from ballotine.experiments.ttac.table1 import table1

_PAPER = "ttac"

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(_PAPER, "table1", "students by queries, γ and similarity, MNIST", table1),
    Experiment(_PAPER, "figure2", "right labels against γ by similarity, MNIST", figure2),
    Experiment(
        _PAPER, "convolutions", "the same labels by convolutional networks, MNIST", convolutions
    ),
    Experiment(
        _PAPER, "private", "rounds with noise that is paid for, 10 to 250 teachers", private
    ),
    Experiment(_PAPER, "canary", "does one record still change one ballot at most?", canary),
)
