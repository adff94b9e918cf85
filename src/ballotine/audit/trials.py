"""Running a mechanism on the same ballots, over and over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ballotine.errors import DataError, ParameterError
from ballotine.noise import NoiseSource, QueryNoise
from ballotine.progress import Advance
from ballotine.types import ABSTAIN, IntArray
from ballotine.voting import Mechanism

ROWS_AT_ONCE = 1 << 15
MOST_OUTCOMES = 3**7


@dataclass(frozen=True)
class Trials:
    """A mechanism, the number of classes or labels, and the noise it draws.

    Outcomes are numbers: 0 for abstaining and c + 1 for class c; with labels, the digits
    0 (abstains), 1 (absent) and 2 (present) of one number in base 3.
    """

    mechanism: Mechanism
    classes: int
    noise: NoiseSource

    def __post_init__(self) -> None:
        if self.outcomes > MOST_OUTCOMES:
            raise ParameterError("an audit counts every outcome: use fewer labels or classes")

    @property
    def outcomes(self) -> int:
        """How many different answers there are."""
        return int(3**self.classes) if self.mechanism.multilabel else self.classes + 1

    def run(
        self,
        ballots: IntArray,
        trials: int,
        queries: int,
        label: str,
        advance: Advance = lambda _: None,
    ) -> IntArray:
        """The outcomes of so many trials that answer so many queries each.

        Args:
            ballots: of one query; all queries are alike.
            trials: how many to run.
            queries: how many each of them answers.
            label: what sets the noise of these trials apart from that of all others.
            advance: is told how many more trials are done.

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
        largest = 1 if self.mechanism.multilabel else self.classes - 1
        if np.any(answers < ABSTAIN) or np.any(answers > largest):
            raise DataError("the mechanism gave an answer that it does not have")
        digits: IntArray = answers - ABSTAIN
        return digits @ 3 ** np.arange(self.classes) if self.mechanism.multilabel else digits
