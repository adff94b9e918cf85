"""Which neighbouring ballots to compare: the pair whose answers differ most.

One record belongs to one teacher, so one row of ballots differs. Whichever pair is chosen, the
bound is valid; a better pair makes it larger.

Where a mechanism declares the law of its answers, that chooses the pair, and says which answers
speak for which neighbour. It does not enter the bound itself: a law that is wrong, because the
mechanism does not do what it says, makes an audit weaker at worst.
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

MOST_TALLIES = 400
MOST_CANDIDATES = 60
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
        name: the pair, as people write it.
        laws: log-laws of the answer in both worlds, where they are known.
    """

    before: IntArray
    after: IntArray
    name: str
    laws: Laws | None = None


def worst_pair(
    mechanism: Mechanism, teachers: int, classes: int, orders: Sequence[float], rate: Rate
) -> Pair | None:
    """The most telling pair of neighbouring tallies; None where no law is known.

    Args:
        mechanism: what answers.
        teachers: how many vote.
        classes: how many classes there are.
        orders: pairs with a large Rényi divergence at one of these are rated.
        rate: how much the answers to a pair will show.
    """
    _check(teachers, classes)
    if mechanism.multilabel or mechanism.log_law((1.0, 0.0)) is None:
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
    """Pairs to be tried where no law is known, the more promising ones."""
    _check(teachers, classes)
    if mechanism.multilabel:
        found = list(_label_pairs(teachers, classes))
    else:
        found = [
            Pair(_ballots(before), _ballots(after), _compared((before, after)))
            for before, after in _moves(teachers, classes)
        ]
    # Spread over all of them, so that none of the kinds is left out.
    places = np.unique(np.linspace(0, len(found) - 1, MOST_CANDIDATES).astype(np.int64))
    return [found[place] for place in places]


def _moves(teachers: int, classes: int) -> Iterator[tuple[Tally, Tally]]:
    """Every tally, classes being alike, with every move of one vote; for many, two leaders."""
    tallies = list(itertools.islice(_partitions(teachers, classes, teachers), MOST_TALLIES + 1))
    if len(tallies) > MOST_TALLIES:
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
    """Ways to share votes among classes, largest first."""
    if classes == 1:
        if votes <= most:
            yield (votes,)
        return
    for top in range(min(votes, most), -(-votes // classes) - 1, -1):
        for rest in _partitions(votes - top, classes - 1, top):
            yield (top, *rest)


def _label_pairs(teachers: int, labels: int) -> Iterator[Pair]:
    """One teacher names other labels; the others name all labels, or none."""
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
