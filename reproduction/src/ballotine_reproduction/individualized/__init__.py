"""Experiments of the paper "Individualized PATE" (Boenisch et al., PoPETs 2023)."""

from ballotine_reproduction.individualized.class_budget_tables import table6, table10, table11
from ballotine_reproduction.individualized.figures import figure1, figure2
from ballotine_reproduction.individualized.influence import figure3
from ballotine_reproduction.individualized.students import table8, table9
from ballotine_reproduction.individualized.three_groups import table1
from ballotine_reproduction.individualized.two_groups import table5, table7
from ballotine_reproduction.table import Experiment

_PAPER = "individualized"

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(_PAPER, "table1", "three groups with ε = 1, 2, 3, MNIST", table1),
    Experiment(_PAPER, "table5", "labels by method and budget split, MNIST", table5),
    Experiment(_PAPER, "table6", "student's accuracy, class-dependent budgets, Adult", table6),
    Experiment(_PAPER, "table7", "labels by method and budget split, Adult", table7),
    Experiment(_PAPER, "table8", "student's accuracy by method and budget split, MNIST", table8),
    Experiment(_PAPER, "table9", "student's accuracy by method and budget split, Adult", table9),
    Experiment(_PAPER, "table10", "teachers' and labels' accuracy, the same budgets", table10),
    Experiment(_PAPER, "table11", "labels under class-dependent budgets, Adult", table11),
    Experiment(_PAPER, "figure1", "privacy cost of labels: standard and upsampling", figure1),
    Experiment(_PAPER, "figure2", "labels against the weighted ratio of budgets", figure2),
    Experiment(_PAPER, "figure3", "ratio of costs by ratio of influence, to tune methods", figure3),
)
