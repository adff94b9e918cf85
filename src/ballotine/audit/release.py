"""Auditing anything at all: a whole pipeline with and without a canary."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ballotine.audit.lower_bounds import threshold_bound
from ballotine.audit.mechanism import CONFIDENCE, DELTA, check_trials
from ballotine.audit.result import AuditResult
from ballotine.progress import Progress, Silent

Release = Callable[[bool], float]
"""Runs everything once, with the canary (True) or without it, and scores what came out."""


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
    """Lower-bound ε of a whole release by a threshold on a score.

    The score is any number computed from what is released, and from nothing else: a vote on the
    canary, the student's confidence in its label, a loss. The threshold is chosen on half of the
    trials; the other half counts. With n trials no bound above about ln(n/10) can be shown.

    Args:
        release: runs the release once on the data with the canary record (True), or with another
            record in its place (False), with fresh randomness, and returns the score.
        trials: how many, in either world.
        claimed: the ε that is claimed at δ; None when nothing is.
        delta: δ.
        confidence: that the bound is not above the true ε.
        subject: what to call the release.
        pair: what to call the two worlds.
        progress: is told of every trial.
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
