"""Answers and students of several labels, label by label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ballotine.report.formatting import name, percent

METRICS = (
    ("acc", "accuracy"),
    ("bac", "balanced accuracy"),
    ("auc", "area under the ROC curve"),
    ("map", "average precision"),
)


def released_labels(answers: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Each label with how often it was answered present, absent, and not at all."""
    return [
        (name(row["label"]), *(f"{row[key]:,}" for key in ("present", "absent", "abstained")))
        for row in answers.get("by_label", ())
    ]


def label_evaluation(evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """The metrics of a student of several labels: means, and by label."""
    return {
        "rows": f"{evaluation['rows']:,}",
        "metrics": [(title, percent(evaluation[key])) for key, title in METRICS],
        "per_label": [
            (
                name(row["label"]),
                f"{row['rows']:,}",
                f"{row['present']:,}",
                *(percent(row[key]) for key, _ in METRICS),
            )
            for row in evaluation["per_label"]
        ],
    }
