"""Empirical lower bounds on ε from repeated releases, independent of any claim.

A release is run many times in two worlds, on an input and on a neighbouring one. If it is
(ε, δ)-private then P(S) ≤ e^ε Q(S) + δ for every event S of its output, where P and Q are its laws
in the two worlds. So

    ε ≥ ln((P(S) − δ) / Q(S)),

and with Clopper–Pearson limits in place of P(S) and Q(S) this holds with the stated confidence,
provided that S was not chosen on the trials that are counted. Trials are therefore split: the
*scouts* choose S, and the others are counted.

There are two bounds:

* `threshold_bound`: one event of the whole output, "the score reaches t". It assumes only
  independent trials; n of them show at most about ε = ln(n/5) with 99 % confidence.
* `composed_bound`: for outputs of many independent, identically distributed parts (the answers to
  many copies of a query). Single parts are counted, and their composition is computed. Let (b, a)
  be the limits a ≤ P(S), Q(S) ≤ b for some nested events S. The points (Q(S), P(S)) lie on or below
  the curve of the best tests of P against Q, which is concave, from (0, 0) to (1, 1). Hence that
  curve lies above the concave hull of the points (b, a): the pair of laws whose best tests form the
  hull is a coarser experiment (Blackwell), and remains so when both are repeated independently. So
  the ε of the repeated hull, which is a finite sum, is a lower bound, in both directions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import beta

from ballotine.errors import DataError, ParameterError
from ballotine.privacy._validate import as_delta, as_real
from ballotine.types import FloatArray, IntArray

MAX_THRESHOLDS = 256
_GRID = 1 << 17

Scores = tuple[FloatArray, FloatArray]
"""One number per trial, in either world."""


@dataclass(frozen=True)
class EventBound:
    """The bound from one event.

    Attributes:
        epsilon: the lower bound; 0 if the event shows nothing.
        event: the event, in words.
    """

    epsilon: float
    event: str


@dataclass(frozen=True)
class TwoLaws:
    """Two laws on the same few outcomes.

    Attributes:
        first: probabilities in the first world, shape (outcomes,).
        second: probabilities in the second world, shape (outcomes,).
    """

    first: FloatArray
    second: FloatArray


def lower_limit(hits: npt.ArrayLike, trials: int, error: float) -> FloatArray:
    """Return the Clopper–Pearson lower limit; it is too high with probability ≤ `error`.

    Args:
        hits: how often the event happened; any shape.
        trials: the number of independent trials.
        error: in (0, 1).
    """
    seen = _as_hits(hits, trials)
    # Without hits the beta distribution is undefined, and the limit is 0.
    limit = beta.ppf(_as_error(error), np.maximum(seen, 0.5), trials - seen + 1.0)
    return np.where(seen == 0, 0.0, limit)


def upper_limit(hits: npt.ArrayLike, trials: int, error: float) -> FloatArray:
    """Return the upper limit; it is too low with probability ≤ `error`; see `lower_limit`."""
    seen = _as_hits(hits, trials)
    limit = beta.isf(_as_error(error), seen + 1.0, np.maximum(trials - seen, 0.5))
    return np.where(seen == trials, 1.0, limit)


def event_bound(
    hits: npt.ArrayLike, other_hits: npt.ArrayLike, trials: int, delta: float, error: float
) -> FloatArray:
    """Return ln((P(S) − δ)/Q(S)) with confidence 1 − `error`, for an event chosen beforehand.

    Args:
        hits: how often S happened in the world of P; any shape.
        other_hits: how often it happened in the world of Q.
        trials: the number of trials in each world.
        delta: δ.
        error: the probability that the bound is above the true ε.

    Returns:
        Lower bounds on ε, at least 0, of the shape of the hits.
    """
    level = _as_error(error) / 2.0
    surplus = lower_limit(hits, trials, level) - as_delta(delta)
    high = upper_limit(other_hits, trials, level)
    ratio = np.where(surplus > 0.0, surplus, high) / high
    return np.maximum(np.log(ratio), 0.0)


def threshold_bound(scouts: Scores, counted: Scores, delta: float, error: float) -> EventBound:
    """Return the bound from the best threshold on a score, chosen on the scouts.

    Both ends of the scores and both directions (first world against second, and the reverse) are
    tried on the scouts.

    Args:
        scouts: scores of the trials that choose the event, in both worlds.
        counted: scores of the trials that are counted.
        delta: δ.
        error: the probability that the bound is above the true ε.
    """
    scouting, counting = _as_scores(scouts), _as_scores(counted)
    best = (-1.0, 0, 1.0, 0.0)
    for world in (0, 1):
        for sign in (1.0, -1.0):
            cuts = _cuts(sign * np.concatenate(scouting))
            bounds = _above(scouting, world, sign, cuts, delta, error)
            place = int(np.argmax(bounds))
            best = max(best, (float(bounds[place]), world, sign, float(cuts[place])))
    _, world, sign, cut = best
    shown = _above(counting, world, sign, np.array([cut]), delta, error)
    side = f"score {'≥' if sign > 0 else '≤'} {sign * cut:.6g}"
    return EventBound(float(shown[0]), f"{side}, likelier in world {world + 1}")


def coarser(hits: IntArray, other_hits: IntArray, error: float) -> TwoLaws:
    """Return a pair of laws that is a coarser experiment than the counted one.

    Args:
        hits: how often each cell was hit in the first world. Cells are ordered by how strong
            evidence for that world they are, strongest first, without looking at these counts.
        other_hits: the same in the second world.
        error: the probability that the pair is not coarser than the true one.
    """
    first, second = np.asarray(hits), np.asarray(other_hits)
    if first.ndim != 1 or first.shape != second.shape or first.size == 0:
        raise DataError("both worlds must be counted in the same cells")
    events = first.size - 1
    if events == 0:
        return TwoLaws(np.ones(1), np.ones(1))
    level = _as_error(error) / (2.0 * events)
    low = lower_limit(np.cumsum(first)[:-1], int(first.sum()), level)
    high = upper_limit(np.cumsum(second)[:-1], int(second.sum()), level)
    corners = _concave_hull(np.column_stack((high, low)))
    steps = np.diff(corners, axis=0)
    return TwoLaws(steps[:, 1], steps[:, 0])


def composed_bound(experiment: TwoLaws, times: int, delta: float) -> float:
    """Return a lower bound on the ε at δ of independent repetitions of an experiment.

    Losses are rounded down to a grid, so the result is at most the true ε; with two outcomes it is
    the true ε up to floating-point rounding.

    Args:
        experiment: the two laws.
        times: the number of repetitions that are released together.
        delta: δ.
    """
    if times < 1:
        raise ParameterError(f"an experiment must be run at least once, got {times}")
    share = as_delta(delta)
    first, second = experiment.first, experiment.second
    return max(_one_way(first, second, times, share), _one_way(second, first, times, share))


def _one_way(p: FloatArray, q: FloatArray, times: int, delta: float) -> float:
    """Return the largest ln((P(S) − δ)/Q(S)) over the events "the loss reaches l"."""
    some = p > 0.0
    if np.any(q[some] <= 0.0):
        raise DataError("an outcome that is possible in only one world has no finite loss")
    losses = np.log(p[some]) - np.log(q[some])
    total, log_masses = _repeated(losses, p[some], times)
    useful = (total > 0.0) & np.isfinite(log_masses)
    # Nested events from the largest loss downwards are the strongest.
    total, log_masses = total[useful][::-1], log_masses[useful][::-1]
    reached = np.cumsum(np.exp(log_masses)) - delta
    log_other = np.logaddexp.accumulate(log_masses - total)
    enough = reached > 0.0
    if not enough.any():
        return 0.0
    return max(0.0, float(np.max(np.log(reached[enough]) - log_other[enough])))


def _repeated(losses: FloatArray, masses: FloatArray, times: int) -> tuple[FloatArray, FloatArray]:
    """Return the values of a sum of independent losses, rounded down, and log-probabilities."""
    lowest = float(losses.min())
    width = float(losses.max()) - lowest
    if width == 0.0:
        return np.array([times * lowest]), np.zeros(1)
    # Two losses form their own grid; more of them need a fine one.
    steps = 1 if np.unique(losses).size == 2 else max(1, _GRID // times)
    places = np.floor((losses - lowest) / width * steps).astype(np.int64)
    law = np.ones(1)
    for _ in range(times):
        longer = np.zeros(law.size + steps)
        for place, mass in zip(places, masses, strict=True):
            longer[place : place + law.size] += mass * law
        law = longer
    total = times * lowest + width / steps * np.arange(law.size, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return total, np.log(law)


def _concave_hull(points: FloatArray) -> FloatArray:
    """Return the corners of the least concave curve from (0, 0) to (1, 1) above the points."""
    hull: list[FloatArray] = []
    for point in (np.zeros(2), *sorted(points, key=tuple), np.ones(2)):
        while len(hull) > 1 and not _turns_right(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return np.array(hull)


def _turns_right(start: FloatArray, middle: FloatArray, end: FloatArray) -> bool:
    one, two = middle - start, end - middle
    return bool(one[0] * two[1] < one[1] * two[0])


def _above(
    scores: Scores, world: int, sign: float, cuts: FloatArray, delta: float, error: float
) -> FloatArray:
    """Return the bounds of the events "sign · score ≥ cut", this world against the other."""
    hits = [
        one.size - np.searchsorted(np.sort(sign * one), cuts, side="left")
        for one in (scores[world], scores[1 - world])
    ]
    return event_bound(hits[0], hits[1], scores[0].size, delta, error)


def _cuts(scores: FloatArray) -> FloatArray:
    """Return the distinct scores, or at most MAX_THRESHOLDS of them, spread over the ranks."""
    values = np.unique(scores)
    if values.size <= MAX_THRESHOLDS:
        return values
    # The strongest events are rare: half of the thresholds are in the upper tail.
    ranks = np.sort(scores)
    half = MAX_THRESHOLDS // 2
    even = np.linspace(0, ranks.size - 1, half)
    tail = ranks.size - np.geomspace(1, ranks.size, half)
    return np.unique(ranks[np.concatenate((even, tail)).astype(np.int64)])


def _as_scores(scores: Scores) -> Scores:
    first, second = (np.asarray(one, dtype=np.float64) for one in scores)
    if first.ndim != 1 or first.shape != second.shape or first.size == 0:
        raise DataError("both worlds need the same number of scores, one per trial")
    if np.any(np.isnan(first)) or np.any(np.isnan(second)):
        raise DataError("a score is not a number")
    return first, second


def _as_hits(hits: npt.ArrayLike, trials: int) -> FloatArray:
    seen = np.asarray(hits, dtype=np.float64)
    if trials < 1 or np.any(seen < 0) or np.any(seen > trials):
        raise DataError("hits must lie between 0 and the number of trials, which is at least 1")
    return seen


def _as_error(error: float) -> float:
    level = as_real(error, "error")
    if not 0.0 < level < 1.0:
        raise ParameterError("the allowed error must lie strictly between 0 and 1")
    return level
