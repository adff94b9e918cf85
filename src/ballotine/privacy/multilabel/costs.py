"""Costs of Binary and τ voting: k labels released at once, from clipped k-hot ballots.

The model. Teacher j's ballot is clipped to v_j, whose entries lie between 0 and 1. Label i has the
positive count V¹ = Σ_j v_j[i] and, by definition, the negative count V⁰ = n − V¹: what clipping
removes from the positive count is added to the negative one. The label is released as positive when

- "one-against-complement": V¹ + N(0, σ²) > V⁰ (one noise; Definitions 4 and 7 of multi-winner);
- "both": V¹ + N(0, σ²) > V⁰ + N(0, σ²) (two noises; Algorithms 2 and 3; the default);
- "one-against-half": V¹ + N(0, σ²) > n/2 (one noise, a fixed threshold).

So label i is one bit of a Gaussian. A positive count that moves by d moves its margin by 2d, 2d
or d, against noise of deviation σ, σ√2 or σ: by 2, √2 or 1 times d/σ noise deviations. The noise
is independent between labels, so the costs of the labels add up, for each pair of neighbours.

Costs are for one ballot replaced. `sensitivity` is the weight of the teacher that cast it. In the
data-independent costs it may also be the number of teachers that saw one record, whose ballots
may change in different ways.

A subset of the labels: when ballots are clipped over all labels but only some are released, give
the number of released ones (or their counts). On these a ballot holds at most what it would hold
if it named no others, and exactly that if it does not, so nothing else changes.

Proofs: docs/proofs/clipped-ballots.md.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ballotine.errors import DataError, ParameterError
from ballotine.privacy import published
from ballotine.privacy._validate import (
    as_counts,
    as_orders,
    as_positive,
    as_real,
    as_sensitivity,
    as_sigma,
)
from ballotine.privacy.multilabel.ballots import (
    Norm,
    Variant,
    leverage,
    one_bit_prices,
    scales,
    worst_pair,
)
from ballotine.privacy.multilabel.bits import LabelRelease
from ballotine.types import FloatArray

_WIDEST = 1e6
_ROUNDING = 1e-9


def squared_sensitivity(labels: int, tau: float | None = None, norm: Norm = "l2") -> float:
    """Return Δ², the largest squared distance ‖v − v'‖² of two clipped binary ballots.

    Args:
        labels: k, the number of labels that are released.
        tau: the largest norm of a ballot; None: ballots are not clipped, Δ² = k.
        norm: the norm in which ballots are clipped.
    """
    return float(worst_pair(scales(labels, tau, norm) ** 2))


def gaussian(
    orders: npt.ArrayLike,
    sigma: float,
    labels: int,
    tau: float | None = None,
    norm: Norm = "l2",
    variant: Variant = "both",
    sensitivity: float = 1.0,
) -> FloatArray:
    """Return the data-independent cost of all k noisy margins, of which only signs are released.

    It is 2αΔ²/σ² for "one-against-complement", αΔ²/σ² for "both" and αΔ²/(2σ²) for
    "one-against-half".

    Args:
        orders: Rényi orders above 1, shape (m,).
        sigma: standard deviation of each noise.
        labels: k, the number of labels that are released.
        tau: the largest norm of a ballot; None: ballots are not clipped.
        norm: the norm in which ballots are clipped.
        variant: where noise is added.
        sensitivity: the weight of one teacher, or the number of teachers that saw one record.

    Returns:
        The cost at each order, shape (m,).
    """
    factor = leverage(variant) ** 2 * squared_sensitivity(labels, tau, norm)
    cost: FloatArray = factor * published.threshold(orders, sigma, sensitivity)
    return cost


def tight(
    orders: npt.ArrayLike,
    sigma: float,
    labels: int,
    tau: float | None = None,
    norm: Norm = "l2",
    variant: Variant = "both",
    sensitivity: float = 1.0,
) -> FloatArray:
    """Return the largest cost of the k released bits over all counts: never above `gaussian`.

    Each label is a one-bit release with the supremum g of `tight.threshold` at its own shift. The
    sum over labels is maximised over pairs of clipped ballots.

    Args:
        orders: Rényi orders above 1, shape (m,).
        sigma: standard deviation of each noise.
        labels: k, the number of labels that are released.
        tau: the largest norm of a ballot; None: ballots are not clipped.
        norm: the norm in which ballots are clipped.
        variant: where noise is added.
        sensitivity: the weight of one teacher, or the number of teachers that saw one record.

    Returns:
        An upper bound of the supremum, shape (m,): above it by less than 1e-6 of itself when at
        most 192 ballot sizes have scales of their own, by less than 1e-4 when more do.
    """
    ceiling = gaussian(orders, sigma, labels, tau, norm, variant, sensitivity)
    shifts = leverage(variant) * as_sensitivity(sensitivity) * scales(labels, tau, norm)
    prices = one_bit_prices(as_orders(orders), as_sigma(sigma), shifts)
    return np.minimum(worst_pair(prices), ceiling)


def joint_check(
    orders: npt.ArrayLike,
    sigma_threshold: float,
    labels: int,
    tau: float | None = None,
    norm: Norm = "l2",
    sensitivity: float = 1.0,
) -> FloatArray:
    """Return the data-independent cost αΔ²/(2σ_T²) of the confident checks of all k labels.

    Label i passes when max(V¹, V⁰) + N(0, σ_T²) ≥ T. The larger count moves by no more than the
    positive one, so all checks of a query are one Gaussian release of sensitivity Δ.

    Args:
        orders: Rényi orders above 1, shape (m,).
        sigma_threshold: σ_T, standard deviation of the noise of each check.
        labels: k, the number of labels that are checked.
        tau: the largest norm of a ballot; None: ballots are not clipped.
        norm: the norm in which ballots are clipped.
        sensitivity: the weight of one teacher, or the number of teachers that saw one record.

    Returns:
        The cost at each order, shape (m,).
    """
    noise = as_sigma(sigma_threshold, "sigma_threshold")
    return gaussian(orders, noise, labels, tau, norm, "one-against-half", sensitivity)


def tight_check(
    orders: npt.ArrayLike,
    sigma_threshold: float,
    labels: int,
    tau: float | None = None,
    norm: Norm = "l2",
    sensitivity: float = 1.0,
) -> FloatArray:
    """Return the largest cost of the k bits of the confident checks: never above `joint_check`.

    Args:
        orders: Rényi orders above 1, shape (m,).
        sigma_threshold: σ_T, standard deviation of the noise of each check.
        labels: k, the number of labels that are checked.
        tau: the largest norm of a ballot; None: ballots are not clipped.
        norm: the norm in which ballots are clipped.
        sensitivity: the weight of one teacher, or the number of teachers that saw one record.

    Returns:
        An upper bound of the supremum, as close as that of `tight`, shape (m,).
    """
    noise = as_sigma(sigma_threshold, "sigma_threshold")
    return tight(orders, noise, labels, tau, norm, "one-against-half", sensitivity)


def data_dependent(
    counts: npt.ArrayLike,
    teachers: float,
    orders: npt.ArrayLike,
    sigma: float,
    tau: float | None = None,
    norm: Norm = "l2",
    variant: Variant = "both",
    sensitivity: float = 1.0,
    *,
    total: bool = False,
) -> FloatArray:
    """Return the two-sided cost of releasing all labels of each query, given its counts.

    Without clipping this is the exact cost: the largest divergence, in either direction, over all
    ballots that one teacher may have cast and may cast instead. With clipping it is an upper bound
    of that: a sum over the labels where a ballot matters most, as many as two clipped ballots can
    fully move (`bits`). It is never above the sum of the exact costs of all labels at the largest
    move min(1, τ), and never above `tight`.

    The result is private, as `exact` says. It holds for one teacher of the given weight, not for
    several teachers that saw one record.

    Args:
        counts: clipped positive counts V¹, shape (queries, labels).
        teachers: n, the public number of teachers (the sum of their weights).
        orders: Rényi orders above 1, shape (m,).
        sigma: standard deviation of each noise.
        tau: the largest norm of a ballot; None: ballots are not clipped.
        norm: the norm in which ballots are clipped.
        variant: where noise is added.
        sensitivity: the weight of one teacher.
        total: return the sum over the queries instead of one cost per query.

    Returns:
        Shape (queries, m), or (m,) for the total.
    """
    positive, most = _as_positive_counts(counts, teachers, tau)
    lever, labels = leverage(variant), positive.shape[1]
    release = LabelRelease(
        orders=as_orders(orders),
        unit=_unit(as_sigma(sigma) / lever, most),
        centre=as_positive(teachers, "teachers") / 2.0,
        lowest=0.0,
        highest=most,
        weight=as_sensitivity(sensitivity),
        signed=True,
        scales=scales(labels, tau, norm),
        ceiling=tight(orders, sigma, labels, tau, norm, variant, sensitivity),
    )
    return release.total(positive) if total else release.each(positive)


def check_data_dependent(
    counts: npt.ArrayLike,
    teachers: float,
    threshold: float,
    orders: npt.ArrayLike,
    sigma_threshold: float,
    tau: float | None = None,
    norm: Norm = "l2",
    sensitivity: float = 1.0,
    *,
    total: bool = False,
) -> FloatArray:
    """Return the two-sided cost of the confident checks of all labels, given the counts.

    Like `data_dependent`, for the bits max(V¹, n − V¹) + N(0, σ_T²) ≥ T. Add it to the cost of the
    answers: the checks are released before them, with noise of their own.

    Args:
        counts: clipped positive counts V¹, shape (queries, labels).
        teachers: n, the public number of teachers (the sum of their weights).
        threshold: T, the threshold for the noisy larger count.
        orders: Rényi orders above 1, shape (m,).
        sigma_threshold: σ_T, standard deviation of the noise of each check.
        tau: the largest norm of a ballot; None: ballots are not clipped.
        norm: the norm in which ballots are clipped.
        sensitivity: the weight of one teacher.
        total: return the sum over the queries instead of one cost per query.

    Returns:
        Shape (queries, m), or (m,) for the total.
    """
    positive, _ = _as_positive_counts(counts, teachers, tau)
    electorate, labels = as_positive(teachers, "teachers"), positive.shape[1]
    noise = as_sigma(sigma_threshold, "sigma_threshold")
    release = LabelRelease(
        orders=as_orders(orders),
        unit=_unit(noise, electorate),
        centre=as_real(threshold, "threshold"),
        lowest=electorate / 2.0,
        highest=electorate,
        weight=as_sensitivity(sensitivity),
        # The larger of the two counts may rise with one more vote or with one fewer.
        signed=False,
        scales=scales(labels, tau, norm),
        ceiling=tight_check(orders, noise, labels, tau, norm, sensitivity),
    )
    larger = np.maximum(positive, electorate - positive)
    return release.total(larger) if total else release.each(larger)


def _as_positive_counts(
    counts: npt.ArrayLike, teachers: float, tau: float | None
) -> tuple[FloatArray, float]:
    """Return the counts, and the largest possible count of a label when ballots are clipped."""
    positive = as_counts(counts)
    most = as_positive(teachers, "teachers")
    if tau is not None:
        most *= min(1.0, as_positive(tau, "tau"))
    if float(positive.max()) > most * (1.0 + _ROUNDING):
        raise DataError("a label's count exceeds what the teachers' clipped ballots can add up to")
    return np.minimum(positive, most), most


def _unit(noise: float, most: float) -> float:
    """Return the noise deviation in units of the counts; refuse it if it is too small."""
    if most > _WIDEST * noise:
        raise ParameterError(
            "sigma is too small relative to the counts: the probability of the other answer "
            "exceeds the range of double precision"
        )
    return noise
