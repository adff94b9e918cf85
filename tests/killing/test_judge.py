"""The judge of killed processes notices what must never happen."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.killing.books import Book
from tests.killing.judge import SECOND, UNDER, Judge
from tests.killing.scenarios import SCENARIOS
from tests.killing.worlds import LEDGER, Actor

FEW, ALL = "20", "60"


@pytest.fixture
def actor(ballotine: Command, tmp_path: Path) -> Actor:
    """A vote that was asked a few queries, and then all."""
    scenario = SCENARIOS["vote-binary"]
    scenario.furnish(tmp_path)
    (actor,) = scenario.actors
    for queries in (FEW, ALL):
        done = ballotine(*actor.start, "--queries", queries)
        assert done.returncode == 0, done.stderr
        shutil.copy(tmp_path / LEDGER, tmp_path / f"{queries}.sqlite")
    return actor


@pytest.fixture
def judge(actor: Actor, tmp_path: Path) -> Judge:
    """It has seen everything up to now, and found no fault."""
    judge = Judge(tmp_path, tmp_path / LEDGER)
    note(judge, actor, "left", {n.hex(): q.answer for n, q in book(judge).queries.items()})
    judge.inspect((actor,))
    assert judge.faults == []
    assert len(judge.left) == int(ALL)
    return judge


def book(judge: Judge) -> Book:
    return Book.read(judge.ledger)


def note(judge: Judge, actor: Actor, kind: str, content: object) -> None:
    path = judge.world / "notes"
    path.write_text(json.dumps({kind: content}) + "\n")
    judge.hear(actor, path)


def an_unknown_answer_left(judge: Judge, actor: Actor) -> None:
    note(judge, actor, "left", {"ab" * 32: [1, 1, 1]})


def another_answer_left(judge: Judge, actor: Actor) -> None:
    name, query = next(iter(book(judge).queries.items()))
    assert isinstance(query.answer, tuple)
    note(judge, actor, "left", {name.hex(): [1 - query.answer[0], *query.answer[1:]]})


def noise_was_drawn_unpaid(judge: Judge, actor: Actor) -> None:
    note(judge, actor, "drawn", ["cd" * 32])


def a_round_was_released_unpaid(judge: Judge, actor: Actor) -> None:
    a_round(judge, "ef" * 32).write_bytes(b"a mean")


def a_round_was_drawn_twice(judge: Judge, actor: Actor) -> None:
    path = a_round(judge, next(iter(book(judge).queries)).hex())
    for content in (b"a mean", b"another mean"):
        path.write_bytes(content)
        judge.inspect((actor,))


def a_round(judge: Judge, name: str) -> Path:
    folder = judge.world / "out" / "private" / "teachers" / "rounds"
    folder.mkdir(parents=True)
    return folder / f"round-{name[:32]}.npy"


def an_older_ledger_was_put_back(judge: Judge, actor: Actor) -> None:
    shutil.copy(judge.world / f"{FEW}.sqlite", judge.ledger)


def a_reservation_was_forgotten(judge: Judge, actor: Actor) -> None:
    with sqlite3.connect(judge.ledger) as connection:
        connection.execute("DROP TRIGGER reservations_remain")
        connection.execute("DELETE FROM reservations WHERE id = (SELECT min(id) FROM reservations)")
    connection.close()


def an_answer_was_changed(judge: Judge, actor: Actor) -> None:
    with sqlite3.connect(judge.ledger) as connection:
        connection.execute("DROP TRIGGER reservations_stay")
        connection.execute(
            "UPDATE reservations SET answer = (SELECT max(answer) FROM reservations) "
            "WHERE answer = (SELECT min(answer) FROM reservations)"
        )
    connection.close()


def a_smaller_epsilon_was_printed(judge: Judge, actor: Actor) -> None:
    path = judge.world / actor.statement
    stated = json.loads(path.read_text())
    stated["guarantee"]["epsilon"] *= 0.99
    path.write_text(json.dumps(stated))


def an_earlier_anchor_was_printed(judge: Judge, actor: Actor) -> None:
    path = judge.world / actor.statement
    stated = json.loads(path.read_text())
    stated["ledger"]["hash"] = "0" * 64
    path.write_text(json.dumps(stated))


@pytest.mark.parametrize(
    ("happened", "kind"),
    [
        (an_unknown_answer_left, UNDER),
        (another_answer_left, SECOND),
        (noise_was_drawn_unpaid, UNDER),
        (a_round_was_released_unpaid, UNDER),
        (a_round_was_drawn_twice, SECOND),
        (an_older_ledger_was_put_back, UNDER),
        (a_reservation_was_forgotten, UNDER),
        (an_answer_was_changed, SECOND),
        (a_smaller_epsilon_was_printed, UNDER),
        (an_earlier_anchor_was_printed, UNDER),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_the_judge_notices(
    judge: Judge, actor: Actor, happened: Callable[[Judge, Actor], None], kind: str
) -> None:
    happened(judge, actor)
    judge.inspect((actor,))
    assert kind in {found for found, _ in judge.faults}
