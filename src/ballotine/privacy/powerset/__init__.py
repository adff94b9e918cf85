"""Costs of Powerset voting: a ballot is a whole set of labels, and the noisiest set wins."""

from ballotine.privacy.powerset.costs import (
    allowed_subsets,
    cost,
    data_dependent,
    law,
    unobserved_maximum_quantile,
)

__all__ = [
    "allowed_subsets",
    "cost",
    "data_dependent",
    "law",
    "unobserved_maximum_quantile",
]
