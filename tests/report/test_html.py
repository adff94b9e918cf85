from __future__ import annotations

import base64
import hashlib
import itertools
import json
import re
from html.parser import HTMLParser
from importlib import resources
from typing import Any

import pytest

from ballotine.report.html import render_html

ATTRIBUTES = {
    *("aria-label", "aria-labelledby", "charset", "class", "content", "http-equiv", "id", "lang"),
    *("name", "role", "scope", "style", "type"),
}
VOID = {"meta", "br"}


class Page(HTMLParser):
    """The parsed page: elements, attributes, texts, scripts."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self.comments: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif self.open and self.open[-1] != "style":
            self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())

    def count(self, tag: str) -> int:
        return sum(each == tag for each, _ in self.elements)

    def meta(self, key: str) -> str:
        (found,) = [a["content"] for t, a in self.elements if t == "meta" and key in a.values()]
        assert found is not None
        return found


def stylesheet() -> str:
    return (resources.files("ballotine.report") / "templates" / "report.css").read_text("utf-8")


def assert_only_our_own(page: Page) -> None:
    assert page.open == []
    assert page.comments == []
    assert page.count("script") == 3
    assert page.count("style") == 1
    assert {tag for tag, _ in page.elements}.isdisjoint({"a", "img", "link", "iframe", "base"})
    for _, attributes in page.elements:
        assert set(attributes) <= ATTRIBUTES
        style = attributes.get("style")
        assert style is None or re.fullmatch(r"(width|left):\d+\.\d+%", style)


def test_a_plain_card_is_our_own_page(make_card: Any) -> None:
    assert_only_our_own(Page(render_html(make_card())))


def test_hostile_names_inject_nothing(hostile_card: dict[str, Any]) -> None:
    html = render_html(hostile_card)
    page = Page(html)
    assert_only_our_own(page)
    assert "<script>alert(1)</script>" in page.text
    assert "{{ 7 * 7 }}" in page.text
    assert all(c.isprintable() for c in page.text)
    for character in "\x00\x07\x1b\u202e\u2066\u2028":
        assert character not in html.replace(page.scripts[1], "")


def test_the_data_block_cannot_be_left(hostile_card: dict[str, Any]) -> None:
    block = Page(render_html(hostile_card)).scripts[0]
    assert not set("<>&") & set(block)
    assert set(json.loads(block)) == {"cost", "answers", "recall", "confusion"}


def test_nothing_is_loaded_from_anywhere(make_card: Any) -> None:
    page = Page(render_html(make_card()))
    for _, attributes in page.elements:
        assert not {"src", "href", "srcset", "action", "data", "poster"} & set(attributes)
        assert not any("://" in (value or "") for value in attributes.values())
    assert "url(" not in stylesheet()
    assert "@import" not in stylesheet()


def test_the_policy_allows_exactly_the_two_scripts(make_card: Any) -> None:
    page = Page(render_html(make_card()))
    rules = dict(rule.split(" ", 1) for rule in page.meta("Content-Security-Policy").split("; "))
    digests = [
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in page.scripts[1:]
    ]
    assert rules["default-src"] == "'none'"
    assert rules["script-src"].split() == digests
    assert "\r" not in "".join(page.scripts)


def test_plotly_is_there_once(make_card: Any) -> None:
    scripts = Page(render_html(make_card())).scripts
    assert [len(text) > 1_000_000 for text in scripts] == [False, True, False]


@pytest.mark.parametrize("missing", ["student", "evaluation", "both"])
def test_without_student_or_evaluation(make_card: Any, missing: str) -> None:
    parts = ["student", "evaluation"] if missing == "both" else [missing]
    text = Page(render_html(make_card(**dict.fromkeys(parts)))).text
    assert ("No student was trained" in text) == ("student" in parts)
    assert ("87.0 %" in text) == ("evaluation" not in parts)
    assert ("no labelled test rows" in text) == (missing == "evaluation")


def test_a_card_with_nothing_to_draw_carries_no_script(make_card: Any) -> None:
    card = make_card(evaluation=None, history=[])
    card["answers"]["by_class"] = {}
    page = Page(render_html(card))
    assert page.scripts == []
    assert "script-src 'none'" in page.meta("Content-Security-Policy")


def test_very_many_classes_are_told_in_plain_tables(make_card: Any) -> None:
    card, many = make_card(), 300
    card["answers"]["by_class"] = {f"class {i}": i for i in range(many)}
    card["evaluation"] |= {
        "per_class": [{"class": i, "rows": 1, "recall": 1.0} for i in range(many)],
        "confusion": [[0] * many] * many,
    }
    page = Page(render_html(card))
    assert list(json.loads(page.scripts[0])) == ["cost"]
    assert "class 299" in page.text
    assert page.count("td") < 10 * many


def test_experiment_numbers_are_marked(make_card: Any) -> None:
    assert "Experiment only" not in Page(render_html(make_card())).text
    card = make_card(
        run={"name": "x", "experiment": True, "seeded": True},
        experiment={"label_accuracy": 0.9471, "ceiling": None},
    )
    text = Page(render_html(card)).text
    assert "Experiment only: not private, never part of a real release" in text
    assert "94.7 %" in text
    assert text.index("Seeded: for experiments only") < text.index("Changing any one person")


def test_key_facts_come_from_the_card(make_card: Any) -> None:
    first = make_card()
    second = make_card(accounted_epsilon=0.6543, title="Vineyard", holder="Someone else")
    second["guarantee"] |= {"epsilon": 0.7, "delta": 3e-6}
    second["guarantee"]["budget"] = {"epsilon": 0.8125, "delta": 3e-6}
    second["queries"] = {
        "pool": 4321, "asked": 3999, "answered": 2888, "abstained": 1111, "unasked": 322
    }  # fmt: skip
    second["answers"]["by_class"] = {"apple": 1999, "pear": 881, "plum": 8}
    second["evaluation"] |= {"rows": 4000, "accuracy": 0.6137}
    second["history"] = [{"asked": n, "answered": n, "epsilon": n / 9999} for n in (0, 3999)]
    second["data"]["public_rows"] = 4321
    second["ledger"] |= {"seq": 8642, "hash": "0f" * 32}
    facts = {
        0: ["Orchard", "2.345", "10−5", "10.44 times", "1 in 100,000", "ε = 2.111", "ε = 3 ",
            "1,234", "777", "555", "222", "457", "300", "87.0 %", "604", "9c1d" * 16],
        1: ["Vineyard", "0.7", "3 × 10−6", "2.02 times", "1 in 333,333", "ε = 0.655",
            "ε = 0.8125", "4,321", "3,999", "2,888", "1,111", "322", "1,999", "61.4 %", "8642",
            "0f" * 32],
    }  # fmt: skip
    texts = [Page(render_html(card)).text for card in (first, second)]
    for index, expected in facts.items():
        for fact in expected:
            assert fact in texts[index]
    for fact in ("Orchard", "2.345", "10.44", "2.111", "1,234", "87.0 %", "9c1d"):
        assert fact not in texts[1]


def test_the_charge_is_never_shown_smaller(make_card: Any) -> None:
    text = Page(render_html(make_card(accounted_epsilon=2.1110001))).text
    assert "charged so far ε = 2.112" in text


def test_headings_go_down_one_step_at_a_time(make_card: Any) -> None:
    page = Page(render_html(make_card()))
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels.count(1) == 1 == levels[0]
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_every_drawing_has_words_and_a_table(make_card: Any) -> None:
    page = Page(render_html(make_card()))
    drawings = [a for _, a in page.elements if a.get("role") == "img"]
    assert len(drawings) == 6
    assert all(attributes["aria-label"] for attributes in drawings)
    assert page.count("figure") == page.count("details") == 4
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    named = {a["aria-labelledby"] for _, a in page.elements if "aria-labelledby" in a}
    assert named <= set(ids)


def test_the_page_is_the_same_every_time(make_card: Any) -> None:
    assert render_html(make_card()) == render_html(make_card())


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", [0, 1])
@pytest.mark.parametrize(
    ("front", "back"),
    [
        *(("ink", "paper"), ("muted", "paper"), ("accent", "paper"), ("ink", "sheet")),
        *(("hero-ink", "hero"), ("hero-muted", "hero"), ("hero-mark", "hero")),
        *(("alert", "alert-paper"), ("ink", "alert-paper"), ("banner-ink", "banner")),
    ],
)
def test_text_can_be_read(theme: int, front: str, back: str) -> None:
    blocks = re.findall(r":root[^{]*\{([^}]*)\}", stylesheet())
    colours: dict[str, str] = {}
    for block in blocks[: theme + 1]:
        colours |= dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block))
    light, dark = sorted((luminance(colours[front]), luminance(colours[back])), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5
