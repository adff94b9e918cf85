"""The paper's schedule on pixels, with convolutions: hours, and it can be resumed."""

from __future__ import annotations

from ballotine_reproduction.patepp.long import at_length
from ballotine_reproduction.table import Setting, Table

METHODS = ("original", "PATE+", "PATE++")


def longer(setting: Setting) -> Table:
    """As `long`, for the students of Table I that see pixels."""
    return at_length(setting, METHODS)
