"""Experiments on students: against DP-SGD, against no privacy, and against each other."""

from ballotine_reproduction.table import Experiment, later

_PAPER = "student"

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        _PAPER,
        "labels",
        "students of several labels against DP-SGD",
        later(f"{__name__}.several_labels", "several_labels"),
    ),
    Experiment(
        _PAPER,
        "dpsgd",
        "students of one label against DP-SGD: Adult, MNIST",
        later(f"{__name__}.one_label", "single_label"),
    ),
    Experiment(
        _PAPER,
        "kinds",
        "many students on the same answers, by kind of data: tables, several labels",
        later(f"{__name__}.kinds", "kinds"),
    ),
)
