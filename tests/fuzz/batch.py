"""Some inputs in a row, as a worker judges them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tests.fuzz.commands import judge
from tests.fuzz.inputs import case


@dataclass(frozen=True)
class Fault:
    """An input that ended as none may."""

    target: str
    number: int
    arguments: tuple[str, ...]
    faults: tuple[str, ...]


def batch(target: str, seed: int, numbers: range) -> tuple[Counter[int], list[Fault]]:
    """How the inputs ended, and what was wrong."""
    codes: Counter[int] = Counter()
    found: list[Fault] = []
    for number in numbers:
        made = case(target, seed, number)
        ended, faults = judge(made)
        codes[ended.code] += 1
        if faults:
            found.append(Fault(target, number, made.arguments, tuple(faults)))
    return codes, found
