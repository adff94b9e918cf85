"""Data-dependent costs of Binary and Clipped voting, with and without the check.

**Published.** Theorem 6 of Scalable PATE, two-sided, for each label as a vote between V¹ and V⁰:
the margin's noise is that of two counts with deviation σ₂ = σ√2/c each, where c is the variant's
leverage (2, √2, 1), and one ballot changes a label by at most d = min(1, τ). The cost is the sum
over the answered labels, or the joint Gaussian cost αc²Δ²/(2σ²) of all of them, if that is less. A
minimum for each label separately would be wrong. Every query pays for its checks, αΔ²/(2σ_T²).

**Exact.** Without a check, `multilabel.data_dependent`. With it, the law of each label over
{abstain, absent, present} as a whole, so the cost is a function of the counts alone and does not
depend on which labels passed. Let a label pass with probability p, p' after a change by d, and let
its bit, given that it passed, have the moment C = e^{(α−1)D}. The label's moment is

    (1 − p)^α (1 − p')^(1−α) + p^α p'^(1−α) C;   in the other direction p and p' are swapped.

Both are convex in p' and increase with C. While the count changes by 0 to d, p' stays between its
values at the smallest and at the largest max(V¹, V⁰) in between, and C increases. So the larger of
the two moments at these ends, with C at d, bounds every change up to d and increases with d, which
is all that `bits` requires of the cost of a label.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from ballotine.errors import ParameterError
from ballotine.privacy import multilabel, published
from ballotine.privacy.exact.divergence import Laws, bounds
from ballotine.privacy.exact.laws import log_ndtr_change
from ballotine.privacy.multilabel.bits import LabelRelease
from ballotine.privacy.reach import ONE_VOTE, Reach
from ballotine.types import ABSTAIN, FloatArray, IntArray
from ballotine.voting.multilabel.ballots import Clipping

_WIDEST = 1e6


@dataclass(frozen=True)
class LabelCheck:
    """The confident check of every label: max(V¹, V⁰) + N(0, σ²) ≥ T."""

    threshold: float
    sigma: float


@dataclass(frozen=True)
class LabelCosts:
    """Prices the answers to counts of labels, shape (queries, labels)."""

    teachers: float
    orders: FloatArray
    sigma: float
    clipping: Clipping
    variant: multilabel.Variant
    check: LabelCheck | None
    reach: Reach = ONE_VOTE

    def exact(self, counts: FloatArray) -> FloatArray:
        """Return the cost of everything that a query may release, whatever was answered."""
        if self.reach.teachers > 1:
            raise ParameterError(
                "labels have no exact cost for a record that several teachers saw; use the "
                "published or tight cost"
            )
        if self.check is None:
            return multilabel.data_dependent(
                counts,
                self.teachers,
                self.orders,
                self.sigma,
                self.clipping.tau,
                self.clipping.norm,
                self.variant,
                self.reach.weight,
            )
        return self._checked(counts.shape[1], self.check).each(counts)

    def published(self, counts: FloatArray, answers: IntArray) -> FloatArray:
        """Return the cost by Theorem 6 on answered labels, or their joint cost, plus all checks."""
        answered = answers != ABSTAIN if self.check else np.ones(counts.shape, dtype=bool)
        costs = np.zeros((len(counts), len(self.orders)))
        for label, rows in enumerate(answered.T):
            if rows.any():
                costs[rows] += self._theorem6(counts[rows, label])
        joint = np.zeros((counts.shape[1] + 1, len(self.orders)))
        sizes = np.count_nonzero(answered, axis=1)
        for size in np.unique(sizes[sizes > 0]).tolist():
            joint[size] = multilabel.gaussian(
                self.orders, self.sigma, size, *self._clipping, self.variant, self.reach.votes
            )
        np.minimum(costs, joint[sizes], out=costs)
        if self.check is not None:
            costs += multilabel.joint_check(
                self.orders, self.check.sigma, counts.shape[1], *self._clipping, self.reach.votes
            )
        return costs

    @property
    def _clipping(self) -> tuple[float | None, multilabel.Norm]:
        return self.clipping.tau, self.clipping.norm

    def _theorem6(self, counts: FloatArray) -> FloatArray:
        both = np.stack((counts, np.maximum(self.teachers - counts, 0.0)), axis=1)
        each = self.sigma * np.sqrt(2.0) / multilabel.leverage(self.variant)
        most = self.reach.votes * float(self.clipping.scales(1)[1])
        return published.gnmax_data_dependent(both, self.orders, each, most)

    def _checked(self, labels: int, check: LabelCheck) -> CheckedRelease:
        if self.teachers > _WIDEST * min(self.sigma, check.sigma):
            raise ParameterError(
                "the noise is too small relative to the counts: double precision cannot represent "
                "how unlikely the other answer is"
            )
        weight = self.reach.weight
        bits = multilabel.tight(
            self.orders, self.sigma, labels, *self._clipping, self.variant, weight
        )
        checks = multilabel.tight_check(self.orders, check.sigma, labels, *self._clipping, weight)
        scales = self.clipping.scales(labels)[1:]
        return CheckedRelease(
            orders=self.orders,
            unit=self.sigma / multilabel.leverage(self.variant),
            centre=self.teachers / 2.0,
            lowest=0.0,
            highest=self.teachers * float(scales[0]),
            weight=weight,
            signed=True,
            scales=scales,
            ceiling=bits + checks,
            check=check,
        )


@dataclass(frozen=True)
class CheckedRelease(LabelRelease):
    """Bits of labels that are released only where the label passes its check."""

    check: LabelCheck

    def _rates(self, counts: FloatArray) -> FloatArray:
        """Return r of `bits` for each power, direction, sign of the move, count and order."""
        rates = np.zeros((len(self._powers), 2, 2, counts.size, self._grid.size))
        for largest, smallest in self._groups:
            step = self.weight * largest
            down, up = (np.minimum(step, room) for room in self._headroom(counts))
            for sign, move in enumerate((-down, up)):
                costs = self._worst_of_a_move(counts, move)
                for power, (forth, back) in zip(self._powers, rates, strict=True):
                    stretch = (self.scales[0] / smallest) ** power
                    np.maximum(forth[sign], stretch * costs[0::2], out=forth[sign])
                    np.maximum(back[sign], stretch * costs[1::2], out=back[sign])
        # Exact costs do not fall with the order; restore that after rounding.
        np.maximum.accumulate(rates, axis=4, out=rates)
        return rates

    def _worst_of_a_move(self, counts: FloatArray, move: FloatArray) -> FloatArray:
        """Return the costs of both directions, alternating, for each count and order."""
        position, shift = (counts - self.centre) / self.unit, move / self.unit
        larger = self._larger(counts)
        check = (larger - self.check.threshold) / self.check.sigma
        log_p = _joined(log_ndtr(-check), log_ndtr(check), log_ndtr(-position), log_ndtr(position))
        costs = np.zeros((2 * counts.size, self._grid.size))
        for end in self._ends(counts, move):
            change = (end - larger) / self.check.sigma
            log_ratio = _joined(
                log_ndtr_change(-check, -change),
                log_ndtr_change(check, change),
                log_ndtr_change(-position, -shift),
                log_ndtr_change(position, shift),
            )
            np.maximum(costs, bounds(Laws.both_ways(log_p, log_ratio), self._grid), out=costs)
        costs *= move.repeat(2)[:, np.newaxis] != 0.0
        return costs

    def _ends(self, counts: FloatArray, move: FloatArray) -> Iterator[FloatArray]:
        """Yield the extremes of the larger count during a change."""
        before, after = self._larger(counts), self._larger(counts + move)
        if self.scales[0] == self.scales[-1]:
            # All ballots count equally: a label changes by exactly this much, or not at all.
            yield after
            return
        crossing = (counts - self.centre) * (counts + move - self.centre) < 0.0
        yield np.where(crossing, self.centre, np.minimum(before, after))
        yield np.maximum(before, after)

    def _larger(self, counts: FloatArray) -> FloatArray:
        return np.maximum(counts, 2.0 * self.centre - counts)


def _joined(
    fails: FloatArray, passes: FloatArray, absent: FloatArray, present: FloatArray
) -> FloatArray:
    """Return logarithms for {abstain, absent, present}: bits are released if the check passes."""
    return np.stack((fails, passes + absent, passes + present))
