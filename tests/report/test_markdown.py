from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from ballotine.report.formatting import tidy
from ballotine.report.markdown import code, literal, render_markdown

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
MARKS = st.sampled_from(list("|`*_[]()<>&#~\\!$@{}+-=.:/ \n\t\x1b\u202e0aé"))


def tokens(text: str) -> list[Token]:
    flat = []
    for token in PARSER.parse(text):
        flat.append(token)
        flat += token.children or []
    return flat


def words_of(token: Token) -> str:
    return "".join(child.content for child in token.children or [])


def tables(text: str) -> list[list[list[str]]]:
    """Every table as rows of cells."""
    found: list[list[list[str]]] = []
    inside = False
    for token in PARSER.parse(text):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type in {"td_open", "th_open"}:
            inside = True
        elif token.type == "inline" and inside:
            found[-1][-1].append(words_of(token))
            inside = False
    return found


@given(st.text(max_size=60) | st.text(MARKS, max_size=30))
@example("\x1b #\r0")
@settings(max_examples=300, deadline=None)
def test_literal_text_comes_back_as_it_was(text: str) -> None:
    ((_, row),) = tables(f"| a | b |\n| --- | --- |\n| {literal(text)} | end |\n")
    assert row == [tidy(text).strip(), "end"]
    item = tokens(f"- {literal(text)}x\n")
    (inline,) = [token for token in item if token.type == "inline"]
    assert words_of(inline) == f"{tidy(text)}x".lstrip()
    assert {token.type for token in item} <= {
        *("bullet_list_open", "list_item_open", "paragraph_open", "inline", "text"),
        *("paragraph_close", "list_item_close", "bullet_list_close", "text_special"),
    }


def test_addresses_do_not_become_links() -> None:
    assert literal("https://evil.example") == "https\\://evil.example"
    assert literal("WWW.evil.example") == "WWW\\.evil.example"
    assert literal("me@evil.example") == "me\\@evil.example"


def test_numbers_stay_readable() -> None:
    assert literal("7.98") == "7.98"
    assert literal("1. x") == "1\\. x"


def test_only_a_checksum_is_code() -> None:
    assert code("ab12" * 16) == f"`{'ab12' * 16}`"
    assert code("`|<b>") == "\\`\\|&lt;b&gt;"


def test_hostile_names_keep_the_tables_whole(
    hostile_card: dict[str, Any], hostile_names: list[str]
) -> None:
    text = render_markdown(hostile_card)
    facts, released = tables(text)
    assert {len(row) for row in facts} == {2}
    assert {len(row) for row in released} == {3}
    assert [row[1] for row in released[1:]] == [str(i) for i in range(len(hostile_names))]
    types = {token.type for token in tokens(text)}
    assert types.isdisjoint({"html_block", "html_inline", "link_open", "image", "s_open", "fence"})
    assert all(c.isprintable() for line in text.split("\n") for c in line)
    headings = [token for token in tokens(text) if token.type == "heading_open"]
    assert len(headings) == 7


def test_a_plain_card(make_card: Any) -> None:
    text = render_markdown(make_card())
    facts, released = tables(text)
    assert ["ε", "2.345"] in facts
    assert ["δ", "10⁻⁵"] in facts
    assert released[1:] == [
        ["apple", "300", "90.0 %"],
        ["pear", "200", "82.5 %"],
        ["plum", "55", "–"],
    ]
    assert "87.0 % of 100 labelled public rows" in text
    assert "`ballotine ledger verify LEDGER --card card.json`" in text
    assert len(text.split("\n")) < 90


def test_without_student_evaluation_and_experiment(make_card: Any) -> None:
    text = render_markdown(make_card(student=None, evaluation=None, warnings=[]))
    assert "No student was trained in this run." in text
    assert "Experiment" not in text
    assert tables(text)[1][0] == ["class", "released answers"]


def test_experiment_numbers_are_marked(make_card: Any) -> None:
    card = make_card(
        run={"name": "x", "experiment": True, "seeded": True},
        experiment={"label_accuracy": 0.9471, "ceiling": 0.98},
    )
    text = render_markdown(card)
    assert "> **Experiment only: not private, never part of a real release.**" in text
    assert "Seeded: for experiments only" in text.split("## The promise")[0]


@pytest.mark.parametrize(("number", "rows"), [(20, 20), (25, 20)])
def test_many_classes_are_cut_short(make_card: Any, number: int, rows: int) -> None:
    card = make_card()
    card["answers"]["by_class"] = {f"class {i}": i for i in range(number)}
    text = render_markdown(card)
    assert len(tables(text)[1]) == rows + 1
    assert ("and 5 more classes" in text) == (number == 25)


def test_two_cards_differ_where_their_numbers_do(make_card: Any) -> None:
    other = make_card(accounted_epsilon=1.2345)
    assert "ε = 1.235" in render_markdown(other)
    assert "ε = 1.235" not in render_markdown(make_card())
