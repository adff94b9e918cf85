"""Experiments of the paper "Individualized PATE" (Boenisch et al., PoPETs 2023)."""

from ballotine_reproduction.experiment import catalogue

EXPERIMENTS = catalogue(
    __name__,
    {
        "table1": ("three_groups", "three groups with ε = 1, 2, 3, MNIST"),
        "table5": ("two_groups", "labels by method and budget split, MNIST"),
        "table6": ("class_budget_tables", "student's accuracy, class-dependent budgets, Adult"),
        "table7": ("two_groups", "labels by method and budget split, Adult"),
        "table8": ("students", "student's accuracy by method and budget split, MNIST"),
        "table9": ("students", "student's accuracy by method and budget split, Adult"),
        "table10": ("class_budget_tables", "teachers' and labels' accuracy, the same budgets"),
        "table11": ("class_budget_tables", "labels under class-dependent budgets, Adult"),
        "figure1": ("figures", "privacy cost of labels: standard and upsampling"),
        "figure2": ("figures", "labels against the weighted ratio of budgets"),
        "figure3": ("influence", "ratio of costs by ratio of influence, to tune methods"),
    },
)
