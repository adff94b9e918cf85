"""Some inputs in a row, as a worker judges them."""

from __future__ import annotations

import faulthandler
from collections import Counter
from dataclasses import dataclass

from tests.fuzz.commands import judge
from tests.fuzz.inputs import case

HANGS = 120
"""An input that takes so many seconds hangs."""


@dataclass(frozen=True)
class Fault:
    """An input that ended as none may."""

    target: str
    number: int
    arguments: tuple[str, ...]
    faults: tuple[str, ...]


def batch(
    target: str, seed: int, numbers: range, *, watched: bool = False
) -> tuple[Counter[int], list[Fault]]:
    """How the inputs ended, and what was wrong.

    Args:
        target: of the inputs.
        seed: of the inputs.
        numbers: which of them.
        watched: say on standard error where an input hangs.
    """
    codes: Counter[int] = Counter()
    found: list[Fault] = []
    for number in numbers:
        made = case(target, seed, number)
        if watched:
            faulthandler.dump_traceback_later(HANGS)
        ended, faults = judge(made)
        faulthandler.cancel_dump_traceback_later()
        codes[ended.code] += 1
        if faults:
            found.append(Fault(target, number, made.arguments, tuple(faults)))
    return codes, found
