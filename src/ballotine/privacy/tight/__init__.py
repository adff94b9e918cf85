"""Data-independent costs of the released answers rather than of the noisy counts."""

from ballotine.privacy.tight.costs import gnmax, threshold

__all__ = [
    "gnmax",
    "threshold",
]
