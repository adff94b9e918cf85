"""The base class of Binary and Clipped voting: one noisy bit per label, and a check per label.

Label i has the count V¹ of the (clipped) ballots that name it, and V⁰ = n − V¹.

**Why only what was asked is charged.** Fix two neighbouring data sets. Given everything released
before, a label's check and its bit are one-bit releases whose costs depend only on how much the one
changed ballot changes that label. Which labels pass the check is public, and so is which labels
are asked at all. Asking further labels is therefore an adaptive choice, and the total cost is at
most the largest sum over the labels that were checked, plus that over the labels that were
answered. Both sums are largest for a pair of ballots that name no other labels: `LabelChecks` and
`LabelBits` of as many labels as were asked and answered, together and not level by level. Proof,
statements 4 and 6: docs/proofs/clipped-ballots.md. A record of a teacher with more weight, or of
several teachers, changes every label by a common factor more (statements 3 and 7):
`WeightedLabelBits` and `WeightedLabelChecks`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import ClassVar

import numpy as np

from ballotine.errors import DataError, ParameterError
from ballotine.ledger import Events
from ballotine.noise import QueryNoise, check_noise_scale
from ballotine.privacy.events import (
    Event,
    LabelBits,
    LabelChecks,
    WeightedLabelBits,
    WeightedLabelChecks,
)
from ballotine.privacy.multilabel import Variant, leverage
from ballotine.privacy.reach import ONE_VOTE, Reach
from ballotine.types import ABSTAIN, BoolArray, FloatArray, IntArray
from ballotine.voting.electorate import Electorate
from ballotine.voting.gnmax import NOISE
from ballotine.voting.mechanism import Bounds, Mechanism, require_threshold
from ballotine.voting.multilabel.ballots import Clipping, LabelTallies, require_labels
from ballotine.voting.multilabel.costs import LabelCheck, LabelCosts
from ballotine.voting.multilabel.dependencies import Dependencies
from ballotine.voting.parameters import parameter
from ballotine.voting.tally import Tallies

THRESHOLD = parameter("Votes that a label's larger count must reach, with noise.", votes=1)
THRESHOLD_NOISE = parameter("Noise of that check, in votes.", above=0, votes=1)


@dataclass(frozen=True)
class LabelVoting(Mechanism):
    """Answer for every label that passes the check whether its noisy count wins.

    Attributes:
        sigma: standard deviation of each noise, in votes.
        threshold: votes that a label's larger count, with noise, must reach; None: no check.
        sigma_threshold: standard deviation of the noise on each check.
        variant: where the noise is added. "both": to V¹ and to V⁰; "one-against-complement": to
            V¹, which is compared with V⁰; "one-against-half": to V¹, compared with n/2.
        dependencies: which labels imply which: public knowledge.
    """

    sigma: float = field(metadata=NOISE)
    _: KW_ONLY
    threshold: float | None = field(default=None, metadata=THRESHOLD)
    sigma_threshold: float | None = field(default=None, metadata=THRESHOLD_NOISE)
    variant: Variant = field(
        default="both",
        metadata=parameter(
            "Where noise is added: both, one-against-complement or one-against-half."
        ),
    )
    dependencies: Dependencies | None = None
    multilabel: ClassVar[bool] = True
    analyses: ClassVar[frozenset[Bounds]] = frozenset({"published", "tight", "exact"})
    individual: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "dependencies", Dependencies.of(self.dependencies))
        check_noise_scale(self.sigma)
        leverage(self.variant)
        if (self.threshold is None) != (self.sigma_threshold is None):
            raise ParameterError("give both threshold and sigma_threshold, or neither")
        if self.check is not None:
            check_noise_scale(self.check.sigma)
            require_threshold(self.check.threshold)

    @property
    def checks(self) -> tuple[tuple[float, float], ...]:
        """The check of every label's larger count."""
        return () if self.check is None else ((self.check.threshold, self.check.sigma),)

    @property
    def check(self) -> LabelCheck | None:
        """The check of every label, if there is one."""
        if self.threshold is None or self.sigma_threshold is None:
            return None
        return LabelCheck(self.threshold, self.sigma_threshold)

    @property
    @abstractmethod
    def clipping(self) -> Clipping:
        """How ballots are clipped before they are counted."""

    def events(self, classes: int, reach: Reach = ONE_VOTE) -> Events:
        """Return the worst case: all labels pass the check and are answered."""
        self._require_labels(classes)
        bits = self._bits(reach, classes)
        return (bits,) if self.check is None else (self._checks(self.check, reach, classes), bits)

    def realised(self, answers: IntArray, classes: int, reach: Reach = ONE_VOTE) -> Counter[Event]:
        """Return a check for each asked label, and a bit for each answered one."""
        self._require_labels(classes)
        found: Counter[Event] = Counter()
        for event, sizes in self._released(answers, reach):
            for size, times in zip(*np.unique(sizes, return_counts=True), strict=True):
                if size:
                    found[event(int(size))] += int(times)
        return found

    def tally(self, ballots: IntArray, classes: int) -> LabelTallies:
        """Clip and count ballots of shape (queries, teachers, labels)."""
        require_labels(ballots, classes)
        return LabelTallies.from_ballots(ballots, self.clipping)

    def weigh(self, ballots: IntArray, classes: int, electorate: Electorate) -> LabelTallies:
        """Clip, weight and count ballots."""
        require_labels(ballots, classes)
        return LabelTallies.from_ballots(ballots, self.clipping, electorate)

    def require(self, tallies: Tallies) -> None:
        """Refuse tallies with another clipping, which would cost more than is charged."""
        self._own(tallies)

    def release(self, tallies: Tallies, noise: QueryNoise) -> IntArray:
        """Answer every label; noise is drawn for all labels, asked or not, answered or not."""
        counts, teachers = self._open(tallies, reason="releasing noisy bits of labels")
        passed = np.ones(counts.shape, dtype=bool)
        if self.check is not None:
            larger = np.maximum(counts, teachers - counts)
            drawn = noise.gaussian(self.check.sigma, counts.shape[1])
            passed = larger + drawn >= self.check.threshold
        answers = np.where(passed, self._noisy_bits(counts, teachers, noise), ABSTAIN)
        return answers if self.dependencies is None else self.dependencies.infer(answers)

    def _noisy_bits(self, counts: FloatArray, teachers: float, noise: QueryNoise) -> IntArray:
        labels = counts.shape[1]
        if self.variant == "both":
            drawn = noise.gaussian(self.sigma, 2 * labels)
            won = counts + drawn[:, :labels] > teachers - counts + drawn[:, labels:]
        else:
            other = teachers - counts if self.variant == "one-against-complement" else teachers / 2
            won = counts + noise.gaussian(self.sigma, labels) > other
        return won.astype(np.int64)

    def _published(
        self, tallies: Tallies, answers: IntArray, orders: FloatArray, reach: Reach
    ) -> FloatArray:
        """Return the two-sided cost by Theorem 6 of every answered label."""
        counts, costs = self._data_dependent(tallies, orders, reach)
        return costs.published(counts, answers)

    def _exact(self, tallies: Tallies, orders: FloatArray, reach: Reach) -> FloatArray:
        """Return the cost of the whole law."""
        counts, costs = self._data_dependent(tallies, orders, reach)
        return costs.exact(counts)

    def _data_dependent(
        self, tallies: Tallies, orders: FloatArray, reach: Reach
    ) -> tuple[FloatArray, LabelCosts]:
        if self.dependencies is not None:
            raise ParameterError(
                "labels with dependencies have only a data-independent cost; use the tight one"
            )
        counts, teachers = self._open(tallies, reason="pricing bits of labels for the data holder")
        costs = LabelCosts(
            teachers, orders, self.sigma, self.clipping, self.variant, self.check, reach
        )
        return counts, costs

    def _tight(
        self, answers: IntArray, classes: int, orders: FloatArray, reach: Reach
    ) -> FloatArray:
        """Return costs by the numbers of asked and answered labels: answers are too many."""
        costs = np.zeros((len(answers), len(orders)))
        for event, sizes in self._released(answers, reach):
            prices = np.zeros((classes + 1, len(orders)))
            for size in np.unique(sizes[sizes > 0]).tolist():
                prices[size] = event(size).cost(orders)
            costs += prices[sizes]
        return costs

    def _released(
        self, answers: IntArray, reach: Reach
    ) -> list[tuple[Callable[[int], Event], IntArray]]:
        """Return the kinds of releases, and how many labels of each query each applies to."""
        asked, bits = self._asked(answers), partial(self._bits, reach)
        if self.check is None:
            return [(bits, np.count_nonzero(asked, axis=1))]
        answered = asked & (answers != ABSTAIN)
        return [
            (partial(self._checks, self.check, reach), np.count_nonzero(asked, axis=1)),
            (bits, np.count_nonzero(answered, axis=1)),
        ]

    def _bits(self, reach: Reach, labels: int) -> Event:
        tau, norm, votes = self.clipping.tau, self.clipping.norm, reach.votes
        if votes == 1.0:
            return LabelBits(self.sigma, labels, tau, norm, self.variant)
        return WeightedLabelBits(self.sigma, labels, tau, norm, self.variant, votes)

    def _checks(self, check: LabelCheck, reach: Reach, labels: int) -> Event:
        tau, norm, votes = self.clipping.tau, self.clipping.norm, reach.votes
        if votes == 1.0:
            return LabelChecks(check.sigma, labels, tau, norm)
        return WeightedLabelChecks(check.sigma, labels, tau, norm, votes)

    def _asked(self, answers: IntArray) -> BoolArray:
        if self.dependencies is None:
            return np.ones(answers.shape, dtype=bool)
        return self.dependencies.asked(answers)

    def _open(self, tallies: Tallies, reason: str) -> tuple[FloatArray, float]:
        own = self._own(tallies)
        return own.unlock(reason=reason), own.teachers

    def _own(self, tallies: Tallies) -> LabelTallies:
        if not isinstance(tallies, LabelTallies) or tallies.clipping != self.clipping:
            raise DataError(f"{self.name} needs tallies made by its own tally()")
        self._require_labels(tallies.classes)
        return tallies

    def _require_labels(self, labels: int) -> None:
        if self.dependencies is not None and self.dependencies.labels != labels:
            raise DataError(
                f"the dependencies are for {self.dependencies.labels} labels, not for {labels}"
            )
