"""Exact costs: the Rényi divergence of the released answer itself, not a bound on it."""

from ballotine.privacy.exact.costs import confident_gnmax, cost_of_laws, gnmax, gnmax_law, threshold

__all__ = [
    "confident_gnmax",
    "cost_of_laws",
    "gnmax",
    "gnmax_law",
    "threshold",
]
