"""Audit any release, such as a whole pipeline, with and without a canary."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ballotine.audit.lower_bounds import threshold_bound
from ballotine.audit.mechanism import CONFIDENCE, DELTA, check_trials
from ballotine.audit.result import AuditResult
from ballotine.progress import Progress, Silent

Release = Callable[[bool], float]
"""Runs the release once, with the canary (True) or without it, and returns a score."""


def audit_release(
    release: Release,
    *,
    trials: int,
    claimed: float | None = None,
    delta: float = DELTA,
    confidence: float = CONFIDENCE,
    subject: str = "release",
    pair: str = "with a canary against without",
    progress: Progress | None = None,
) -> AuditResult:
    """Return a lower bound on the ε of a whole release by a threshold on a score.

    The score is any number computed only from what is released: a vote on the canary, the
    student's confidence in its label, a loss. The threshold is chosen on half of the trials; the
    other half is counted. With n trials no bound above about ln(n/10) can be shown.

    Args:
        release: runs the release once on the data with the canary record (True), or with another
            record in its place (False), with fresh randomness, and returns the score.
        trials: the number of trials in each world.
        claimed: the ε that is claimed at δ; None if nothing is claimed.
        delta: δ.
        confidence: the probability that the bound is not above the true ε.
        subject: the name of the release.
        pair: the name of the two worlds.
        progress: reports the trials that are done.
    """
    check_trials(trials, confidence)
    with_canary, without = np.empty(trials), np.empty(trials)
    with (progress or Silent()).stage("trials", 2 * trials) as advance:
        for number in range(trials):
            with_canary[number] = release(True)
            without[number] = release(False)
            advance(2)
    half = trials // 2
    shown = threshold_bound(
        (with_canary[:half], without[:half]),
        (with_canary[half:], without[half:]),
        delta,
        1.0 - confidence,
    )
    return AuditResult(
        subject=subject,
        pair=pair,
        queries=1,
        trials=trials,
        delta=delta,
        confidence=confidence,
        claimed=claimed,
        whole=shown.epsilon,
        composed=None,
        event=shown.event,
    )
