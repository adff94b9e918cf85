"""Cards of individual budgets, of several labels, of fixed and of paper mode."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from ballotine.errors import DataError
from ballotine.report.figures import MOST_LINES, draw, group_cost, label_answers
from ballotine.report.html import render_html
from ballotine.report.markdown import render_markdown
from ballotine.report.promise import promise, warnings_of
from ballotine.report.validation import validate_card
from ballotine.report.view import view
from tests.report.conftest import HOSTILE, group
from tests.report.test_html import Page, assert_only_our_own
from tests.report.test_markdown import tables, tokens


def test_groups_are_told_one_by_one(grouped_card: dict[str, Any]) -> None:
    page = Page(render_html(grouped_card))
    assert_only_our_own(page)
    for fact in ("adults", "children", "20.09", "2.72", "7.39", "volunteers", "no privacy"):
        assert fact in page.text
    assert "the budget of group children allows no further query" in page.text
    assert "Changing any one protected record, even one of the least protected" in page.text
    assert "weight of a vote" in page.text
    assert "copies of a record" not in page.text
    assert "ε of staff" in page.text
    (_, promised, _) = tables(render_markdown(grouped_card))
    assert promised[1:] == [
        ["adults", "300", "3", "3", "2.7"],
        ["children", "300", "1", "1", "0.9"],
        ["staff", "300", "2", "2", "1.8"],
        ["volunteers", "17", "no privacy", "", ""],
    ]


@pytest.mark.parametrize(
    ("method", "head"),
    [("upsampling", "copies of a record"), ("vanishing", "voters on each query")],
)
def test_each_method_shows_what_it_does(
    grouped_card: dict[str, Any], method: str, head: str
) -> None:
    grouped_card["individual"]["method"] = method
    text = Page(render_html(grouped_card)).text
    assert head in text
    assert "weight of a vote" not in text


def test_several_groups_end_it_together(grouped_card: dict[str, Any]) -> None:
    for each in grouped_card["individual"]["groups"]:
        each["ended"] = each["name"] != "adults"
    ended = view(grouped_card)["groups"]["ended"]
    assert "the budgets of groups children, staff allow no further query" in ended
    for each in grouped_card["individual"]["groups"]:
        each["ended"] = False
    assert view(grouped_card)["groups"]["ended"] == ""


def test_every_group_has_its_line_up_to_its_budget(grouped_card: dict[str, Any]) -> None:
    figure = draw(grouped_card)["cost"]
    assert [line["y"][-1] for line in figure["data"]] == [777 / 300, 777 / 900, 777 / 450]
    assert [shape["y0"] for shape in figure["layout"]["shapes"]] == [3.0, 1.0, 2.0]
    assert figure["layout"]["yaxis"]["range"][1] > 3.0
    many = [group(f"g{i}", 1.0) for i in range(MOST_LINES + 1)]
    grouped_card["individual"]["groups"] = many
    assert "cost" not in draw(grouped_card)
    Page(render_html(grouped_card))


def test_labels_are_told_one_by_one(label_card: dict[str, Any]) -> None:
    page = Page(render_html(label_card))
    assert_only_our_own(page)
    for fact in ("ripe", "301", "706", "777", "81.5 %", "87.5 %", "66.0 %", "balanced accuracy"):
        assert fact in page.text
    assert "for at least one label" in page.text
    assert "Recall" not in page.text
    assert set(json.loads(page.scripts[0])) == {"cost", "answers", "labels"}
    _, released = tables(render_markdown(label_card))
    assert released[1:] == [
        ["ripe", "301", "202", "274", "91.0 %", "81.5 %"],
        ["rotten", "11", "706", "60", "91.0 %", "50.0 %"],
        ["wormy", "0", "0", "777", "91.0 %", "–"],
    ]
    assert "average precision 66.0 %" in render_markdown(label_card)


def test_labels_without_an_evaluation_and_very_many(label_card: dict[str, Any]) -> None:
    bare = label_card | {"evaluation": None}
    assert tables(render_markdown(bare))[1][0] == ["label", "present", "absent", "no answer"]
    assert "no labelled test rows" in Page(render_html(bare)).text
    label_card["answers"]["by_label"] *= 20
    label_card["evaluation"]["per_label"] *= 20
    assert set(draw(label_card)) == {"cost"}
    assert "and 40 more labels" in render_markdown(label_card)


def test_bars_of_labels_stack_to_the_rows_asked(label_card: dict[str, Any]) -> None:
    bars = label_answers(label_card["answers"]["by_label"])["data"]
    assert [sum(parts) for parts in zip(*(bar["x"] for bar in bars), strict=True)] == [777] * 3


def test_paper_mode_promises_nothing(paper_card: dict[str, Any]) -> None:
    page = Page(render_html(paper_card))
    assert_only_our_own(page)
    assert warnings_of(paper_card)[0][0] == "Not releasable"
    assert "Nothing is promised" in page.text
    assert "makes no released outcome" not in page.text
    assert "will guess the right one" not in page.text
    assert "Signature" not in page.text
    assert "ε as papers count it" in page.text
    assert "ε = 9.5" in page.text, "what it cost whatever the votes may be above the budget"
    text = render_markdown(paper_card)
    assert "**Nothing is promised**" in text
    assert "makes no released outcome" not in text
    assert not promise(paper_card).holds


def test_paper_mode_is_never_a_real_run(paper_card: dict[str, Any]) -> None:
    paper_card["run"]["experiment"] = False
    with pytest.raises(DataError, match="must be declared an experiment"):
        validate_card(paper_card)


def test_a_published_epsilon_is_about_this_data_set_and_makes_no_group_statement(
    sanitised_card: dict[str, Any],
) -> None:
    page, text = Page(render_html(sanitised_card)), render_markdown(sanitised_card)
    assert_only_our_own(page)
    assert "sanitised, fixed mode, for this data set and its neighbours" in page.text
    assert "Changing any one person’s record of this data set makes no released" in page.text
    assert "Take any two sets" not in page.text
    assert "the ceiling of ε = 4.902 holds in any case" in page.text
    assert "charged, whatever the votes ε = 4.9" in page.text
    assert "for this data set and its neighbours" in text
    for shown in (page.text, text):
        assert "1 in 1,000,000" in shown, "what δ pays for the noise of the publication"
        assert "k records" not in shown
        assert "e^(k" not in shown
        assert "says nothing about someone with several records" in shown
        assert "will guess the right one" not in shown


def test_other_kinds_keep_their_group_statement(make_card: Any) -> None:
    for shown in (Page(render_html(make_card())).text, render_markdown(make_card())):
        assert "k records" in shown
        assert "this data set and its neighbours" not in shown


def test_a_card_of_version_0_1_says_how_sure_it_is(sanitised_card: dict[str, Any]) -> None:
    sanitised_card["published"] = {"confidence": 0.95, "order": 7.0}
    page = Page(render_html(sanitised_card))
    assert "for this data set and its neighbours, 95 % sure" in page.text
    assert "which is not part of δ" in page.text
    assert "95 %, which is not part of the added chance" in render_markdown(sanitised_card)


def test_a_published_epsilon_may_be_below_the_charge_but_not_above_the_ceiling(
    sanitised_card: dict[str, Any],
) -> None:
    validate_card(sanitised_card)
    beyond = copy.deepcopy(sanitised_card) | {"accounted_epsilon": 4.91}
    with pytest.raises(DataError, match="charged"):
        validate_card(beyond)
    honest = copy.deepcopy(sanitised_card)
    honest["guarantee"]["kind"] = "data-independent"
    with pytest.raises(DataError, match="charged"):
        validate_card(honest)


@pytest.mark.parametrize("part", ["individual", "published"])
def test_new_parts_must_be_whole(make_card: Any, part: str) -> None:
    with pytest.raises(DataError, match=part):
        validate_card(make_card(**{part: {}}))


def test_answers_are_by_class_or_by_label(make_card: Any) -> None:
    card = make_card()
    del card["answers"]["by_class"]
    with pytest.raises(DataError, match="answers"):
        validate_card(card)
    card = make_card()
    del card["evaluation"]["per_class"]
    with pytest.raises(DataError, match="evaluation"):
        validate_card(card)


def test_hostile_names_of_groups_and_labels(
    grouped_card: dict[str, Any], label_card: dict[str, Any]
) -> None:
    hostile = HOSTILE[:5]
    grouped_card["individual"] |= {
        "method": HOSTILE[0],
        "groups": [group(name, 3.0, ended=True) for name in hostile],
        "exempt": [{"name": name, "records": 1} for name in hostile],
    }
    for point in grouped_card["history"]:
        point["groups"] = dict.fromkeys(hostile, 0.5)
    label_card["answers"]["by_label"] = [
        {"label": name, "present": 1, "absent": 2, "abstained": 3} for name in HOSTILE
    ]
    row = label_card["evaluation"]["per_label"][0]
    label_card["evaluation"]["per_label"] = [row | {"label": name} for name in HOSTILE]
    for card in (grouped_card, label_card):
        page = Page(render_html(card))
        assert_only_our_own(page)
        assert not set("<>&") & set(page.scripts[0])
        assert all(c.isprintable() for c in page.text)
        text = render_markdown(card)
        types = {token.type for token in tokens(text)}
        assert types.isdisjoint({"html_block", "html_inline", "link_open", "image", "fence"})
        assert all(len({len(row) for row in table}) == 1 for table in tables(text))


def test_figures_of_groups_are_given_no_markup() -> None:
    hostile = [group(name, 1.0) for name in HOSTILE[:6]]
    history = [{"asked": n, "answered": n, "epsilon": 0.1} for n in (0, 1)]
    text = json.dumps(group_cost(history, hostile), ensure_ascii=False)
    assert "<" not in text.replace("<extra></extra>", "").replace("<br>", "")
