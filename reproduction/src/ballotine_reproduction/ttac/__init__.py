"""Experiments of the paper "Preserving privacy with PATE for heterogeneous data" (TTAC)."""

from ballotine_reproduction.experiment import catalogue

EXPERIMENTS = catalogue(
    __name__,
    {
        "table1": ("table1", "students by queries, γ and similarity, MNIST"),
        "figure2": ("figure2", "right labels against γ by similarity, MNIST"),
        "convolutions": ("convolutions", "the same labels by convolutional networks, MNIST"),
        "private": ("private_rounds", "rounds with noise that is paid for, 10 to 250 teachers"),
        "canary": ("canary", "does one record still change one ballot at most?"),
    },
)
