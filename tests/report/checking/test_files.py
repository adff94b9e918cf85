"""The answers and student files must match the card and the ledger."""

from __future__ import annotations

import hashlib
import io
import random
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ballotine.errors import CardMismatchError, DataError, LedgerError
from tests.report.checking.conftest import Case

MakeCase = Callable[[str], Case]
CARDS, RECEIPTS = ("run", "groups"), ("vote", "labels", "fixed")


def replace(case: Case, part: str, content: bytes) -> None:
    """Replace a file, and make the card match it."""
    path = case.statement.with_name(case.content[part]["file"])
    path.write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    case.change(lambda card: card[part].update(sha256=digest))


def votes(labels: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, answers=labels, guarantee=np.array("{}"))
    return stream.getvalue()


def released(case: Case) -> pa.Table:
    return pq.read_table(case.statement.with_name("answers.parquet"))


def parquet(table: pa.Table) -> bytes:
    stream = io.BytesIO()
    pq.write_table(table, stream)
    return stream.getvalue()


def with_column(table: pa.Table, name: str, values: list[Any]) -> pa.Table:
    place = table.column_names.index(name)
    return table.set_column(place, name, pa.array(values, table.schema.field(name).type))


@pytest.mark.parametrize("kind", CARDS)
def test_another_student_is_refused(make_case: MakeCase, kind: str) -> None:
    case = make_case(kind)
    path = case.statement.with_name("student.skops")
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(CardMismatchError, match=r"student\.skops is not the student file"):
        case.check()


@pytest.mark.parametrize("kind", [*CARDS, *RECEIPTS])
def test_other_answers_are_refused(make_case: MakeCase, kind: str) -> None:
    case = make_case(kind)
    path = case.statement.with_name(case.content["answers"]["file"])
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CardMismatchError, match="is not the answers file"):
        case.check()


@pytest.mark.parametrize("part", ["answers", "student"])
def test_a_file_that_is_not_here_is_told(make_case: MakeCase, part: str) -> None:
    case = make_case("run")
    name = case.content[part]["file"]
    case.statement.with_name(name).unlink()
    assert any(f"{name} is not beside the card" in text for text in case.check().warnings)


@pytest.mark.parametrize("kind", CARDS)
def test_answers_that_the_ledger_did_not_give_are_refused(make_case: MakeCase, kind: str) -> None:
    """Even if the card was changed to match them."""
    case = make_case(kind)
    table = released(case)
    given = table["answer"].to_pylist()
    rarest = min(("yes", "no"), key=given.count)
    turned = [rarest if answer is not None else None for answer in given]
    assert turned != given
    replace(case, "answers", parquet(with_column(table, "answer", turned)))
    with pytest.raises(CardMismatchError, match="did not record"):
        case.check()


def test_more_answers_than_the_ledger_has_are_refused(make_case: MakeCase) -> None:
    case = make_case("run")
    table = released(case)
    status = ["answered" if text == "unasked" else text for text in table["status"].to_pylist()]
    answer = [
        "yes" if old == "unasked" else text
        for old, text in zip(table["status"].to_pylist(), table["answer"].to_pylist(), strict=True)
    ]
    forged = with_column(with_column(table, "status", status), "answer", answer)
    replace(case, "answers", parquet(forged))
    with pytest.raises(CardMismatchError, match="did not record"):
        case.check()


def test_dropped_answers_are_refused(make_case: MakeCase) -> None:
    case = make_case("run")
    replace(case, "answers", parquet(released(case).slice(1)))
    with pytest.raises(CardMismatchError, match="its answers file says"):
        case.check()


def test_a_repeated_row_is_no_second_answer(make_case: MakeCase) -> None:
    case = make_case("run")
    table = released(case)
    assert table["repeats"].to_pylist()[8] == 0
    alone = with_column(table, "repeats", [None] * len(table))
    replace(case, "answers", parquet(alone))
    with pytest.raises(CardMismatchError):
        case.check()


@pytest.mark.parametrize("kind", RECEIPTS)
def test_forged_answers_of_a_vote_are_refused(make_case: MakeCase, kind: str) -> None:
    case = make_case(kind)
    with np.load(case.statement.with_name("a.npz")) as stored:
        labels = stored["answers"]
    replace(case, "answers", votes(labels))
    case.check()
    turned = labels.copy()
    turned[labels >= 0] = 1 - turned[labels >= 0].clip(0, 1)
    replace(case, "answers", votes(turned))
    with pytest.raises(CardMismatchError, match="did not record"):
        case.check()
    replace(case, "answers", votes(labels[:-1]))
    with pytest.raises(CardMismatchError, match="its answers file says"):
        case.check()


@pytest.mark.parametrize(
    "name",
    [
        "../answers.parquet",
        "/etc/passwd",
        "",
        ".",
        "..",
        "a\0b",
        "sub/x",
        "a\\b",
        "é" * 200,
        "\ud800",
    ],
)
def test_only_files_beside_are_looked_at(make_case: MakeCase, name: str) -> None:
    case = make_case("run")
    case.change(lambda card: card["answers"].update(file=name))
    with pytest.raises(DataError, match="not in the same folder"):
        case.check()


def packed(labels: Any) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, answers=labels)
    return stream.getvalue()


def lying(shape: str) -> bytes:
    """An archive whose array claims far more numbers than it has."""
    header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (118 - len(header) - 1) + b"\n"
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(80)
        archive.writestr("answers.npy", content)
    return stream.getvalue()


ODD_VOTES = {
    "nothing": b"",
    "text": b"no archive",
    "packed": packed(np.zeros(10**6, dtype=np.int64)),
    "a larger shape": lying("(1000000000000,)"),
    "a negative shape": lying("(-1,)"),
    "no shape": lying("()"),
    "an empty shape": lying("(0, 5)"),
    "no numbers": votes(np.array(["a", "b"])),
    "fractions": votes(np.zeros(5)),
    "three axes": votes(np.zeros((2, 2, 2), dtype=np.int64)),
}


@pytest.mark.parametrize("odd", ODD_VOTES)
def test_an_odd_file_of_a_vote_is_a_sentence(make_case: MakeCase, odd: str) -> None:
    case = make_case("vote")
    replace(case, "answers", ODD_VOTES[odd])
    with pytest.raises(DataError, match="not a readable answers file"):
        case.check()


def test_odd_files_of_a_run_are_sentences(make_case: MakeCase) -> None:
    case = make_case("run")
    table = released(case)
    whole = parquet(table)
    status = table["status"].to_pylist()
    for odd in (
        b"",
        b"PAR1",
        whole[:-9],
        whole[9:],
        parquet(table.drop_columns(["status"])),
        parquet(table.drop_columns(["answer"])),
        parquet(with_column(table, "status", ["perhaps", *status[1:]])),
        parquet(with_column(table, "status", ["unasked"] * len(status))),
        parquet(with_column(table, "answer", ["maybe", *table["answer"].to_pylist()[1:]])),
    ):
        replace(case, "answers", odd)
        with pytest.raises((DataError, CardMismatchError)):
            case.check()


@pytest.mark.parametrize("kind", ["run", "vote"])
def test_no_damage_makes_a_traceback(make_case: MakeCase, kind: str) -> None:
    """Flipped, removed and repeated bytes of the answers give one error, or the same answers."""
    case = make_case(kind)
    path = case.statement.with_name(case.content["answers"]["file"])
    whole, draw = path.read_bytes(), random.Random(5)
    refused = 0
    for _ in range(150):
        content = bytearray(whole)
        start = draw.randrange(len(content))
        match draw.randrange(3):
            case 0:
                content[start] = draw.randrange(256)
            case 1:
                del content[start : start + draw.randrange(1, 64)]
            case _:
                content[start:start] = content[start : start + draw.randrange(1, 64)]
        replace(case, "answers", bytes(content))
        problem = case.refusal()
        assert isinstance(problem, DataError | LedgerError | None)
        refused += problem is not None
    assert refused > 50
