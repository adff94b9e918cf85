"""Query counts agree with the ledger everywhere, and repeated public rows are counted apart."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ballotine.ledger import Ledger
from ballotine.pipeline.counting import Counts, first_occurrences
from ballotine.report.formatting import repeated
from ballotine.types import ABSTAIN
from ballotine.voting import UNASKED, Answers
from tests.conftest import Command


@pytest.fixture
def repeating(table: Path) -> Path:
    """The public table has 150 rows, and 9 more that repeat them."""
    rows = (table / "public.csv").read_text().splitlines()
    again = [rows[1], rows[1], *rows[1:8]]
    (table / "public.csv").write_text("\n".join([*rows[:70], *again, *rows[70:]]) + "\n")
    return table


def text_of(page: str) -> str:
    """What a reader of the page sees, without its scripts."""
    page = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def pairs(text: str) -> list[tuple[str, str]]:
    """Every statement of queries asked and answered."""
    found = [
        *re.findall(r"([\d,]+) queries, ([\d,]+) of them answered", text),
        *re.findall(r"public rows, ([\d,]+) were asked(?: and|:) ([\d,]+) answered", text),
    ]
    assert len(found) == 2, text
    return found


def test_every_page_tells_the_ledgers_count(ballotine: Command, repeating: Path) -> None:
    ran = ballotine("run", "run.toml")
    assert ran.returncode == 0, ran.stderr
    out = repeating / "out"
    with Ledger.existing(repeating / "private.ledger.sqlite") as ledger:
        spending = ledger.spending()
    true = (f"{spending.recorded:,}", f"{spending.answered:,}")
    page, card_text = text_of((out / "report.html").read_text()), (out / "card.md").read_text()
    assert set(pairs(page)) == {true}
    assert set(pairs(card_text.replace("\\", ""))) == {true}
    card = json.loads((out / "card.json").read_text())
    assert (card["history"][-1]["asked"], card["history"][-1]["answered"]) == (
        spending.recorded,
        spending.answered,
    )
    queries = card["queries"]
    assert (queries["asked"], queries["answered"]) == (spending.recorded, spending.answered)
    assert queries["pool"] == 159
    assert queries["pool"] == queries["asked"] + queries["repeated"] + queries["unasked"]
    assert queries["abstained"] == queries["asked"] - queries["answered"]
    assert sum(card["answers"]["by_class"].values()) == spending.answered
    assert f"{spending.answered} given" in ran.stdout
    assert (
        f"{spending.recorded} queries asked, {spending.answered} answered"
        in (out / "run.log").read_text()
    )
    # The rows that are repeated come first in the table, so all of them were asked.
    assert queries["repeated"] == 9
    for shown in (page, card_text):
        assert repeated(9) in shown
    assert "9 repeated" in ran.stdout


def test_the_answers_tell_which_rows_repeat(ballotine: Command, repeating: Path) -> None:
    assert ballotine("run", "run.toml", "-q").returncode == 0
    columns = pq.read_table(repeating / "out" / "answers.parquet").to_pydict()
    found = {row: of for row, of in enumerate(columns["repeats"]) if of is not None}
    assert found == {69: 0, 70: 0, **{71 + i: i for i in range(7)}}
    for row, of in found.items():
        assert columns["answer"][row] == columns["answer"][of]
        assert columns["status"][row] == columns["status"][of]


def test_a_page_without_repetitions_does_not_speak_of_them(ballotine: Command, table: Path) -> None:
    ran = ballotine("run", "run.toml")
    assert "repeat" not in ran.stdout
    assert "repeat" not in text_of((table / "out" / "report.html").read_text())
    assert "repeat" not in (table / "out" / "card.md").read_text()


@pytest.mark.parametrize(
    ("count", "start"), [(0, ""), (1, "One public row repeats"), (1234, "1,234 public rows repeat")]
)
def test_repetitions_in_words(count: int, start: str) -> None:
    assert repeated(count).startswith(start)
    assert bool(repeated(count)) == bool(count)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=30), st.integers(0, 7), st.integers(0, 5))
def test_rows_add_up_and_queries_are_different_rows(
    rows: list[int], asked: int, beyond: int
) -> None:
    """An independent count with sets of rows: equal rows have equal answers."""
    by_row = {row: (UNASKED if row >= asked else ABSTAIN if row % 2 else row) for row in range(7)}
    answers = Answers(np.array([by_row[row] for row in rows], dtype=np.int64), np.arange(7))
    first = first_occurrences([bytes([row]) for row in rows])
    counts = Counts.of(answers, first, len(rows) + beyond)
    different = {row for row in rows if row < asked}
    assert counts.asked == len(different)
    assert counts.answered == len({row for row in different if row % 2 == 0})
    assert counts.abstained == counts.asked - counts.answered
    assert counts.unasked == beyond + sum(row >= asked for row in rows)
    assert counts.pool == counts.asked + counts.repeated + counts.unasked
    assert [rows.index(row) for row in rows] == first.tolist()
