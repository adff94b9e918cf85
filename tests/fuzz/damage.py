"""Ways to spoil bytes, arrays, texts and values; the same random generator, the same damage."""

from __future__ import annotations

import io
import json
import struct
from random import Random
from typing import Any

import numpy as np
import tomli_w

MARK = "Qz7Alice9"
"""Stands for what is private: no output may hold it."""

NUMBERS = (
    *("nan", "inf", "-inf", "0", "-0.0", "-1", "1", "2", "0.5", "1e-5", "1e308", "1e309", "1e-320"),
    *("1e-9", "7", "40", "0x10", "1_0", "", " ", "９", "x", "1,5", "true", "9" * 30, "9" * 5000),
    *(
        "1e300",
        "1e155",
        "1e100",
        "-1e308",
        "1e18",
        "9223372036854775808",
        "1e-100",
        "1e-300",
        "5e-324",
    ),
)
"""What people and programs type where a number belongs."""

WORDS = (
    *("", " ", "x", "..", "/", "-", "--", "\x1b[31m", "é", "\u202e", "a/b", "n" * 300, "☃" * 90),
    *("nan", "None", "strict", "fixed", "paper", "l2", "l1", "both", "weighting", "vanishing"),
)


def damaged(data: bytes, draw: Random) -> bytes:
    """One to four accidents."""
    for _ in range(draw.randint(1, 4)):
        data = draw.choice((_flip, _flip, _truncate, _splice, _repeat, _blank, _number))(data, draw)
    return data


def _flip(data: bytes, draw: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(min(len(changed), draw.choice((1, 1, 2, 8)))):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _truncate(data: bytes, draw: Random) -> bytes:
    return data[: draw.randrange(len(data) + 1)]


def _splice(data: bytes, draw: Random) -> bytes:
    at = draw.randrange(len(data) + 1)
    return data[:at] + draw.randbytes(draw.randint(1, 12)) + data[at:]


def _repeat(data: bytes, draw: Random) -> bytes:
    at = draw.randrange(len(data) + 1)
    return data[:at] + data[at : at + draw.randint(1, 64)] * draw.randint(2, 5) + data[at:]


def _blank(data: bytes, draw: Random) -> bytes:
    at, length = draw.randrange(len(data) + 1), draw.randint(1, 16)
    return data[:at] + draw.choice((b"\0", b"\xff")) * length + data[at + length :]


def _number(data: bytes, draw: Random) -> bytes:
    """A length or an offset that is another."""
    at = draw.randrange(len(data) + 1)
    value = draw.choice((0, 1, 0x7FFFFFFF, 0xFFFFFFFF, len(data), draw.getrandbits(32)))
    return data[:at] + struct.pack("<I", value) + data[at + 4 :]


def text(draw: Random) -> bytes:
    """Bytes that are no text, or an odd one."""
    kinds = (
        draw.randbytes(draw.randint(0, 60)),
        b"\xff\xfe" + "age,label\n1,yes\n".encode("utf-16-le"),
        b"\xef\xbb\xbfage,income,region,label\n1,2,north,yes\n",
        b"\0" * draw.randint(1, 40),
        b"\n" * draw.randint(0, 9),
        b"a" * 200_000,
        b'"' + b"a,b\n" * 50,
        b"[" * 50_000,
        b"{" * 50_000,
        b"x = [" + b"[" * 3000,
        "\u202e\x1b[2J☃ = 1\n".encode(),
        f"{MARK},{MARK}\n1,2\n".encode(),
        f"{MARK}\n".encode("latin-1") + b"caf\xe9\n",
    )
    return draw.choice(kinds)


SHAPES = ((), (0,), (5,), (6, 0), (0, 4), (1, 1), (6, 4), (6, 4, 3), (2, 2, 2, 2, 2), (1, 40))
DTYPES = ("u1", "<i8", "<u8", ">i2", "<f2", "<f4", "<f8", "c16", "?", "<U3", "S4", "<M8[s]", "O")


def array(draw: Random) -> Any:
    """An array of any kind and shape, and of any values that it can hold."""
    if draw.random() < 0.1:
        return np.zeros(draw.choice(SHAPES), [(MARK, "<i4"), ("b", "<f8")])
    kind, shape = np.dtype(draw.choice(DTYPES)), draw.choice(SHAPES)
    size = int(np.prod(shape, dtype=np.int64))
    if kind.kind in "US":
        return (
            np.array([f"{MARK}{i}" for i in range(size)], dtype=object).reshape(shape).astype("U")
        )
    if kind.kind == "O":
        return np.array([MARK] * size, dtype=object).reshape(shape)
    values = np.array([draw.randrange(3) for _ in range(size)], dtype=np.float64)
    made = values.astype(kind).reshape(shape)
    if size and draw.random() < 0.5:
        made.flat[draw.randrange(size)] = _extreme(kind, draw)
    return np.asfortranarray(made) if draw.random() < 0.2 else made


def _extreme(kind: np.dtype[Any], draw: Random) -> Any:
    if kind.kind in "fc":
        return draw.choice((np.nan, np.inf, -np.inf, -1.0, 0.5, 1e4, 6e4))
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        return draw.choice((limits.max, limits.min, min(50_000_000, limits.max), 7))
    return kind.kind == "b" or np.datetime64("NaT")


def npy(made: Any) -> bytes:
    """An .npy file, pickled objects included: others write such files."""
    stream = io.BytesIO()
    np.save(stream, made, allow_pickle=True)
    return stream.getvalue()


def npz(arrays: dict[str, Any], *, packed: bool = False) -> bytes:
    """An .npz file."""
    stream = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(stream, **arrays)
    return stream.getvalue()


def forged(draw: Random) -> bytes:
    """An .npy file whose header says what is not so."""
    long = 10 ** draw.choice((3, 6, 9, 12, 18, 30))
    shapes = (f"({long},)", f"({long}, {long})", f"(0, {long})", f"({long}, 0)", "(-1, 4)", "(6,)")
    shape = draw.choice((*shapes, "(6, 4.5)", "6", "(True, 4)", "()", "(6, 4, " + "1, " * 40 + ")"))
    kind = draw.choice(("<f8", "|u1", "<U0", "|V0", "|O", "<M8", "zz", "<i99", "|S1000000000"))
    order = draw.choice(("False", "True", "3", "None"))
    header = f"{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}"
    if draw.random() < 0.1:
        header = draw.choice(("", "{", "[" * 5000, header * 400, "__import__('os')", "{}", "\0"))
    version = draw.choice(((1, 0), (1, 0), (2, 0), (3, 0), (9, 9)))
    length = struct.pack("<H" if version == (1, 0) else "<I", min(len(header), 65_000))
    content = draw.randbytes(draw.choice((0, 24, 192)))
    return b"\x93NUMPY" + bytes(version) + length + header.encode() + content


def value(draw: Random, depth: int = 0) -> Any:
    """Something that JSON and TOML know, where something else was expected."""
    plain: tuple[Any, ...] = (
        *(True, False, 0, -1, 1, 3, 2**31, 2**63 - 1, 0.5, -0.5, 1e308, 1e-300),
        *(float("nan"), float("inf"), *WORDS, "2020-01-01", "../../x", "a\0b", "sklearn.svm.SVC"),
    )
    if depth < 2 and draw.random() < 0.25:
        inner = [value(draw, depth + 1) for _ in range(draw.randint(0, 3))]
        return inner if draw.random() < 0.5 else {f"k{i}": part for i, part in enumerate(inner)}
    return draw.choice(plain)


def edited(tree: Any, draw: Random) -> Any:
    """A copy of nested mappings and lists with something removed, added or replaced."""
    tree = json.loads(json.dumps(tree))
    for _ in range(draw.randint(1, 3)):
        _edit(tree, draw)
    return tree


def _edit(tree: Any, draw: Random) -> None:
    place = tree
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return
        key = draw.choice(keys)
        inner = place[key]
        if isinstance(inner, dict | list) and inner and draw.random() < 0.8:
            place = inner
            continue
        how = draw.random()
        if how < 0.3:
            del place[key]
        elif how < 0.45 and isinstance(place, dict):
            place[draw.choice(WORDS)] = value(draw)
        else:
            place[key] = value(draw)
        return


def toml(content: Any) -> bytes:
    """A run file; TOML knows no null."""

    def stripped(part: Any) -> Any:
        if isinstance(part, dict):
            return {str(k): stripped(v) for k, v in part.items() if v is not None}
        return [stripped(v) for v in part if v is not None] if isinstance(part, list) else part

    return tomli_w.dumps(stripped(content)).encode("utf-8", "replace")
