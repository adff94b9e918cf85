"""Audits: a lower bound on ε from repeated real releases on neighbouring inputs.

A claim is an upper bound on ε; an audit computes a lower bound. If the lower bound exceeds the
claim, the noise or the accounting is wrong. The ballots are made up: nothing private is read.
"""

from ballotine.audit.defaults import AuditCase, default_case, default_cases
from ballotine.audit.mechanism import audit_mechanism
from ballotine.audit.pairs import Pair, worst_pair
from ballotine.audit.release import audit_release
from ballotine.audit.result import AuditResult, require

__all__ = [
    "AuditCase",
    "AuditResult",
    "Pair",
    "audit_mechanism",
    "audit_release",
    "default_case",
    "default_cases",
    "require",
    "worst_pair",
]
