"""Damaged files, odd options and typos: one message, the documented code, nothing left behind."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from ballotine import archives
from tests.conftest import Command, Ended

GNMAX = ("-m", "gnmax", "--sigma", "40", "--delta", "1e-5")
VOTES = np.random.default_rng(0).integers(0, 3, (20, 9))
BOMB = 8 << 20


def one_sentence(ended: Ended, code: int, words: str = "") -> None:
    lines = [line for line in ended.stderr.splitlines() if line.startswith("error: ")]
    assert (ended.returncode, len(lines)) == (code, 1), ended.stderr
    assert words in lines[0]
    assert "unexpected" not in lines[0]


def header(shape: object, kind: str = "<f8") -> bytes:
    """The beginning of an array file, which may claim anything."""
    text = str({"descr": kind, "fortran_order": False, "shape": shape}).encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def as_npy(array: object) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)  # type: ignore[arg-type]
    return stream.getvalue()


def zipped(name: str, content: bytes, packing: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", packing) as archive:
        archive.writestr(name, content)
    return stream.getvalue()


BAD_VOTES = {
    "forged.npy": header((10**15, 9)) + bytes(64),
    "negative.npy": header((-1, 9)) + bytes(64),
    "free.npy": header((10**18, 0)),
    "widthless.npy": header((10**12,), "|S0"),
    "forged.npz": zipped("votes.npy", header((10**15, 9)) + bytes(64)),
    "bytes.npz": zipped("votes", b"no array at all"),
    "npz.npy": zipped("votes.npy", as_npy(VOTES)),
    "npy.npz": as_npy(VOTES),
    "truncated.npy": as_npy(VOTES)[:-9],
    "truncated.npz": zipped("votes.npy", as_npy(VOTES))[:-30],
    "objects.npy": as_npy(np.array([[{}, 1]], dtype=object)),
    "fields.npy": as_npy(np.zeros((3, 3), [("a", "i4")])),
    "scalar.npy": as_npy(np.array(3)),
    "five.npy": as_npy(np.zeros((2, 2, 2, 2, 2))),
    "complex.npy": as_npy(np.zeros((3, 3), complex)),
    "nan.npy": as_npy(np.full((3, 3), np.nan)),
    "huge.npy": as_npy(np.full((3, 3), 1e300)),
    "unsigned.npy": as_npy(np.full((3, 3), 2**64 - 1, np.uint64)),
    "half.npy": as_npy(np.full((3, 3), np.inf, np.float16)),
    "magic.parquet": b"PAR1" + bytes(60) + b"PAR1",
    "empty.parquet": b"",
}


@pytest.mark.parametrize("name", BAD_VOTES)
@pytest.mark.parametrize("command", ["account", "vote"])
def test_damaged_votes_end_with_3(
    ballotine: Command, tmp_path: Path, command: str, name: str
) -> None:
    (tmp_path / name).write_bytes(BAD_VOTES[name])
    budget = ("--epsilon", "2") if command == "vote" else ()
    tracemalloc.start()
    try:
        ended = ballotine(command, name, *GNMAX, *budget, "--classes", "3")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    one_sentence(ended, 3)
    assert peak < 64 << 20
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_an_archive_made_to_fill_the_memory_is_refused(
    ballotine: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "ALWAYS_ALLOWED", 1 << 20)
    packed = zipped("votes.npy", as_npy(np.zeros((BOMB // 8, 8), np.uint8)), zipfile.ZIP_DEFLATED)
    (tmp_path / "bomb.npz").write_bytes(packed)
    ended = ballotine("account", "bomb.npz", *GNMAX)
    one_sentence(ended, 3, "it unpacks to more than 100 times its size; store it uncompressed")


@pytest.mark.parametrize("classes", [(), ("--classes", "65536")])
def test_one_ballot_does_not_decide_how_much_memory_is_taken(
    ballotine: Command, tmp_path: Path, classes: tuple[str, ...]
) -> None:
    votes = VOTES.copy()
    votes[3, 3] = 50_000_000
    np.save(tmp_path / "votes.npy", votes)
    tracemalloc.start()
    try:
        ended = ballotine("account", "votes.npy", *GNMAX, *classes)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    one_sentence(ended, 3)
    assert peak < 64 << 20


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "0", "-1", "1e309"])
@pytest.mark.parametrize(
    ("mechanism", "option"),
    [
        ("gnmax", "--sigma"),
        ("lnmax", "--gamma"),
        ("confident-gnmax", "--sigma-threshold"),
        ("clipped", "--tau"),
        ("powerset", "--tau"),
        ("binary", "--sigma"),
    ],
)
def test_parameters_that_are_no_numbers_end_with_2(
    ballotine: Command, tmp_path: Path, mechanism: str, option: str, value: str
) -> None:
    labels = mechanism in ("clipped", "powerset", "binary")
    np.save(tmp_path / "votes.npy", VOTES.reshape(20, 3, 3) % 2 if labels else VOTES)
    given = {"--sigma": "20"} if mechanism != "lnmax" else {}
    if mechanism == "confident-gnmax":
        given |= {"--threshold": "5", "--sigma-threshold": "9"}
    given |= {option: value}
    typed = [part for pair in given.items() for part in pair]
    for command in (("account",), ("vote", "--epsilon", "2", "--ledger", "book.sqlite")):
        ended = ballotine(*command, "votes.npy", "-m", mechanism, "--delta", "1e-5", *typed)
        one_sentence(ended, 2)
    assert not (tmp_path / "book.sqlite").exists()


@pytest.mark.parametrize("name", ["n" * 300, "no/such/file"])
def test_names_that_no_file_can_have(ballotine: Command, tmp_path: Path, name: str) -> None:
    for code, arguments in (
        (2, ("run", f"{name}.toml")),
        (6, ("run", "--resume", name)),
        (6, ("report", name)),
        (6, ("init", f"{name}/x.toml")),
        (3, ("account", f"{name}.npy", *GNMAX)),
        (3, ("account", "votes.npy", *GNMAX, "--weights", name, "--group-budgets", "1")),
        (3, ("data", "get", name)),
    ):
        np.save(tmp_path / "votes.npy", VOTES)
        one_sentence(ballotine(*arguments), code)
    assert [path.name for path in tmp_path.iterdir()] == ["votes.npy"]


NO_TEXT = {"invalid": b"caf\xe9", "utf-16": "[run]".encode("utf-16"), "deep": b"x = " + b"[" * 9999}


@pytest.mark.parametrize("content", NO_TEXT.values(), ids=NO_TEXT)
def test_text_files_that_are_none(ballotine: Command, table: Path, content: bytes) -> None:
    original = (table / "run.toml").read_bytes()
    (table / "run.toml").write_bytes(content)
    one_sentence(ballotine("run", "run.toml"), 2)
    (table / "schema.toml").write_bytes(content)
    (table / "run.toml").write_bytes(
        original.replace(b'target = "label"', b'schema = "schema.toml"')
    )
    one_sentence(ballotine("run", "run.toml"), 3, "schema.toml")
    (table / "run.toml").write_bytes(original)
    (table / "private.csv").write_bytes(content)
    one_sentence(ballotine("run", "run.toml"), 3, "private")
    (table / "out").mkdir()
    (table / "out" / "card.json").write_bytes(content.removeprefix(b"x = "))
    one_sentence(ballotine("report", "out"), 6, "card.json")
    assert {path.name for path in (table / "out").iterdir()} == {"card.json"}
    (table / "groups.csv").write_bytes(content)
    np.save(table / "votes.npy", VOTES)
    grouped = ("--weights", "groups.csv", "--group-budgets", "1,2")
    one_sentence(ballotine("account", "votes.npy", *GNMAX, *grouped), 3, "groups.csv")
    assert not (table / "private.ledger.sqlite").exists()


TYPOS = [
    ('kind = "logistic-regression"', 'kind = "logistic-regresion"', 2),
    ('kind = "logistic-regression"', 'kind = "no.such.Model"', 2),
    ("options = { C = 100.0 }", "options = { CC = 100.0 }", 2),
    ('"private.csv"', '"privat.csv"', 3),
    ('"private.csv"', '"a\\u0000b.csv"', 2),
    ('"private.csv"', f'"{"n" * 300}.csv"', 2),
    ('ledger = "private.ledger.sqlite"', 'ledger = "no/such/ledger.sqlite"', 5),
    ('target = "label"', 'target = "lable"', 3),
    ("number = 20", "number = 99999", 3),
]


@pytest.mark.parametrize(("right", "wrong", "code"), TYPOS, ids=lambda value: str(value)[:40])
@pytest.mark.parametrize("folder", ["out", "deep/er/out", None])
def test_a_typo_leaves_nothing_behind_and_the_second_start_works(
    ballotine: Command, table: Path, right: str, wrong: str, code: int, folder: str | None
) -> None:
    good = (table / "run.toml").read_text()
    good = good.replace('folder = "out"\n', f'folder = "{folder}"\n' if folder else "")
    assert right in good
    (table / "run.toml").write_text(good.replace(right, wrong))
    before = {path.name for path in table.rglob("*")}
    for _ in range(2):
        one_sentence(ballotine("run", "run.toml", "--quiet"), code)
        assert {path.name for path in table.rglob("*")} == before
    if folder == "out":
        (table / "run.toml").write_text(good)
        ended = ballotine("run", "run.toml", "--quiet")
        assert ended.returncode == 0, ended.stderr


def test_a_resumed_run_that_fails_early_can_be_resumed_again(
    ballotine: Command, table: Path
) -> None:
    """What an interruption left is not thrown away by a typo that came later."""
    from ballotine.pipeline import RunFile, create_folder

    create_folder(RunFile.load(table / "run.toml"))
    (table / "private.csv").rename(table / "elsewhere.csv")
    for _ in range(2):
        one_sentence(ballotine("run", "--resume", "out", "--quiet"), 3, "private.csv")
    (table / "elsewhere.csv").rename(table / "private.csv")
    ended = ballotine("run", "--resume", "out", "--quiet")
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("copies", ["1e308", "9" * 30, "nan", "0", "-1", "1.5", "10"])
def test_copies_that_no_ensemble_has_are_refused_at_once(
    ballotine: Command, tmp_path: Path, copies: str
) -> None:
    """Pricing so many split votes would not end."""
    np.save(tmp_path / "votes.npy", VOTES)
    (tmp_path / "groups.csv").write_text(f"group,copies\nold,{copies}\nyoung,1\n")
    grouped = ("--weights", "groups.csv", "--group-budgets", "old=1,young=2")
    one_sentence(ballotine("account", "votes.npy", *GNMAX, *grouped, "--classes", "3"), 3)


@pytest.mark.parametrize("kind", [np.uint64, np.int8, bool])
def test_ballots_of_any_whole_numbers_count_alike(
    ballotine: Command, tmp_path: Path, kind: type
) -> None:
    """Unsigned 64-bit ballots became fractions, with and without groups."""
    (tmp_path / "groups.csv").write_text(
        "teacher,group\n" + "".join(f"{i},{'old' if i % 2 else 'young'}\n" for i in range(9))
    )
    grouped = ("--weights", "groups.csv", "--group-budgets", "old=1,young=2")
    for extra in ((), grouped):
        said = []
        for dtype in (np.int64, kind):
            np.save(tmp_path / "votes.npy", (VOTES % 2).astype(dtype))
            ended = ballotine(
                *("account", "votes.npy", *GNMAX, *extra, "--classes", "3", "--seed", "1")
            )
            assert ended.returncode == 0, ended.stderr
            said.append(ended.stdout)
        assert said[0] == said[1]
