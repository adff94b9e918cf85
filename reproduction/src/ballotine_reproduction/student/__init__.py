"""Experiments on students: against DP-SGD, against no privacy, and against each other."""

from ballotine_reproduction.table import Experiment, later

_PAPER = "student"

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        _PAPER,
        "labels",
        "students of several labels against DP-SGD",
        later(f"{__name__}.several", "several_labels"),
    ),
    Experiment(
        _PAPER,
        "dpsgd",
        "students of one label against DP-SGD: Adult, MNIST",
        later(f"{__name__}.single", "single_label"),
    ),
    Experiment(
        _PAPER,
        "kinds",
        "many students on the same answers, by kind of data: tables, several labels",
        later(f"{__name__}.kinds", "kinds"),
    ),
)
