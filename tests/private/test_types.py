"""Private types keep silent, whoever asks and however."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ballotine
from ballotine.errors import DataError
from ballotine.privacy.private import Locked, Private, Sealed
from ballotine.privacy.smooth import PrivateCost
from ballotine.voting import LabelTallies, StudentTallies, SubsetTallies, Tallies
from tests.private.exits import LOOKS, SILENT, SPOKEN
from tests.private.walk import walk

NUMBERS = np.array([[41234.0, 73913.5703125, 0.739135703125, 60217.25]])
SETS = np.array([[[167, 57, 19, 93, 225]] * 4], dtype=np.uint8)
REASON = "a test looks at made-up numbers"

_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_INSIDE_NUMBERS = re.compile(r"(?<=\d)[.,_](?=\d)")


def every_type() -> list[type[Locked]]:
    """All types for private numbers, in whatever module of the package they are."""
    root = Path(ballotine.__path__[0])
    bases: dict[tuple[str, str], set[str]] = {}
    for path in root.rglob("*.py"):
        module = ".".join(path.relative_to(root.parent).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                named = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
                bases[module, node.name] = named
    private = {"Locked"}
    while more := {name for (_, name), above in bases.items() if above & private} - private:
        private |= more
    places = sorted(place for place in bases if place[1] in private)
    return [getattr(importlib.import_module(module), name) for module, name in places]


MADE: dict[type[Locked], Callable[[], Locked]] = {
    LabelTallies: lambda: LabelTallies(NUMBERS, 1e6),
    SubsetTallies: lambda: SubsetTallies(NUMBERS, SETS, 100, 40, None),
    StudentTallies: lambda: StudentTallies(Tallies(NUMBERS), np.full((1, 4), 0.25), 1e6),
    PrivateCost: lambda: PrivateCost(NUMBERS[0, 0], NUMBERS[0, 1:]),
}


def make(kind: type[Locked]) -> Any:
    """One filled with the numbers; types that take nothing else need no line above."""
    return MADE[kind]() if kind in MADE else kind(NUMBERS)


KINDS = every_type()


def shown(output: Any) -> list[str]:
    """Which of the numbers an output shows, in digits or in bytes."""
    if isinstance(output, bytes):
        text, data = output.decode("latin-1"), output
    else:
        text = output if isinstance(output, str) else repr(output)
        data = text.encode("utf-8", "replace")
    written = " ".join(_INSIDE_NUMBERS.sub("", _ADDRESS.sub("", text)).split())
    found = [form for form in ("41234", "73913", "60217", *set_forms()) if form in written]
    found += [form for form in (x.hex() for x in NUMBERS[0].tolist()) if form in text]
    for code in stored():
        spelled = (code.hex(), repr(code)[2:-1])
        # The oldest pickles write bytes as text.
        if code in data or code.decode("latin-1").encode() in data or any(map(text.count, spelled)):
            found.append(code.hex())
    return found


def stored() -> set[bytes]:
    """The numbers as machines keep them, both ways round."""
    codes = {SETS[0, 0].tobytes(), SETS[0, 0, ::-1].tobytes()}
    for number in NUMBERS[0]:
        kinds = ["f8", "f4", *(["i8", "i4"] if number == int(number) else [])]
        codes |= {number.astype(end + kind).tobytes() for kind in kinds for end in "<>"}
    return codes


def set_forms() -> list[str]:
    """Packed sets as people and arrays write them."""
    numbers, bits = SETS[0, 0].tolist(), np.unpackbits(SETS[0, 0]).tolist()
    return [mark.join(map(str, part)) for part in (numbers, bits) for mark in (", ", " ")]


def test_the_types_are_found() -> None:
    names = {kind.__name__ for kind in KINDS}
    assert names >= {
        "LabelTallies",
        "Private",
        "PrivateCost",
        "PrivateCosts",
        "PrivateEpsilons",
        "Readings",
        "StudentTallies",
        "SubsetTallies",
        "Tallies",
    }
    assert MADE.keys() <= set(KINDS)


@pytest.mark.parametrize("name", SPOKEN)
def test_text_says_private_and_no_more(name: str) -> None:
    for kind in KINDS:
        text = SPOKEN[name](make(kind))
        assert "private" in text, kind
        assert shown(text) == [], kind


@pytest.mark.parametrize("name", SILENT)
def test_is_refused(name: str) -> None:
    for kind in KINDS:
        with pytest.raises((TypeError, ValueError, AttributeError)) as refused:
            SILENT[name](make(kind))
        assert shown(f"{refused.value} {refused.value!r}") == [], kind


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_whoever_looks_through_an_object_does_not_meet_its_numbers(kind: type[Locked]) -> None:
    held = make(kind)
    found = [name for name, look in LOOKS.items() if shown(look(held))]
    found += [
        where
        for where, thing in walk(held)
        # Functions keep the numbers: that is where a look through attributes ends.
        if isinstance(thing, np.ndarray) and "closure" not in where and shown(thing.tobytes())
    ]
    assert found == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_has_slots_only(kind: type[Locked]) -> None:
    assert not hasattr(make(kind), "__dict__"), "declare __slots__: vars() would show it"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_holder_opens_it_with_a_reason(kind: Any) -> None:
    if kind is Locked:  # the base, which is never made
        return
    opened = make(kind).unlock(reason=REASON)
    assert np.array_equal(np.hstack(opened).ravel(), NUMBERS.ravel())
    with pytest.raises(DataError, match="reason"):
        make(kind).unlock(reason=" \n")
    with pytest.raises(TypeError):
        make(kind).unlock()


class Talkative:
    """What a private type would be without its refusals."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def __repr__(self) -> str:
        return f"<private {self._values.tolist()}>"

    def __len__(self) -> int:
        return len(self._values)

    def __array__(self, *args: object, **kwargs: object) -> np.ndarray:
        return self._values

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values.tolist())

    def __float__(self) -> float:
        return float(self._values[0, 0])

    def __int__(self) -> int:
        return int(self._values[0, 0])


LOUD = {name: way for name, way in {**SPOKEN, **LOOKS}.items() if "format" not in name}


@pytest.mark.parametrize("name", LOUD)
def test_the_search_finds_what_talks(name: str) -> None:
    assert shown(LOUD[name](Talkative(NUMBERS))) != []


@pytest.mark.parametrize("values", [NUMBERS, SETS], ids=["numbers", "sets"])
@pytest.mark.parametrize("name", ["pickle 0", "pickle 2", "pickle 5", "joblib dump", "array"])
def test_the_search_finds_what_is_packed(name: str, values: np.ndarray) -> None:
    assert shown(SILENT[name](Talkative(values))) != []


def test_sealed_arrays_are_silent_too() -> None:
    sealed = Sealed(SETS)
    for name in ("pickle 2", "copy", "deepcopy", "state", "array of floats"):
        with pytest.raises(TypeError):
            SILENT[name](sealed)
    for way in (repr, str, *LOOKS.values()):
        assert shown(way(sealed)) == []
    assert np.array_equal(sealed.unlock(reason=REASON), SETS)
    assert sealed.shape == SETS.shape


def test_costs_that_are_added_stay_private() -> None:
    total = PrivateCost(1.5, np.array([1.0, 2.0])) + PrivateCost(2.0, np.array([0.5, 0.25]))
    value, local = total.unlock(reason=REASON)
    assert value == 3.5
    assert local.tolist() == [1.5, 2.25]


def test_the_number_of_queries_is_public() -> None:
    assert len(Private(np.zeros((7, 2)))) == 7
    assert "7 queries" in repr(Private(np.zeros((7, 2))))
