"""Costs of Binary and τ voting: k labels released at once, from clipped k-hot ballots."""

from ballotine.privacy.multilabel.ballots import Norm, Variant, leverage
from ballotine.privacy.multilabel.costs import (
    check_data_dependent,
    data_dependent,
    gaussian,
    joint_check,
    squared_sensitivity,
    tight,
    tight_check,
)

__all__ = [
    "Norm",
    "Variant",
    "check_data_dependent",
    "data_dependent",
    "gaussian",
    "joint_check",
    "leverage",
    "squared_sensitivity",
    "tight",
    "tight_check",
]
