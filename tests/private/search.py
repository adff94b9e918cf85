"""Looking for private numbers in text, bytes, arrays, files and whole object graphs."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from plotly.offline import get_plotlyjs

from ballotine.privacy.private import Locked, Sealed
from tests.private.walk import unpacked, walk

_HEXADECIMAL = re.compile(r"[0-9a-fA-F]{12,}")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{8,}")
_KINDS = ("i1", "i2", "i4", "i8", "f2", "f4", "f8")
_SHORTEST = 6  # bytes; shorter ones would be found in any compressed file


class Wanted:
    """Sequences of numbers that must not be found side by side anywhere.

    A sequence needs three different numbers, or to be long, else it might be there by chance.
    """

    def __init__(self, sequences: list[np.ndarray]) -> None:
        assert all(len(np.unique(part)) >= 3 or len(part) >= 64 for part in sequences)
        self.sequences = sequences
        self.codes = Codes(code for numbers in sequences for code in _encodings(numbers))

    @classmethod
    def votes(cls, ballots: np.ndarray, tallies: np.ndarray) -> Wanted:
        """Tallies by row, by column, sorted, as shares and as top counts; ballots likewise."""
        counts, cast = tallies.astype(np.float64), ballots.astype(np.float64)
        ordered = np.sort(counts, axis=1)
        shares = counts / counts.sum(axis=1, keepdims=True)
        rows = [*counts, *counts.T, *ordered, *ordered[:, ::-1], counts.max(axis=1), *shares]
        by_teacher = cast.swapaxes(0, 1)
        wanted = cls([*rows, *(part.ravel() for part in (*cast, *by_teacher))])
        if ballots.ndim == 3:
            wanted.codes.add(np.packbits(part).tobytes() for part in ballots)
        return wanted

    def in_array(self, array: np.ndarray) -> bool:
        """Whether a sequence stands along some axis of an array."""
        if array.dtype.kind not in "biuf":
            return False
        lines = [array.ravel(order="C"), array.ravel(order="F")][: array.ndim]
        return any(_within(line, numbers) for line in lines for numbers in self.sequences)

    def in_text(self, text: str) -> bool:
        """Whether a sequence is written out, or hidden in hexadecimal or base64."""
        if self.in_array(np.array([float(number) for number in _NUMBER.findall(text)])):
            return True
        packed = [base64.b64decode(part[: len(part) // 4 * 4]) for part in _BASE64.findall(text)]
        for part in _HEXADECIMAL.findall(text):
            packed += [bytes.fromhex(part[at : at + (len(part) - at) // 2 * 2]) for at in (0, 1)]
        return self.codes.within(b"\0\0".join(packed))

    def in_bytes(self, data: bytes) -> bool:
        """Whether a sequence is there as machine numbers or as text."""
        return self.codes.within(data) or self.in_text(data.decode("latin-1"))

    def in_thing(self, thing: Any) -> bool:
        """Whether one object shows a sequence, without a look into others."""
        if isinstance(thing, str):
            return self.in_text(thing)
        if isinstance(thing, bytes | bytearray | memoryview):
            return self.in_bytes(bytes(thing))
        if isinstance(thing, np.ndarray):
            return self.in_array(np.asarray(thing))
        numbers = list(thing.values()) if isinstance(thing, Mapping) else thing
        if isinstance(numbers, list | tuple) and all(map(_is_number, numbers)):
            return self.in_array(np.array([float(number) for number in numbers]))
        return False

    def leaks(self, root: Any, name: str, *, holder: bool = False) -> list[str]:
        """Where private numbers show in what can be reached from an object.

        Locked numbers count as shown, unless it is the holder's own: they have no business in
        what may be shown around.
        """
        return [
            where
            for where, thing in walk(root, name)
            if self.in_thing(thing) or (isinstance(thing, Locked | Sealed) and not holder)
        ]

    def leaks_in_file(self, path: Path) -> list[str]:
        """Where a file shows private numbers, in its bytes or unpacked."""
        # Megabytes that are the same in every plot.
        content = path.read_bytes().replace(get_plotlyjs().encode(), b"")
        found = [f"{path.name}: bytes"] if self.in_bytes(content) else []
        return found + [where for name, part in unpacked(path) for where in self.leaks(part, name)]


class Codes:
    """Many byte strings to be looked for at once.

    Each is looked for by the six bytes of it that differ most: there are few places where all
    six of them stand, and only there the rest is compared.
    """

    def __init__(self, codes: Iterable[bytes]) -> None:
        self._by_mark: dict[int, set[tuple[int, bytes]]] = {}
        self.add(codes)

    def add(self, codes: Iterable[bytes]) -> None:
        """Look for these, too."""
        for code in codes:
            starts = range(len(code) - _SHORTEST + 1)
            at = max(starts, key=lambda start: len(set(code[start : start + _SHORTEST])))
            mark = int.from_bytes(code[at : at + _SHORTEST], "little")
            self._by_mark.setdefault(mark, set()).add((at, code))

    def within(self, data: bytes) -> bool:
        """Whether one of them is in the data."""
        room = len(data) - _SHORTEST + 1
        if room < 1:
            return False
        values = np.frombuffer(data, dtype=np.uint8).astype(np.uint64)
        marks = np.zeros(room, dtype=np.uint64)
        for place in range(_SHORTEST):
            marks |= values[place : place + room] << np.uint64(8 * place)
        known = np.fromiter(self._by_mark, dtype=np.uint64)
        for spot in np.flatnonzero(np.isin(marks, known)).tolist():
            for at, code in self._by_mark[int(marks[spot])]:
                if spot >= at and data.startswith(code, spot - at):
                    return True
        return False


def _encodings(numbers: np.ndarray) -> Iterator[bytes]:
    """Machine numbers of all sizes, both ways round, that hold the numbers exactly."""
    for kind in _KINDS:
        with np.errstate(over="ignore", invalid="ignore"):
            stored = numbers.astype(kind)
        if np.array_equal(stored.astype(np.float64), numbers) and stored.nbytes >= _SHORTEST:
            yield stored.tobytes()
            yield stored.astype(f">{kind}").tobytes()


def _within(line: np.ndarray, numbers: np.ndarray) -> bool:
    room = line.size - numbers.size + 1
    if room < 1:
        return False
    values = line.astype(np.float64)
    starts = np.arange(room)
    for place, number in enumerate(numbers):
        starts = starts[np.abs(values[starts + place] - number) <= 1e-6 * abs(number)]
        if not starts.size:
            return False
    return True


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number)
