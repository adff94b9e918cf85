"""Costs of Powerset voting: a ballot is a set of labels; the largest noisy count wins."""

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
