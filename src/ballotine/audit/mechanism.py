"""Audit a mechanism: compare many transcripts on two neighbouring sets of ballots."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from ballotine.audit.attack import (
    Attack,
    anticipated,
    distance,
    make_attack,
    scores_of_counts,
    scores_of_laws,
)
from ballotine.audit.lower_bounds import coarser, composed_bound, threshold_bound
from ballotine.audit.pairs import Laws, Pair, candidates, worst_pair
from ballotine.audit.result import AuditResult
from ballotine.audit.trials import Trials
from ballotine.errors import ParameterError
from ballotine.noise import NoiseSource, SecureNoise
from ballotine.privacy.best import best_epsilon
from ballotine.progress import Progress, Silent
from ballotine.types import FloatArray, IntArray
from ballotine.voting import Mechanism

TRIALS = 20_000
QUERIES = 20
DELTA = 1e-5
CONFIDENCE = 0.99
MIN_TRIALS = 20
ANSWERS_PER_CANDIDATE = 2_000
# Low orders favour pairs that are easy to distinguish; the claim's own order, the worst case.
EASY_ORDERS = (1.05, 2.0)

Worlds = tuple[IntArray, IntArray]
"""Outcomes of the same number of trials in either world."""


def audit_mechanism(
    mechanism: Mechanism,
    *,
    teachers: int = 4,
    classes: int = 2,
    queries: int = QUERIES,
    delta: float = DELTA,
    trials: int = TRIALS,
    confidence: float = CONFIDENCE,
    noise: NoiseSource | None = None,
    progress: Progress | None = None,
) -> AuditResult:
    """Compare the ε that a mechanism claims with a lower bound from its releases.

    One trial answers `queries` copies of one query on the same ballots. The claim is the
    data-independent ε of that many queries. The lower bound is the larger of two: from an event of
    whole transcripts, and from the composition of single answers. Each may err with probability
    (1 − confidence)/2. Composition assumes that answers are drawn independently, as the
    mechanism's cost does.

    Args:
        mechanism: the mechanism to audit; it is run unchanged.
        teachers: the number of teachers.
        classes: the number of classes, or labels.
        queries: the number of queries that one trial answers.
        delta: δ.
        trials: the number of trials in each world; half of them choose the attack, the others are
            counted.
        confidence: the probability that the bound is not above the true ε.
        noise: the source of noise; secure by default.
        progress: reports the trials that are done.
    """
    check_trials(trials, confidence)
    if queries < 1:
        raise ParameterError(f"a trial must answer at least one query, got {queries}")
    claimed, order = claimed_epsilon(mechanism, classes, queries, delta)
    runner = Trials(mechanism, classes, noise or SecureNoise())
    error = (1.0 - confidence) / 2.0

    def rate(laws: Laws) -> float:
        return anticipated(laws, queries * (trials - trials // 2), queries, delta, error)

    pair = worst_pair(mechanism, teachers, classes, (*EASY_ORDERS, order), rate)
    pair = pair or _scouted(runner, teachers)
    scouts, counted = _run(runner, pair, trials, queries, progress or Silent())
    attack = _attack(runner, pair, scouts, delta, error)
    whole = threshold_bound(
        (attack.transcripts(scouts[0]), attack.transcripts(scouts[1])),
        (attack.transcripts(counted[0]), attack.transcripts(counted[1])),
        delta,
        error,
    )
    cells = coarser(attack.counts(counted[0]), attack.counts(counted[1]), error)
    return AuditResult(
        subject=described(mechanism),
        pair=pair.name,
        queries=queries,
        trials=trials,
        delta=delta,
        confidence=confidence,
        claimed=claimed,
        whole=whole.epsilon,
        composed=composed_bound(cells, queries, delta),
        event=whole.event,
    )


def claimed_epsilon(
    mechanism: Mechanism, classes: int, queries: int, delta: float
) -> tuple[float, float]:
    """Return the data-independent ε of this many queries, and the order that proves it."""
    events = mechanism.events(classes)

    def cost(orders: FloatArray) -> FloatArray:
        total: FloatArray = queries * np.sum([event.cost(orders) for event in events], axis=0)
        return total

    return best_epsilon(cost, delta)


def described(mechanism: Mechanism) -> str:
    """Return the name and parameters in one line."""
    parameters = ", ".join(
        f"{field.name}={value:g}" if isinstance(value, float) else f"{field.name}={value}"
        for field in fields(mechanism)
        if (value := getattr(mechanism, field.name)) is not None
    )
    return f"{mechanism.name}({parameters})"


def check_trials(trials: int, confidence: float) -> None:
    """Refuse too few trials, and an impossible confidence."""
    if trials < MIN_TRIALS:
        raise ParameterError(f"an audit needs at least {MIN_TRIALS} trials, got {trials}")
    if not 0.0 < confidence < 1.0:
        raise ParameterError(f"the confidence must lie strictly between 0 and 1, got {confidence}")


def _run(
    runner: Trials, pair: Pair, trials: int, queries: int, progress: Progress
) -> tuple[Worlds, Worlds]:
    """Run every trial in both worlds; return the scouts, and the trials that are counted."""
    half = trials // 2
    with progress.stage(runner.mechanism.name, 2 * trials) as advance:
        before, after = (
            runner.run(ballots, trials, queries, world, advance)
            for world, ballots in (("before", pair.before), ("after", pair.after))
        )
    return (before[:half], after[:half]), (before[half:], after[half:])


def _attack(runner: Trials, pair: Pair, scouts: Worlds, delta: float, error: float) -> Attack:
    seen = [np.bincount(one.ravel(), minlength=runner.outcomes) for one in scouts]
    scores = scores_of_counts(*seen) if pair.laws is None else scores_of_laws(pair.laws)
    return make_attack(scores, seen[0], seen[1], scouts[0].shape[1], delta, error)


def _scouted(runner: Trials, teachers: int) -> Pair:
    """Return the candidate whose answers differ most in a few separate trials."""
    best, found = -1.0, None
    for number, pair in enumerate(candidates(runner.mechanism, teachers, runner.classes)):
        seen = [
            np.bincount(
                runner.run(ballots, ANSWERS_PER_CANDIDATE, 1, f"{number}/{world}").ravel(),
                minlength=runner.outcomes,
            )
            for world, ballots in (("before", pair.before), ("after", pair.after))
        ]
        if (apart := distance(*seen)) > best:
            best, found = apart, pair
    if found is None:
        raise ParameterError("no neighbouring ballots to compare")
    return found
