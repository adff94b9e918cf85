"""Experiments on students: against DP-SGD, against no privacy, and against each other."""

from ballotine_reproduction.experiment import catalogue

EXPERIMENTS = catalogue(
    __name__,
    {
        "labels": ("several_labels", "students of several labels against DP-SGD"),
        "dpsgd": ("one_label", "students of one label against DP-SGD: Adult, MNIST"),
        "kinds": ("kinds", "many students on the same answers: tables, several labels"),
    },
)
