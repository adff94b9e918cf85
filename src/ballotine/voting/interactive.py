"""Interactive-GNMax: teachers answer where they contradict the student (Papernot et al. 2018).

The student's probabilities are public: it learned from released answers alone. They are part of
a query, so queries depend on earlier answers, and only data-independent costs compose.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ballotine.errors import DataError, ParameterError
from ballotine.ledger import Events
from ballotine.noise import QueryNoise, check_noise_scale
from ballotine.privacy.events import Event, GaussianCheck
from ballotine.privacy.private import Private
from ballotine.privacy.reach import ONE_VOTE, Reach
from ballotine.types import ABSTAIN, BoolArray, FloatArray, IntArray
from ballotine.voting.gnmax import argmax_event, noisy_argmax
from ballotine.voting.mechanism import Mechanism
from ballotine.voting.tally import Tallies


class StudentTallies(Tallies):
    """Tallies (private) with the student's probabilities for the same queries (public)."""

    __slots__ = ("probabilities", "teachers")

    def __init__(self, tallies: Tallies, probabilities: npt.ArrayLike, teachers: float) -> None:
        """Combine the teachers' counts with the student's probabilities.

        Args:
            tallies: the counts of some queries.
            probabilities: the student's, for each class, shape (queries, classes).
            teachers: the number of teachers, or their total weight.
        """
        opinions = np.asarray(probabilities, dtype=np.float64)
        if opinions.shape != (len(tallies), tallies.classes):
            raise DataError("the student must give a probability for each class of each query")
        if not np.all((opinions >= 0.0) & (opinions <= 1.0)):
            raise DataError("the student's probabilities must lie between 0 and 1")
        if not np.allclose(opinions.sum(axis=1), 1.0, atol=1e-3):
            raise DataError("the student's probabilities must add up to 1 for each query")
        if not (math.isfinite(teachers) and teachers > 0.0):
            raise DataError("the number of teachers must be positive")
        counts = tallies.unlock(reason="the same counts, with the student's probabilities")
        Private.__init__(self, counts)
        self.probabilities: FloatArray = opinions
        self.teachers = teachers


@dataclass(frozen=True)
class InteractiveGNMax(Mechanism):
    """Check max_j(n_j − M p_j) + N(0, σ₁²) ≥ T, where p are the student's probabilities.

    If it holds, the teachers disagree with the student and answer as in GNMax. If it does not and
    the student is confident (max_j p_j > γ), the student's own label is confirmed. Otherwise the
    mechanism abstains.

    The check releases one bit about a number that one vote changes by at most 1: M and p are
    public, every n_j − M p_j changes by at most 1, and so does the largest of them.

    Answers are class numbers and do not show whether the teachers gave them or the student's label
    was confirmed. `realised` therefore charges an argmax for every answer. `ask` also returns which
    ones were confirmed, and `realised_with_student` charges only the check for those. Which ones
    were confirmed is public; the check pays for it.

    `release` needs tallies from `with_student`.

    Attributes:
        sigma: standard deviation of the noise on each class's count, in votes.
        threshold: votes by which the teachers must exceed what the student predicts.
        sigma_threshold: standard deviation of the noise on the check.
        confidence: γ, the probability above which the student's label is confirmed.
    """

    sigma: float
    threshold: float
    sigma_threshold: float
    confidence: float
    name: ClassVar[str] = "interactive-gnmax"

    def __post_init__(self) -> None:
        check_noise_scale(self.sigma)
        check_noise_scale(self.sigma_threshold)
        if not math.isfinite(self.threshold):
            raise ParameterError(f"the threshold must be finite, got {self.threshold}")
        if not 0.0 <= self.confidence <= 1.0:
            raise ParameterError(f"the confidence must lie between 0 and 1, got {self.confidence}")

    def with_student(
        self, tallies: Tallies, probabilities: npt.ArrayLike, teachers: float
    ) -> StudentTallies:
        """Return tallies with the student's probabilities for the same queries.

        Args:
            tallies: the counts.
            probabilities: the student's, shape (queries, classes), each row adding up to 1.
            teachers: M, the number of teachers.
        """
        return StudentTallies(tallies, probabilities, teachers)

    def events(self, classes: int, reach: Reach = ONE_VOTE) -> Events:
        """Return a check and, at worst, a noisy argmax."""
        return (
            GaussianCheck(self.sigma_threshold, reach.votes),
            argmax_event(self.sigma, classes, reach),
        )

    def realised(self, answers: IntArray, classes: int, reach: Reach = ONE_VOTE) -> Counter[Event]:
        """Return a check per query, and an argmax per answer, which may be the teachers'."""
        return self.realised_with_student(answers, np.zeros(len(answers), bool), classes, reach)

    def realised_with_student(
        self,
        answers: IntArray,
        confirmed: BoolArray,
        classes: int,
        reach: Reach = ONE_VOTE,
    ) -> Counter[Event]:
        """Return a check per query, and an argmax per answer that was not confirmed."""
        check, argmax = self.events(classes, reach)
        from_teachers = int(np.count_nonzero((answers != ABSTAIN) & ~confirmed))
        return Counter({check: len(answers)}) + Counter({argmax: from_teachers})

    def require(self, tallies: Tallies) -> None:
        """Refuse counts without the student's probabilities."""
        self._require_student(tallies)

    def release(self, tallies: Tallies, noise: QueryNoise) -> IntArray:
        """Return the answers alone."""
        return self.ask(tallies, noise)[0]

    def ask(self, tallies: Tallies, noise: QueryNoise) -> tuple[IntArray, BoolArray]:
        """Return the answers, and which of them confirm the student's own label."""
        known = self._require_student(tallies)
        counts = known.unlock(reason="releasing a noisy argmax against the student")
        opinions = known.probabilities
        surprise = np.max(counts - known.teachers * opinions, axis=1)
        passed = surprise + noise.gaussian(self.sigma_threshold, 1)[:, 0] >= self.threshold
        # Noise is drawn for every query, whether the teachers or the student answer it.
        winners = noisy_argmax(counts, self.sigma, noise)
        confirmed = ~passed & (opinions.max(axis=1) > self.confidence)
        own = np.where(confirmed, np.argmax(opinions, axis=1), ABSTAIN)
        return np.where(passed, winners, own).astype(np.int64), confirmed

    def _require_student(self, tallies: Tallies) -> StudentTallies:
        if not isinstance(tallies, StudentTallies):
            raise DataError(f"{self.name} needs the student's probabilities: see with_student()")
        return tallies
