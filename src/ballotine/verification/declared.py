"""Claims of registered mechanisms: the cases they name, or one made of the law they declare."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module

import numpy as np

from ballotine.oracle.neighbours import Tally, format_tally, neighbours
from ballotine.oracle.truth import Truth, worst_neighbour
from ballotine.types import FloatArray
from ballotine.verification.case import AnyCase, Case, Effort, Points
from ballotine.verification.cases import CASES
from ballotine.verification.configurations import random_tally, small_tallies
from ballotine.voting import MECHANISMS, Mechanism, make_mechanism

FACTORS = (0.5, 1.0, 2.0, 5.0)
QUICK_FACTORS = (0.5, 2.0)
CLASSES = (2, 3, 4)
LARGE = 40
REACHES = 0.5
"""A law that stays further below what is charged would not show a wrong constant."""


@dataclass(frozen=True)
class DeclaredVote:
    """A tally and the mechanism that answers."""

    tally: Tally
    mechanism: Mechanism

    @property
    def classes(self) -> int:
        """How many there are to choose from."""
        return len(self.tally)


def every_case() -> tuple[AnyCase, ...]:
    """All that ship with Ballotine, and those of mechanisms that were registered."""
    return (*CASES, *itertools.chain.from_iterable(map(_cases_of, _others())))


def _others() -> Sequence[type[Mechanism]]:
    covered = {case.mechanism for case in CASES}
    return [kind for name, kind in MECHANISMS.usable().items() if name not in covered]


def _cases_of(kind: type[Mechanism]) -> tuple[AnyCase, ...]:
    if kind.verified_by:
        return tuple(case for name in kind.verified_by for case in import_module(name).CASES)
    if kind.multilabel or kind.audit is None or _default(kind).log_law((1.0, 0.0)) is None:
        return ()
    return (_declared_case(kind),)


def _declared_case(kind: type[Mechanism]) -> AnyCase:
    """What a query is charged against the law of its answers, over all neighbours."""
    return Case(
        f"{kind.name}/charged",
        "what a query is charged, whatever the tally",
        f"events of {kind.__module__}.{kind.__qualname__}, against the law that it declares",
        "holds",
        REACHES,
        lambda effort: _configurations(kind, effort),
        _charged,
        _truth,
    )


def _configurations(kind: type[Mechanism], effort: Effort) -> Iterator[DeclaredVote]:
    """Every small tally at several scales of the mechanism's audit default, and large ones."""
    default = _default(kind)
    for factor in QUICK_FACTORS if effort.quick else FACTORS:
        for tally in small_tallies(effort, CLASSES):
            yield DeclaredVote(tally, default.scaled(factor))
    draw = effort.draws(kind.name)
    for _ in range(effort.number(LARGE)):
        votes = int(draw.integers(20, 301))
        tally = random_tally(draw, votes, int(draw.choice(CLASSES)))
        yield DeclaredVote(tally, default.scaled(votes * 10.0 ** draw.uniform(-1.7, -0.3)))


def _charged(vote: DeclaredVote, orders: Points) -> FloatArray:
    events = vote.mechanism.events(vote.classes)
    charged: FloatArray = np.sum([event.cost(np.array(orders)) for event in events], axis=0)
    return charged


@lru_cache(maxsize=1 << 13)
def _truth(vote: DeclaredVote, orders: Points) -> Truth:
    others = neighbours(vote.tally)
    laws = np.array([vote.mechanism.log_law(other) for other in others])
    law = np.array(vote.mechanism.log_law(vote.tally))
    return worst_neighbour(law, laws, lambda i: format_tally(others[i]), np.array(orders))


def _default(kind: type[Mechanism]) -> Mechanism:
    return make_mechanism(kind.name, {} if kind.audit is None else kind.audit.parameters)
