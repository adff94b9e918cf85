"""Claims against the truth: every shipped bound, and published ones that are known to be false.

A *case* is one claim with the configurations it is tried on. The oracle computes what is true of
each; the worst ratio of truth to claim, and where it was found, is the *finding*. A claim that
should hold and is exceeded is a failure, and so is a false claim that is not caught: then the
oracle would be blind.
"""

from ballotine.verification.case import Case, Effort
from ballotine.verification.cases import CASES, MECHANISMS
from ballotine.verification.judge import TOLERANCE, Finding, Witness, judge
from ballotine.verification.report import Report, select, verify

__all__ = [
    "CASES",
    "MECHANISMS",
    "TOLERANCE",
    "Case",
    "Effort",
    "Finding",
    "Report",
    "Witness",
    "judge",
    "select",
    "verify",
]
