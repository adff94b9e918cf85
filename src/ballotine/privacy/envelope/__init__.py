"""Envelopes: a cost for each top count that no tally with this top can exceed."""

from ballotine.privacy.envelope.envelopes import check, confident_gnmax, gnmax, shape

__all__ = [
    "check",
    "confident_gnmax",
    "gnmax",
    "shape",
]
