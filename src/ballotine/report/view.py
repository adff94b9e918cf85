"""What the page and the card for people show, worked out once from the card's dictionary."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ballotine.errors import DataError
from ballotine.privacy.guarantee import Kind
from ballotine.report.promise import NOT_PROTECTED, promise, warnings_of
from ballotine.report.words import moment, name, number, percent, plain, rows, tidy, up, wilson

FORMAT = 1
EXPERIMENT_ONLY = "Experiment only: not private, never part of a real release"
CHECK_COMMAND = "ballotine ledger verify LEDGER --card card.json"

_ANY: tuple[str, ...] = ()
_REQUIRED: dict[str, tuple[str, ...]] = {
    "title": _ANY,
    "holder": _ANY,
    "created": _ANY,
    "run": ("name", "experiment", "seeded"),
    "guarantee": (
        *("epsilon", "delta", "budget", "kind", "neighbouring", "assumptions"),
        *("scope", "seeded", "notes"),
    ),
    "accounted_epsilon": _ANY,
    "ledger": ("id", "seq", "hash", "shared", "runs"),
    "queries": ("pool", "asked", "answered", "abstained", "unasked"),
    "mechanism": ("mechanism",),
    "teachers": ("number", "kind", "options"),
    "partition": ("kind", "data_dependent"),
    "data": (
        *("source", "private_records", "public_rows", "features", "classes"),
        *("classes_from", "preprocessing_from"),
    ),
    "answers": ("file", "sha256", "by_class"),
    "student": _ANY,
    "evaluation": _ANY,
    "experiment": _ANY,
    "history": _ANY,
    "configuration": _ANY,
    "versions": _ANY,
    "warnings": _ANY,
}
_OPTIONAL: dict[str, tuple[str, ...]] = {
    "student": ("kind", "options", "file", "sha256"),
    "evaluation": ("rows", "accuracy", "per_class", "confusion"),
    "experiment": ("label_accuracy", "ceiling"),
}
_MOST_ROWS = 24


def view(card: Mapping[str, Any]) -> dict[str, Any]:
    """Everything a template needs, as strings; raises DataError for a card it must not show."""
    check(card)
    guarantee, queries = card["guarantee"], card["queries"]
    return {
        "title": tidy(card["title"], 120) or "Privacy report",
        "holder": tidy(card["holder"], 120),
        "created": moment(card["created"]),
        "run": name(card["run"]["name"]),
        "banners": warnings_of(card),
        "warnings": [sentence(text) for text in card["warnings"] if tidy(text)],
        "promise": asdict(promise(card)),
        "epsilon": number(guarantee["epsilon"]),
        "delta": number(guarantee["delta"]),
        "kind": name(guarantee["kind"]),
        "neighbouring": tidy(guarantee["neighbouring"], 200),
        "assumptions": [sentence(text) for text in guarantee["assumptions"]],
        "notes": [sentence(text) for text in guarantee["notes"]],
        "scope": sentence(guarantee["scope"]),
        "meter": _meter(card),
        "queries": {key: f"{queries[key]:,}" for key in _REQUIRED["queries"]},
        "shares": _shares(queries),
        "history": _history(card["history"]),
        "answers": card["answers"],
        "released": [(name(key), f"{n:,}") for key, n in card["answers"]["by_class"].items()],
        "student": _student(card["student"]),
        "evaluation": _evaluation(card["evaluation"]),
        "experiment": _experiment(card["experiment"]),
        "experiment_only": EXPERIMENT_ONLY,
        "not_protected": NOT_PROTECTED,
        "made": _made(card),
        "configuration": _configuration(card["configuration"]),
        "ledger": card["ledger"],
        "check_command": CHECK_COMMAND,
        "versions": rows(card["versions"]),
    }


def check(card: Mapping[str, Any]) -> None:
    """Refuse a card that is not whole, or that shows what nobody may be shown."""
    if card.get("format") != FORMAT:
        raise DataError(f"this card is not of format {FORMAT}; write it again with this version")
    for key, inner in _REQUIRED.items():
        _has(card, key, inner)
    for key, inner in _OPTIONAL.items():
        if card[key] is not None:
            _has(card, key, inner)
    guarantee = card["guarantee"]
    _has(guarantee, "budget", ("epsilon", "delta"))
    for place in (guarantee, guarantee["budget"]):
        if not (math.isfinite(place["epsilon"]) and place["epsilon"] >= 0):
            raise DataError("the card's ε is not a number that can be promised")
        if not 0 < place["delta"] < 1:
            raise DataError("the card's δ does not lie between 0 and 1")
    if not guarantee["budget"]["epsilon"] > 0:
        raise DataError("the card's budget is empty")
    if not 0 <= card["accounted_epsilon"] <= guarantee["epsilon"] * (1 + 1e-9) + 1e-9:
        raise DataError("the card's ε is smaller than what its answers were charged")
    if guarantee["kind"] == Kind.DATA_DEPENDENT.value:
        raise DataError("a data-dependent ε is itself private until it is sanitised")
    if card["experiment"] is not None and not card["run"]["experiment"]:
        raise DataError(
            "the card of a real run holds experiment-only numbers: it must not be shown"
        )


def sentence(text: object) -> str:
    """A text of the card as a sentence: a capital first, a full stop last."""
    kept = tidy(text)
    if kept[:1].isascii():  # δ must not become Δ
        kept = kept[:1].upper() + kept[1:]
    return kept if not kept or kept[-1] in ".!?…" else f"{kept}."


def _has(card: Mapping[str, Any], key: str, inner: tuple[str, ...]) -> None:
    missing = key not in card or (
        inner and not (isinstance(card[key], Mapping) and set(inner) <= set(card[key]))
    )
    if missing:
        raise DataError(f"the card is not whole: look at its part '{key}'")


def _meter(card: Mapping[str, Any]) -> dict[str, Any]:
    accounted, guarantee = card["accounted_epsilon"], card["guarantee"]
    full = max(guarantee["budget"]["epsilon"], guarantee["epsilon"], accounted)
    return {
        "accounted": up(accounted),
        "budget": number(guarantee["budget"]["epsilon"]),
        "fill": f"{100 * accounted / full:.2f}",
        "mark": f"{100 * guarantee['epsilon'] / full:.2f}",
    }


def _shares(queries: Mapping[str, int]) -> list[dict[str, str]]:
    pool = max(queries["pool"], 1)
    return [
        {
            "key": key,
            "count": f"{queries[key]:,}",
            "width": f"{100 * queries[key] / pool:.3f}",
            "share": percent(queries[key] / pool),
        }
        for key in ("answered", "abstained", "unasked")
    ]


def _history(points: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    stride = max(1, -(-len(points) // _MOST_ROWS))
    return [
        (f"{point['asked']:,}", f"{point['answered']:,}", up(point["epsilon"]))
        for point in points[::-1][::stride][::-1]
    ]


def _student(student: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if student is None:
        return None
    return {
        "kind": name(student["kind"]),
        "options": plain(student["options"]),
        "file": tidy(student["file"], 120),
        "sha256": student["sha256"],
    }


def _evaluation(evaluation: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if evaluation is None:
        return None
    low, high = wilson(evaluation["accuracy"], evaluation["rows"])
    per_class = evaluation["per_class"]
    return {
        "rows": f"{evaluation['rows']:,}",
        "accuracy": percent(evaluation["accuracy"]),
        "low": percent(math.floor(1000 * low) / 1000),
        "high": percent(math.ceil(1000 * high) / 1000),
        "per_class": [
            (name(row["class"]), f"{row['rows']:,}", percent(row["recall"])) for row in per_class
        ],
        "classes": [name(row["class"]) for row in per_class],
        "confusion": [
            (name(row["class"]), [f"{count:,}" for count in counts])
            for row, counts in zip(per_class, evaluation["confusion"], strict=True)
        ],
    }


def _experiment(experiment: Mapping[str, Any] | None) -> dict[str, str] | None:
    if experiment is None:
        return None
    return {key: percent(experiment[key]) for key in _OPTIONAL["experiment"]}


def _made(card: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    data, partition = card["data"], card["partition"]
    shape = ("private_records", "public_rows", "features")
    return [
        (
            "Data",
            [
                ("source", name(data["source"])),
                *((key.replace("_", " "), f"{data[key]:,}") for key in shape),
                ("classes", f"{len(data['classes'])}: {plain([name(c) for c in data['classes']])}"),
                ("classes from", plain(data["classes_from"])),
                ("preprocessing from", plain(data["preprocessing_from"])),
            ],
        ),
        (
            "Teachers",
            [
                *rows(card["teachers"]),
                ("partition", name(partition["kind"])),
                ("partition depends on the data", plain(partition["data_dependent"])),
            ],
        ),
        ("Mechanism", rows(card["mechanism"])),
    ]


def _configuration(configuration: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    return [
        (name(key), rows(inner) if isinstance(inner, Mapping) else [("", plain(inner))])
        for key, inner in configuration.items()
    ]
