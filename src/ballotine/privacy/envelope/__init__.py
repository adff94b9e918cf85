"""Envelopes: for each top count, a cost that no tally with this top exceeds."""

from ballotine.privacy.envelope.envelopes import check, confident_gnmax, gnmax, shape

__all__ = [
    "check",
    "confident_gnmax",
    "gnmax",
    "shape",
]
