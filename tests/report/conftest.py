"""A complete card to start from, and hostile names."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

CLASSES = ["apple", "pear", "plum"]
HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    '" onload="alert(3)" x="',
    "' onmouseover='alert(4)",
    "\x1b[31mred\x1b[0m\x07",
    "\u202egnp.exe\u2066",
    "<!--",
    "]]></style><style>*{display:none}</style>",
    "{{ 7 * 7 }}{% raw %}",
    '<a href="https://evil.example/">x</a>',
    "%{x}<br><b>bold</b>",
    "a|b`c`\n# heading\r\n- item\u2028next",
    "[x](https://evil.example) ![i](http://evil.example/i.png) www.evil.example",
    "",
    "W" * 5000,
]

_CARD: dict[str, Any] = {
    "format": 1,
    "title": "Orchard",
    "holder": "The Gardener",
    "created": "2025-03-09T08:07:06+02:00",
    "run": {"name": "first", "experiment": False, "seeded": False},
    "guarantee": {
        "epsilon": 2.345,
        "delta": 1e-5,
        "budget": {"epsilon": 3.0, "delta": 1e-5},
        "kind": "data-independent",
        "neighbouring": "one private record replaced",
        "assumptions": ["each record is one row"],
        "scope": "all runs in the ledger",
        "seeded": False,
        "notes": ["noise is drawn in floating point"],
    },
    "accounted_epsilon": 2.111,
    "ledger": {"id": "6f0a3c1e", "seq": 604, "hash": "9c1d" * 16, "shared": True, "runs": 7},
    "queries": {"pool": 1234, "asked": 777, "answered": 555, "abstained": 222, "unasked": 457},
    "mechanism": {"mechanism": "confident-gnmax", "sigma": 8.0, "threshold": 30.0},
    "teachers": {"number": 50, "kind": "nearest-neighbours", "options": {"n_neighbors": 1}},
    "partition": {"kind": "random", "data_dependent": False},
    "data": {
        "source": "fruit.csv",
        "private_records": 9001,
        "public_rows": 1234,
        "features": 17,
        "classes": CLASSES,
        "classes_from": "a public schema",
        "preprocessing_from": "public rows",
    },
    "answers": {
        "file": "answers.parquet",
        "sha256": "ab12" * 16,
        "by_class": {"apple": 300, "pear": 200, "plum": 55},
    },
    "student": {
        "kind": "label-spreading",
        "options": {"kernel": "knn"},
        "file": "student.skops",
        "sha256": "77ee" * 16,
    },
    "evaluation": {
        "rows": 100,
        "accuracy": 0.87,
        "per_class": [
            {"class": "apple", "rows": 60, "recall": 0.9},
            {"class": "pear", "rows": 40, "recall": 0.825},
            {"class": "plum", "rows": 0, "recall": None},
        ],
        "confusion": [[54, 6, 0], [6, 33, 1], [0, 0, 0]],
    },
    "experiment": None,
    "history": [
        {"asked": 0, "answered": 0, "epsilon": 0.0},
        {"asked": 400, "answered": 300, "epsilon": 1.5},
        {"asked": 777, "answered": 555, "epsilon": 2.111},
    ],
    "configuration": {"teachers": {"number": 50}, "budget": {"epsilon": 3.0, "ledger": None}},
    "versions": {"ballotine": "0.1.0", "python": "3.11.9"},
    "warnings": ["δ is not far below 1/n"],
}

MakeCard = Callable[..., dict[str, Any]]


@pytest.fixture
def make_card() -> MakeCard:
    """A fresh card; keyword arguments replace top-level parts."""

    def make(**parts: Any) -> dict[str, Any]:
        return copy.deepcopy(_CARD) | copy.deepcopy(parts)

    return make


@pytest.fixture
def hostile_names() -> list[str]:
    return list(HOSTILE)


@pytest.fixture
def hostile_card(make_card: MakeCard) -> dict[str, Any]:
    """Every text of the card is an attack, and every name occurs as a class."""
    card = make_card()
    size = len(HOSTILE)
    for place in (card, card["run"], card["guarantee"], card["ledger"], card["student"]):
        for key, value in place.items():
            if isinstance(value, str):
                place[key] = "".join(HOSTILE[:6])
    card["guarantee"] |= {"assumptions": HOSTILE, "notes": HOSTILE, "scope": HOSTILE[2]}
    card["data"] |= {"source": HOSTILE[0], "classes": HOSTILE, "classes_from": HOSTILE[2]}
    card["answers"] = {"file": HOSTILE[4], "sha256": HOSTILE[5]} | {
        "by_class": {each: index for index, each in enumerate(HOSTILE)}
    }
    card["student"]["options"] = {each: each for each in HOSTILE}
    card["evaluation"] |= {
        "per_class": [{"class": each, "rows": 1, "recall": 1.0} for each in HOSTILE],
        "confusion": [[int(i == j) for j in range(size)] for i in range(size)],
    }
    card["configuration"] = {each: {each: [each, {each: each}]} for each in HOSTILE}
    card["mechanism"] = {"mechanism": HOSTILE[0], HOSTILE[2]: HOSTILE[3]}
    card["versions"] = {each: each for each in HOSTILE}
    card["warnings"] = HOSTILE
    return card


def group(name: str, budget: float, **parts: Any) -> dict[str, Any]:
    """One group of individual budgets, as in a card."""
    return {
        "name": name, "records": 300, "budget": budget, "epsilon": budget, "charged": 0.9 * budget,
        "teachers": 20, "weight": 1.25, "copies": 1, "voters": 20, "ended": False,
    } | parts  # fmt: skip


@pytest.fixture
def grouped_card(make_card: MakeCard) -> dict[str, Any]:
    """Three groups with their own budgets, and one without privacy."""
    found = [group("adults", 3.0), group("children", 1.0, ended=True), group("staff", 2.0)]
    card = make_card(
        individual={
            "method": "weighting",
            "voters": 50,
            "groups": found,
            "exempt": [{"name": "volunteers", "records": 17}],
        },
        history=[
            {"asked": n, "answered": n, "epsilon": n / 300}
            | {"groups": {"adults": n / 300, "children": n / 900, "staff": n / 450}}
            for n in (0, 400, 777)
        ],
        accounted_epsilon=2.7,
    )
    card["guarantee"] |= {
        "epsilon": 3.0,
        "mode": "strict",
        "groups": [
            {"name": g["name"], "epsilon": g["epsilon"], "budget": g["budget"]} for g in found
        ],
    }
    return card


@pytest.fixture
def label_card(make_card: MakeCard) -> dict[str, Any]:
    """A card of a run with three labels."""
    card = make_card()
    card["answers"] = {
        "file": "answers.parquet",
        "sha256": "ab12" * 16,
        "by_label": [
            {"label": "ripe", "present": 301, "absent": 202, "abstained": 274},
            {"label": "rotten", "present": 11, "absent": 706, "abstained": 60},
            {"label": "wormy", "present": 0, "absent": 0, "abstained": 777},
        ],
    }
    scores = {"acc": 0.91, "bac": 0.815, "auc": 0.875, "map": 0.66}
    card["evaluation"] = {
        "rows": 100, **scores,
        "per_label": [
            {"label": "ripe", "rows": 100, "present": 60, **scores},
            {"label": "rotten", "rows": 90, "present": 3, **scores, "bac": 0.5},
            {"label": "wormy", "rows": 100, "present": 0, **scores, "bac": None, "auc": None},
        ],
    }  # fmt: skip
    return card


@pytest.fixture
def paper_card(make_card: MakeCard) -> dict[str, Any]:
    """A card of a run in paper mode."""
    card = make_card(run={"name": "x", "experiment": True, "seeded": True}, accounted_epsilon=9.5)
    card["guarantee"] |= {"kind": "not releasable", "mode": "paper", "epsilon": 3.0, "seeded": True}
    return card


@pytest.fixture
def sanitised_card(make_card: MakeCard) -> dict[str, Any]:
    """A card of a run in fixed mode, with a published ε."""
    card = make_card(published={"failure": 1e-6, "order": 7.0}, accounted_epsilon=4.9)
    card["guarantee"] |= {
        "kind": "sanitised",
        "mode": "fixed",
        "epsilon": 1.7,
        "budget": {"epsilon": 4.90123456, "delta": 1e-5},
    }
    return card
