"""Find the neighbouring ballots whose answers differ most.

One record belongs to one teacher, so one teacher's ballot differs. The bound is valid for any
pair; a better pair makes it larger.

If a mechanism declares the law of its answers, the law is used to choose the pair and to score
answers. It is not used in the bound itself: if the law is wrong, because the mechanism does not
do what it claims, the audit is weaker at worst.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ballotine.errors import ParameterError
from ballotine.oracle.divergence import renyi
from ballotine.oracle.neighbours import Tally, format_tally
from ballotine.types import FloatArray, IntArray
from ballotine.voting import Mechanism

MAX_TALLIES = 400
MAX_CANDIDATES = 60
SHORT_LIST = 6

Laws = tuple[FloatArray, FloatArray]
"""Log-probabilities of every outcome, before and after."""

Rate = Callable[[Laws], float]


@dataclass(frozen=True)
class Pair:
    """Ballots on one query before and after one record is replaced.

    Attributes:
        before: shape (teachers,) with class numbers, or (teachers, labels) with 0 and 1.
        after: the same with one teacher's ballot changed.
        name: the pair, as text.
        laws: log-probabilities of the answers in both worlds, if they are known.
    """

    before: IntArray
    after: IntArray
    name: str
    laws: Laws | None = None


def worst_pair(
    mechanism: Mechanism, teachers: int, classes: int, orders: Sequence[float], rate: Rate
) -> Pair | None:
    """Return the pair of neighbouring tallies with the best rating; None if no law is known.

    Args:
        mechanism: the mechanism that answers.
        teachers: the number of teachers.
        classes: the number of classes.
        orders: pairs with a large Rényi divergence at one of these orders are rated.
        rate: returns the bound to expect from a pair's laws.
    """
    _check(teachers, classes)
    if mechanism.task.several or mechanism.log_law((1.0, 0.0)) is None:
        return None
    moves = list(_moves(teachers, classes))
    laws = [np.array([mechanism.log_law(tally) for tally in move]) for move in moves]
    pairs = np.array(laws)
    grid = np.array(orders)
    apart = np.maximum(renyi(pairs[:, 0], pairs[:, 1], grid), renyi(pairs[:, 1], pairs[:, 0], grid))
    short = np.unique(np.argsort(-apart, axis=0, kind="stable")[:SHORT_LIST])
    worst = max(short.tolist(), key=lambda place: rate((laws[place][0], laws[place][1])))
    before, after = moves[worst]
    return Pair(
        _ballots(before), _ballots(after), _compared(moves[worst]), (laws[worst][0], laws[worst][1])
    )


def candidates(mechanism: Mechanism, teachers: int, classes: int) -> list[Pair]:
    """Return pairs to try if no law is known."""
    _check(teachers, classes)
    if mechanism.task.several:
        found = list(_label_pairs(teachers, classes))
    else:
        found = [
            Pair(_ballots(before), _ballots(after), _compared((before, after)))
            for before, after in _moves(teachers, classes)
        ]
    # Spread over all pairs, so that no kind is left out.
    places = np.unique(np.linspace(0, len(found) - 1, MAX_CANDIDATES).astype(np.int64))
    return [found[place] for place in places]


def _moves(teachers: int, classes: int) -> Iterator[tuple[Tally, Tally]]:
    """Yield every tally, up to the order of classes, with every move of one vote.

    If there are too many tallies, only those in which two classes have all votes.
    """
    tallies = list(itertools.islice(_partitions(teachers, classes, teachers), MAX_TALLIES + 1))
    if len(tallies) > MAX_TALLIES:
        rest = (0,) * (classes - 2)
        tallies = [(top, teachers - top, *rest) for top in range((teachers + 1) // 2, teachers + 1)]
    for tally in tallies:
        tried = set()
        for loser, gainer in itertools.permutations(range(classes), 2):
            kind = (tally[loser], tally[gainer])
            if tally[loser] == 0 or kind in tried:
                continue
            tried.add(kind)
            after = list(tally)
            after[loser] -= 1
            after[gainer] += 1
            yield tuple(map(float, tally)), tuple(map(float, after))


def _partitions(votes: int, classes: int, most: int) -> Iterator[tuple[int, ...]]:
    """Yield the ways to divide votes among classes, largest first."""
    if classes == 1:
        if votes <= most:
            yield (votes,)
        return
    for top in range(min(votes, most), -(-votes // classes) - 1, -1):
        for rest in _partitions(votes - top, classes - 1, top):
            yield (top, *rest)


def _label_pairs(teachers: int, labels: int) -> Iterator[Pair]:
    """Yield pairs in which one teacher's labels change; the others name all labels, or none."""
    sizes = [
        (old, new)
        for old, new in itertools.product(range(labels + 1), repeat=2)
        if new <= old and 0 < old + new <= labels
    ]
    for (old, new), crowd in itertools.product(sizes, range(teachers)):
        before = np.zeros((teachers, labels), dtype=np.int64)
        before[:crowd] = 1
        after = before.copy()
        before[-1, :old] = 1
        after[-1, old : old + new] = 1
        name = (
            f"{crowd} of {teachers - 1} teachers name all {labels} labels, the last one names "
            f"{_named(range(old))} against {_named(range(old, old + new))}"
        )
        yield Pair(before, after, name)


def _compared(move: tuple[Tally, Tally]) -> str:
    return f"tally {format_tally(move[0])} against {format_tally(move[1])}"


def _named(labels: Sequence[int]) -> str:
    return "{" + ", ".join(map(str, labels)) + "}"


def _ballots(tally: Tally) -> IntArray:
    return np.repeat(np.arange(len(tally)), np.array(tally, dtype=np.int64))


def _check(teachers: int, classes: int) -> None:
    if teachers < 1 or classes < 2:
        raise ParameterError("an audit needs at least one teacher and two classes or labels")
