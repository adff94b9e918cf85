"""Experiments of the multi-winner paper: Binary, τ and Powerset voting on many labels.

Its medical images are not available; tmc2007, yeast and scene stand in for them (`sets`), so the
shape of its tables and figures is reproduced, not their numbers.
"""

from ballotine_reproduction.experiment import catalogue

EXPERIMENTS = catalogue(
    __name__,
    {
        "answered": ("answered", "Binary, τ and Powerset voting: queries at ε = 20"),
        "table4": ("dependencies", "label dependencies save questions"),
        "table5": ("by_labels", "Binary against Powerset on first k labels: yeast, scene"),
        "table6": ("by_labels", "Binary against Powerset on first k labels: tmc2007"),
        "table8": ("by_tau", "Powerset with at most τ labels per ballot"),
        "table10": ("by_budget", "Binary voting for ε from 1 to 20"),
        "figure1": ("by_noise", "queries and quality against σ, Binary and τ voting"),
        "figure3": ("simulated", "simulated votes, some labels at random"),
        "figure4": ("simulated", "simulated votes, perfect agreement"),
        "figure7": ("by_labels", "answered queries against the first k labels"),
        "figure8": ("by_noise", "quality against σ, Binary and Powerset"),
        "figure9": ("gaps", "distribution of gaps"),
        "figure10": ("gaps", "gaps and quality against the first k labels: tmc2007"),
        "figure11": ("gaps", "gaps and quality against first k labels: yeast, scene"),
        "figure12": ("by_clipping", "quality against τ in the l2 norm"),
        "figure13": ("by_clipping", "quality against τ in the l1 norm"),
        "figure14": ("by_noise", "quality of Binary voting against σ"),
        "figure15": ("by_noise", "answered queries against σ by method: tmc2007"),
    },
)
