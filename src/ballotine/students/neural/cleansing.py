"""Answers that are probably wrong (PATE++, Algorithm 3).

An answer is suspicious in an epoch when the two peers predict its row differently and both
differently from the answer. The counts of epochs decay: early on everything is suspicious.
The algorithm as printed scales each epoch's marks instead, by which nothing decays; the text of
the paper decays the running counts, and so do we.
"""

from __future__ import annotations

import numpy as np

from ballotine.errors import ParameterError
from ballotine.types import BoolArray, FloatArray, IntArray


class Suspicion:
    """Running counts: counts ← α·counts + marks, at the end of each epoch.

    Parameters:
        answers: how many there are.
        decay: α, at least 0 and at most 1.
    """

    def __init__(self, answers: int, decay: float) -> None:
        if not 0.0 <= decay <= 1.0:
            raise ParameterError(f"counts decay by a factor from 0 to 1, got {decay}")
        self.counts: FloatArray = np.zeros(answers)
        self._decay = decay
        self._marked: BoolArray = np.zeros(answers, dtype=np.bool_)

    def mark(self, places: IntArray) -> None:
        """These were suspicious in this epoch; a place that is met twice counts once."""
        self._marked[places] = True

    def end_epoch(self) -> IntArray:
        """Close an epoch; its suspicious places."""
        suspected = np.flatnonzero(self._marked).astype(np.int64)
        self.counts = self._decay * self.counts + self._marked
        self._marked[:] = False
        return suspected


def most_suspected(counts: FloatArray, codes: IntArray, share: float) -> IntArray:
    """The places of the answers to forget: the share with the highest counts.

    An answer that was never suspected stays, and so does the least suspected one of a class
    that would otherwise have none left. Among equal counts the first places go.

    Args:
        counts: how suspicious each answer is.
        codes: the answers' class numbers.
        share: τ, of all answers.
    """
    if not 0.0 <= share < 1.0:
        raise ParameterError(f"the share to remove is at least 0 and below 1, got {share}")
    room = int(share * len(counts) + 1e-9)
    order = np.argsort(-counts, kind="stable")
    spared = {int(order[codes[order] == code][-1]) for code in np.unique(codes)}
    removed = [int(place) for place in order if counts[place] > 0 and int(place) not in spared]
    return np.sort(np.array(removed[:room], dtype=np.int64))
