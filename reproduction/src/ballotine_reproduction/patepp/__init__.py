"""Experiments of the paper on PATE++ (Zhang, Ma, Lou, Xiong, Jiang)."""

from ballotine_reproduction.experiment import catalogue

EXPERIMENTS = catalogue(
    __name__,
    {
        "teachers": ("teachers", "how good teachers of 240 images can be"),
        "choice": ("choice", "how the recommended student was chosen"),
        "table1": ("table1", "students at two noise levels, Fashion-MNIST"),
        "mnist": ("table1", "the same students on MNIST, at the tighter noise"),
        "table2": ("table2", "co-teaching and PATE+ by assumed noise rate"),
        "table3": ("table3", "PATE++ by the share of answers it forgets"),
        "long": ("long", "one run with the schedule of the paper, on patches"),
        "longer": ("long", "the same on pixels: hours, resumable"),
        "figure3": ("figure3", "how PATE+ trains and where its peers disagree"),
    },
)
