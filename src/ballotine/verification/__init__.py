"""Check claimed bounds against exact costs: all shipped bounds, and published ones that are false.

A *case* is one claim with the configurations it is checked on. The oracle computes the exact cost
of each configuration; the *finding* is the largest ratio of exact cost to claim, and where it
occurs. A claim that should hold and is exceeded is a failure. So is a false claim that is not
caught, because then the check is too weak to find a wrong claim.
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
