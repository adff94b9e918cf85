"""Data-independent costs of what is released, not of the noisy counts behind it."""

from ballotine.privacy.tight.costs import gnmax, threshold

__all__ = [
    "gnmax",
    "threshold",
]
