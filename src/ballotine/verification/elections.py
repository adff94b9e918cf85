"""Polls of k-hot ballots to check: all small ones, and large ones with two camps."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from ballotine.oracle.ballots import Ballot, Norm, Poll, Variant, every_ballot, format_ballot
from ballotine.verification.case import Effort

VARIANTS: dict[str, Variant] = {
    "complement": "one-against-complement",
    "both": "both",
    "half": "one-against-half",
}
Cast = tuple[tuple[Ballot, int], ...]
"""Each ballot, with the number of teachers that cast it."""

# The maximal number of teachers for one, two and three labels.
_SMALL = ((1, 8), (2, 4), (3, 3))
_QUICK = ((1, 4), (2, 3), (3, 2))


def format_cast(cast: Cast) -> str:
    """Return ballots as text."""
    return " + ".join(f"{number}×{format_ballot(ballot)}" for ballot, number in cast)


@dataclass(frozen=True)
class ClippingCase:
    """How ballots are clipped: to norm τ, or not at all."""

    tau: float | None
    norm: Norm


@dataclass(frozen=True)
class Election:
    """The ballots of one query, and the noise of its answers."""

    labels: int
    cast: Cast = field(metadata={"format": format_cast})
    sigma: float
    variant: Variant
    tau: float | None
    norm: Norm
    weight: float = 1.0
    teachers: int = 1

    @property
    def poll(self) -> Poll:
        """The ballots without the noise."""
        return Poll(self.labels, self.cast, self.tau, self.norm, self.weight)

    @property
    def reach(self) -> float:
        """The total weight of the teachers that may change their ballots."""
        return self.weight * self.teachers


@lru_cache(maxsize=4)
def small_casts(quick: bool) -> tuple[tuple[int, Cast], ...]:
    """Return (labels, ballots) for every small poll, up to renaming the labels."""
    found = []
    for labels, most in _QUICK if quick else _SMALL:
        seen = set()
        for teachers in range(1, most + 1):
            for chosen in itertools.combinations_with_replacement(every_ballot(labels), teachers):
                if _canonical(chosen, labels) not in seen:
                    seen.add(_canonical(chosen, labels))
                    cast = tuple((ballot, chosen.count(ballot)) for ballot in sorted(set(chosen)))
                    found.append((labels, cast))
    return tuple(found)


def _canonical(chosen: tuple[Ballot, ...], labels: int) -> tuple[Ballot, ...]:
    renamed = (
        tuple(sorted(tuple(sorted(names[label] for label in ballot)) for ballot in chosen))
        for names in itertools.permutations(range(labels))
    )
    return min(renamed)


def small_elections(
    effort: Effort, variant: Variant, clippings: tuple[ClippingCase, ...]
) -> Iterator[Election]:
    """Yield every small poll with little and much noise."""
    for sigma, clipping in itertools.product((0.6,) if effort.quick else (0.6, 3.0), clippings):
        for labels, cast in small_casts(effort.quick):
            # With one label clipping has no effect unless τ < 1, so it would test nothing.
            if labels == 1 and clipping.tau is not None:
                continue
            yield Election(labels, cast, sigma, variant, clipping.tau, clipping.norm)


def random_camps(
    effort: Effort, variant: Variant, clippings: tuple[ClippingCase, ...], number: int = 100
) -> Iterator[Election]:
    """Yield polls of up to 20 labels in which two camps name different labels."""
    draw = effort.draws(f"camps {variant}")
    for _ in range(effort.number(number)):
        labels = int(draw.choice((4, 8, 20)))
        clipping = clippings[int(draw.integers(len(clippings)))]
        first = int(draw.integers(1, labels // 2 + 1))
        second = int(draw.integers(0, labels - first + 1))
        teachers = int(draw.integers(20, 101))
        crowd = int(draw.integers(1, teachers))
        camps: list[tuple[Ballot, int]] = [(tuple(range(first)), crowd)]
        camps.append((tuple(range(first, first + second)), teachers - crowd))
        sigma = float(draw.choice((0.8, 3.0, 9.0)))
        yield Election(labels, tuple(camps), sigma, variant, clipping.tau, clipping.norm)


def fixed_camps(variant: Variant, clippings: tuple[ClippingCase, ...]) -> Iterator[Election]:
    """Yield polls of 20 labels and 50 teachers in two camps.

    Even camps under much noise come close to the one-bit suprema, uneven ones under little noise
    to the cost of the noisy counts.
    """
    sizes, noises = (1, 3, 4, 10), ((25, 9.0), (9, 0.8))
    for clipping, size, (crowd, sigma) in itertools.product(clippings, sizes, noises):
        camps = ((tuple(range(size)), crowd), (tuple(range(size, 2 * size)), 50 - crowd))
        yield Election(20, camps, sigma, variant, clipping.tau, clipping.norm)
