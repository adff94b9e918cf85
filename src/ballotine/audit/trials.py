"""Run a mechanism on the same ballots many times."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ballotine.errors import DataError, ParameterError
from ballotine.noise import NoiseSource, QueryNoise
from ballotine.progress import Advance
from ballotine.types import ABSTAIN, IntArray
from ballotine.voting import Mechanism

ROWS_AT_ONCE = 1 << 15
MAX_OUTCOMES = 3**7


@dataclass(frozen=True)
class Trials:
    """A mechanism, the number of classes or labels, and the noise source.

    An outcome is a number: 0 for abstaining and c + 1 for class c; with labels, a number in base 3
    with the digits 0 (abstains), 1 (absent) and 2 (present).
    """

    mechanism: Mechanism
    classes: int
    noise: NoiseSource

    def __post_init__(self) -> None:
        if self.outcomes > MAX_OUTCOMES:
            raise ParameterError("an audit counts every outcome: use fewer labels or classes")

    @property
    def outcomes(self) -> int:
        """The number of different answers."""
        return int(self._choices**self._digits)

    @property
    def _choices(self) -> int:
        """The number of values of one digit: abstain, or a class; or abstain, absent, present."""
        return 3 if self.mechanism.task.several else self.classes + 1

    @property
    def _digits(self) -> int:
        """The number of digits: one per label, or one for the class."""
        return math.prod(self.mechanism.task.tail(self.classes))

    def run(
        self,
        ballots: IntArray,
        trials: int,
        queries: int,
        label: str,
        advance: Advance = lambda _: None,
    ) -> IntArray:
        """Return the outcomes of trials.

        Args:
            ballots: the ballots on one query; all queries are copies of it.
            trials: the number of trials.
            queries: the number of queries that each trial answers.
            label: distinguishes the noise of these trials from that of all others.
            advance: called with the number of trials that are done.

        Returns:
            Shape (trials, queries).
        """
        found = np.empty((trials, queries), dtype=np.int64)
        together = max(1, ROWS_AT_ONCE // queries)
        prefix = f"audit/{label}/".encode()
        for start in range(0, trials, together):
            stop = min(start + together, trials)
            numbers = range(start * queries, stop * queries)
            keys = [prefix + number.to_bytes(8, "big") for number in numbers]
            rows = np.broadcast_to(ballots, (len(keys), *ballots.shape))
            tallies = self.mechanism.tally(rows, self.classes)
            answers = self.mechanism.release(tallies, QueryNoise(self.noise, keys))
            found[start:stop] = self._outcomes(answers).reshape(-1, queries)
            advance(stop - start)
        return found

    def _outcomes(self, answers: IntArray) -> IntArray:
        digits: IntArray = (answers - ABSTAIN).reshape(len(answers), self._digits)
        if np.any(digits < 0) or np.any(digits >= self._choices):
            raise DataError("the mechanism gave an answer that is not a class or label")
        return digits @ self._choices ** np.arange(self._digits)
