"""Experiments of the multi-winner paper: Binary, τ and Powerset voting on many labels.

Its medical images cannot be had; tmc2007, yeast and scene stand in for them (`sets`), so it is
the shape of its tables and figures that is reproduced, not their numbers.
"""

from ballotine_reproduction.multiwinner.answered import answered
from ballotine_reproduction.multiwinner.by_budget import table10
from ballotine_reproduction.multiwinner.by_clipping import figure12, figure13
from ballotine_reproduction.multiwinner.by_labels import figure7, table5, table6
from ballotine_reproduction.multiwinner.by_noise import figure1, figure8, figure14, figure15
from ballotine_reproduction.multiwinner.by_tau import table8
from ballotine_reproduction.multiwinner.dependencies import table4
from ballotine_reproduction.multiwinner.gaps import figure9, figure10, figure11
from ballotine_reproduction.multiwinner.simulated import figure3, figure4
from ballotine_reproduction.table import Experiment

PAPER = "multiwinner"

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(PAPER, "answered", "Binary, τ and Powerset voting: queries at ε = 20", answered),
    Experiment(PAPER, "table4", "label dependencies save questions", table4),
    Experiment(PAPER, "table5", "Binary against Powerset on first k labels: yeast, scene", table5),
    Experiment(PAPER, "table6", "Binary against Powerset on first k labels: tmc2007", table6),
    Experiment(PAPER, "table8", "Powerset with at most τ labels per ballot", table8),
    Experiment(PAPER, "table10", "Binary voting for ε from 1 to 20", table10),
    Experiment(PAPER, "figure1", "queries and quality against σ, Binary and τ voting", figure1),
    Experiment(PAPER, "figure3", "simulated votes, some labels at random", figure3),
    Experiment(PAPER, "figure4", "simulated votes, perfect agreement", figure4),
    Experiment(PAPER, "figure7", "answered queries against the first k labels", figure7),
    Experiment(PAPER, "figure8", "quality against σ, Binary and Powerset", figure8),
    Experiment(PAPER, "figure9", "distribution of gaps", figure9),
    Experiment(PAPER, "figure10", "gaps and quality against the first k labels: tmc2007", figure10),
    Experiment(
        PAPER, "figure11", "gaps and quality against first k labels: yeast, scene", figure11
    ),
    Experiment(PAPER, "figure12", "quality against τ in the l2 norm", figure12),
    Experiment(PAPER, "figure13", "quality against τ in the l1 norm", figure13),
    Experiment(PAPER, "figure14", "quality of Binary voting against σ", figure14),
    Experiment(PAPER, "figure15", "answered queries against σ by method: tmc2007", figure15),
)

__all__ = ["EXPERIMENTS"]
