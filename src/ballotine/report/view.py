"""What report.html and card.md show, computed from the card."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ballotine.report.formatting import (
    moment,
    name,
    number,
    percent,
    plain,
    repeated,
    rows,
    tested_rows,
    tidy,
    up,
    wilson,
)
from ballotine.report.groups import groups
from ballotine.report.labels import label_evaluation, released_labels
from ballotine.report.promise import mode_of, not_protected, promise, warnings_of
from ballotine.report.training import training_view
from ballotine.report.validation import EXPERIMENT, QUERIES, validate_card

EXPERIMENT_ONLY = "Experiment only: not private, never part of a real release"
CHECK_COMMAND = "ballotine ledger verify LEDGER --card card.json"
_MOST_ROWS = 24


def view(card: Mapping[str, Any]) -> dict[str, Any]:
    """Everything a template needs, as strings; raises DataError for an invalid card."""
    validate_card(card)
    guarantee, queries = card["guarantee"], card["queries"]
    return {
        "title": tidy(card["title"], 120) or "Privacy report",
        "holder": tidy(card["holder"], 120),
        "created": moment(card["created"]),
        "run": name(card["run"]["name"]),
        "banners": warnings_of(card),
        "warnings": [sentence(text) for text in card["warnings"] if tidy(text)],
        "promise": asdict(promise(card)),
        "mode": asdict(mode_of(card)),
        "groups": groups(card),
        "epsilon": number(guarantee["epsilon"]),
        "delta": number(guarantee["delta"]),
        "kind": name(guarantee["kind"]),
        "neighbouring": tidy(guarantee["neighbouring"], 200),
        "assumptions": [sentence(text) for text in guarantee["assumptions"]],
        "notes": [sentence(text) for text in guarantee["notes"]],
        "scope": sentence(guarantee["scope"]),
        "meter": _meter(card),
        "queries": {key: f"{queries[key]:,}" for key in QUERIES},
        "repeated": repeated(queries.get("repeated", 0)),
        "shares": _shares(queries),
        "history": _history(card["history"]),
        "history_heads": _history_heads(card["history"]),
        "answers": card["answers"],
        "released": [
            (name(key), f"{n:,}") for key, n in card["answers"].get("by_class", {}).items()
        ],
        "released_labels": released_labels(card["answers"]),
        "student": _student(card["student"]),
        "training": training_view(card),
        "tested_rows": tested_rows(card["data"].get("test_from")),
        "evaluation": _evaluation(card["evaluation"]),
        "label_evaluation": _label_evaluation(card["evaluation"]),
        "experiment": _experiment(card["experiment"]),
        "experiment_only": EXPERIMENT_ONLY,
        "not_protected": not_protected(card),
        "made": _made(card),
        "configuration": _configuration(card["configuration"]),
        "ledger": card["ledger"],
        "signed_by": tidy(card.get("signed_by") or "", 120),
        "check_command": CHECK_COMMAND,
        "versions": rows(card["versions"]),
    }


def sentence(text: object) -> str:
    """Make a text of the card a sentence: capitalised, with a full stop."""
    kept = tidy(text)
    if kept[:1].isascii():  # δ must not become Δ
        kept = kept[:1].upper() + kept[1:]
    return kept if not kept or kept[-1] in ".!?…" else f"{kept}."


def _meter(card: Mapping[str, Any]) -> dict[str, Any]:
    accounted, guarantee = card["accounted_epsilon"], card["guarantee"]
    budget = guarantee["budget"]["epsilon"]
    full = max(budget, guarantee["epsilon"], accounted)
    return {
        "accounted": up(accounted),
        # A ceiling is computed and has many digits; a budget was typed by a person.
        "budget": up(budget) if guarantee.get("mode") == "fixed" else number(budget),
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
        for key in ("answered", "abstained", "repeated", "unasked")
        if key != "repeated" or queries.get(key)
    ]


def _history(points: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    stride = max(1, -(-len(points) // _MOST_ROWS))
    groups = _history_groups(points)
    return [
        (
            f"{point['asked']:,}",
            f"{point['answered']:,}",
            *(up(point["groups"][group]) for group in groups),
            *(() if groups else (up(point["epsilon"]),)),
        )
        for point in points[::-1][::stride][::-1]
    ]


def _history_heads(points: list[dict[str, Any]]) -> list[str]:
    return [f"ε of {name(group)}" for group in _history_groups(points)] or ["ε"]


def _history_groups(points: list[dict[str, Any]]) -> list[str]:
    """The groups whose cost is given at every point, if any."""
    found: list[str] = list(points[-1].get("groups", ())) if points else []
    return found if all(set(found) == set(point.get("groups", ())) for point in points) else []


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
    if evaluation is None or "per_class" not in evaluation:
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


def _label_evaluation(evaluation: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if evaluation is None or "per_label" not in evaluation:
        return None
    return label_evaluation(evaluation)


def _experiment(experiment: Mapping[str, Any] | None) -> dict[str, str] | None:
    if experiment is None:
        return None
    return {key: percent(experiment[key]) for key in EXPERIMENT}


def _made(card: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    data, partition = card["data"], card["partition"]
    shape = ("private_records", "public_rows", "features")
    several = "labels" if "by_label" in card["answers"] else "classes"
    return [
        (
            "Data",
            [
                ("source", name(data["source"])),
                *((key.replace("_", " "), f"{data[key]:,}") for key in shape),
                (several, f"{len(data['classes'])}: {plain([name(c) for c in data['classes']])}"),
                (f"{several} from", plain(data["classes_from"])),
                ("preprocessing from", plain(data["preprocessing_from"])),
            ],
        ),
        (
            "Teachers",
            [
                *rows(card["teachers"]),
                *_features(card.get("features")),
                ("partition", name(partition["kind"])),
                ("partition depends on the data", plain(partition["data_dependent"])),
            ],
        ),
        ("Mechanism", rows(card["mechanism"])),
    ]


def _features(features: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """The features teachers are trained on, if they are not the rows themselves."""
    if features is None:
        return []
    return [("features, learnt from public rows alone", name(features["kind"]))]


def _configuration(configuration: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    return [
        (name(key), rows(inner) if isinstance(inner, Mapping) else [("", plain(inner))])
        for key, inner in configuration.items()
        if inner != {}
    ]
