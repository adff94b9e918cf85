"""How the student's networks were trained: for the card and the report.

Losses, epochs and removed answers depend only on what was released and on public rows, so they
reveal nothing about private records beyond the answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ballotine.report.formatting import listed, name
from ballotine.students import STAGE, Student, losses_in, trainings

_MOST_ROWS = 24
_MOST_BLOCKS = 24
_BLOCKS = "▁▂▃▄▅▆▇█"


def training_parts(student: Student, public_rows: int) -> list[dict[str, Any]]:
    """What the card contains about each network's training.

    Args:
        student: the released student.
        public_rows: how many of its rows were public; records that need no privacy follow
            them, and are counted but not listed.
    """
    return [
        {
            "label": each.label,
            "epochs": each.epochs,
            "interrupted": each.interrupted,
            # With one network per label, curves would make up most of the card.
            "curves": each.curves if each.label is None else {},
            "removed": None if each.removed is None else _removed(each.removed, public_rows),
        }
        for each in trainings(student)
    ]


def _removed(rows: Any, public_rows: int) -> dict[str, Any]:
    return {
        "rows": [int(row) for row in rows if row < public_rows],
        "records": sum(1 for row in rows if row >= public_rows),
    }


def curves_of(student: Mapping[str, Any] | None) -> dict[str, list[float]]:
    """The curves of a student with a single training; empty otherwise."""
    parts = (student or {}).get("training") or []
    return dict(parts[0]["curves"]) if len(parts) == 1 else {}


def training_view(card: Mapping[str, Any]) -> dict[str, Any] | None:
    """Sentences, a table of numbers by epoch, and sparklines; None if nothing was recorded."""
    parts = (card["student"] or {}).get("training")
    if not parts:
        return None
    curves = curves_of(card["student"])
    return {
        "sentences": [*_lengths(parts), *_removals(parts)],
        "meaning": _meaning(card) if curves else "",
        "heads": [_series(key) for key in curves if key != STAGE],
        "rows": _rows({key: values for key, values in curves.items() if key != STAGE}),
        "lines": [
            (_series(key), sparkline(curves[key]), _short(curves[key][0]), _short(curves[key][-1]))
            for key in losses_in(curves)
        ],
    }


def sparkline(values: Sequence[float]) -> str:
    """A curve in block characters, scaled from its lowest to its highest value."""
    shown = [values[place] for place in _places(len(values), _MOST_BLOCKS)]
    low, high = min(shown), max(shown)
    step = (high - low) or 1.0
    return "".join(_BLOCKS[round((len(_BLOCKS) - 1) * (each - low) / step)] for each in shown)


def second_stage(curves: Mapping[str, Sequence[float]]) -> int | None:
    """The last epoch of the first stage, if there is a second stage."""
    stages = list(curves.get(STAGE, ()))
    return stages.index(1.0) if 1.0 in stages[1:] else None


def _meaning(card: Mapping[str, Any]) -> str:
    exempt = (card.get("individual") or {}).get("exempt")
    others = ", public rows and records that need no privacy" if exempt else " and public rows"
    return (
        "Each line is a mean loss by epoch: one that still falls fast at the end could use more "
        "epochs, one that rises or jumps a smaller learning rate. A loss on the answers that is "
        "lower than their mistakes allow means that these mistakes were memorised. Losses are "
        f"public: they are computed from released answers{others} alone, and reveal no more about "
        "private records than the answers do."
    )


def _lengths(parts: Sequence[Mapping[str, Any]]) -> list[str]:
    if len(parts) == 1 and parts[0]["label"] is None:
        epochs = parts[0]["epochs"]
        said = [f"The student was trained for {epochs:,} epoch{'s' if epochs != 1 else ''}."]
    else:
        said = [f"Each of {len(parts):,} labels has its own network."]
    cut = [part for part in parts if part["interrupted"]]
    if cut:
        of = "" if cut[0]["label"] is None else f" of {listed([name(p['label']) for p in cut])}"
        said.append(
            f"Training{of} was interrupted early; the best weights up to that point were kept."
        )
    return said


def _removals(parts: Sequence[Mapping[str, Any]]) -> list[str]:
    found = [part["removed"] for part in parts if part["removed"] is not None]
    if not found:
        return []
    rows = sum(len(each["rows"]) for each in found)
    records = sum(each["records"] for each in found)
    labels = f", and labels of records that need no privacy: {records:,}" if records else ""
    text = (
        f"Answers that looked wrong in training and were left out in the end: {rows:,}{labels}. "
        "card.json lists their public rows, numbered as in the answers file."
    )
    return [text]


def _rows(curves: Mapping[str, Sequence[float]]) -> list[tuple[str, ...]]:
    length = min(map(len, curves.values()), default=0)
    return [
        (f"{place + 1:,}", *(_short(values[place]) for values in curves.values()))
        for place in _places(length, _MOST_ROWS)
    ]


def _places(length: int, most: int) -> range | list[int]:
    """At most ``most`` evenly spaced positions, including the first and the last."""
    if length <= most:
        return range(length)
    return [round(step * (length - 1) / (most - 1)) for step in range(most)]


def _series(key: object) -> str:
    return name(key).replace("_", " ")


def _short(value: float) -> str:
    return f"{value:.4g}"
