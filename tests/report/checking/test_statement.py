"""Untrusted cards and receipts: any defect gives one error, never a traceback."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ballotine.errors import DataError
from ballotine.report.checking.statement import LARGEST, Statement
from tests.conftest import Command
from tests.report.checking.conftest import Case

MakeCase = Callable[[str], Case]

ODD_TEXTS = {
    "nothing": b"",
    "no text": b"\xff\xfe\x00",
    "a list": b"[]",
    "a number": b"1",
    "another format": b'{"format": 2}',
    "nested": b'{"format": 1, "a": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "NaN": b'{"format": 1, "a": NaN}',
    "a long number": b'{"format": 1, "a": ' + b"9" * 5000 + b"}",
    "twice": b'{"format": 1, "guarantee": {"epsilon": 1, "epsilon": 2}}',
    "cut": b'{"format": 1',
}


@pytest.mark.parametrize("odd", ODD_TEXTS)
def test_odd_texts_are_refused(tmp_path: Path, odd: str) -> None:
    path = tmp_path / "card.json"
    path.write_bytes(ODD_TEXTS[odd])
    with pytest.raises(DataError, match=r"card\.json is not"):
        Statement.read(path)


def test_missing_large_and_other_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        Statement.read(tmp_path / "none.json")
    with pytest.raises(DataError, match="cannot be read"):
        Statement.read(tmp_path)
    with (tmp_path / "large").open("wb") as stream:
        stream.truncate(LARGEST + 1)
    with pytest.raises(DataError, match="too large"):
        Statement.read(tmp_path / "large")


@pytest.mark.parametrize("value", [None, True, "1", [], {}, "∞", 10**400])
def test_a_number_is_a_number(tmp_path: Path, value: Any) -> None:
    statement = Statement(tmp_path, b"", {"a": {"b": value}})
    for ask in (statement.number, statement.count):
        with pytest.raises(DataError, match=r"see its part 'a\.b'"):
            ask("a", "b")


@pytest.mark.parametrize("value", [-1, 1.0, 1 << 60])
def test_a_count_is_a_whole_number(tmp_path: Path, value: Any) -> None:
    with pytest.raises(DataError):
        Statement(tmp_path, b"", {"a": value}).count("a")


ODD: list[Any] = [
    None, True, -1, 0, 1, 0.5, 1e308, -1e308, 10**30, "", "x", "\ud800", "1" * 400, [], {}, [[]],
    [None], {"": None}, "../x", "\x1b[2J",
]  # fmt: skip


def places(content: Any, found: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path into a card."""
    every = [found] if found else []
    inner = (
        content.items() if isinstance(content, dict)
        else enumerate(content) if isinstance(content, list) else ()
    )  # fmt: skip
    for key, value in inner:
        every += places(value, (*found, key))
    return every


@pytest.mark.parametrize("kind", ["run", "groups", "vote", "fixed"])
def test_no_changed_part_makes_a_traceback(make_case: MakeCase, kind: str) -> None:
    case = make_case(kind)
    case.change(lambda _: None)
    content, draw = case.content, random.Random(3)
    # Files are covered by their own tests, and would take most of the time.
    for name in ("student.skops", "answers.parquet", "a.npz"):
        case.statement.with_name(name).unlink(missing_ok=True)
    every = [place for place in places(content) if place[0] not in ("configuration", "versions")]
    refused = 0
    for place in draw.sample(every, min(len(every), 150)):
        changed = copy.deepcopy(content)
        inner: Any = changed
        for key in place[:-1]:
            inner = inner[key]
        if draw.random() < 0.2:
            inner.pop(place[-1])
        else:
            inner[place[-1]] = draw.choice(ODD)
        case.statement.write_text(json.dumps(changed), encoding="utf-8")
        refused += case.refusal() is not None
    assert refused > 10


class TestTyped:
    """On the command line."""

    def test_a_reviewer_checks_a_card(self, ballotine: Command, make_case: MakeCase) -> None:
        case = make_case("run")
        command = ("ledger", "verify", case.ledger, "--card", case.statement)
        done = ballotine(*command)
        assert done.returncode == 0, done.stderr
        assert "and the card" in done.stdout
        assert "answers.parquet is the file of the card" in done.stdout
        assert "student.skops is the file of the card" in done.stdout
        assert "proves nothing about who signed" in done.stderr
        fingerprint = case.content["signed_by"]
        sure = ballotine(*command, "--key", fingerprint.replace(":", " ").upper())
        assert sure.returncode == 0, sure.stderr
        assert sure.stderr == ""
        other = ballotine(*command, "--key", "0" * 64)
        assert other.returncode == 5
        assert "another key" in other.stderr

    def test_a_forged_card_ends_with_5(self, ballotine: Command, make_case: MakeCase) -> None:
        case = make_case("vote")
        case.change(lambda receipt: receipt["guarantee"].update(epsilon=0.01))
        done = ballotine("ledger", "verify", case.ledger, "--card", case.statement)
        assert done.returncode == 5
        assert "the receipt says ε = 0.01, but the ledger says" in done.stderr

    def test_odd_input_ends_with_a_sentence(self, ballotine: Command, make_case: MakeCase) -> None:
        case = make_case("run")
        key = ballotine("ledger", "verify", case.ledger, "--card", case.statement, "--key", "xyz")
        assert (key.returncode, "64 hexadecimal" in key.stderr) == (2, True)
        alone = ballotine("ledger", "verify", case.ledger, "--key", "0" * 64)
        assert (alone.returncode, "--card" in alone.stderr) == (2, True)
        case.change(lambda _: None)
        case.statement.write_text('{"format": 1, "ledger": "\\u001b[2J"}')
        odd = ballotine("ledger", "verify", case.ledger, "--card", case.statement)
        assert odd.returncode == 3
        assert "ledger.seq" in odd.stderr
        assert "\x1b" not in odd.stderr
