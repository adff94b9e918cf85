"""Checks that a card is complete and may be shown, before anything is rendered from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ballotine.errors import DataError
from ballotine.privacy.guarantee import Kind

FORMAT = 1

_ANY: tuple[str, ...] = ()
QUERIES = ("pool", "asked", "answered", "abstained", "unasked")
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
    "queries": QUERIES,
    "mechanism": ("mechanism",),
    "teachers": ("number", "kind", "options"),
    "partition": ("kind", "data_dependent"),
    "data": (
        *("source", "private_records", "public_rows", "features", "classes"),
        *("classes_from", "preprocessing_from"),
    ),
    "answers": ("file", "sha256"),
    "student": _ANY,
    "evaluation": _ANY,
    "experiment": _ANY,
    "history": _ANY,
    "configuration": _ANY,
    "versions": _ANY,
    "warnings": _ANY,
}
_TRAINING = ("label", "epochs", "interrupted", "curves", "removed")
EXPERIMENT = ("label_accuracy", "ceiling")
_OPTIONAL: dict[str, tuple[str, ...]] = {
    "student": ("kind", "options", "file", "sha256"),
    "evaluation": ("rows",),
    "experiment": EXPERIMENT,
    "features": ("kind", "options"),
    "individual": ("method", "groups", "exempt"),
    "published": ("order",),
}


def validate_card(card: Mapping[str, Any]) -> None:
    """Raise DataError if a card is incomplete, or contains what must not be shown."""
    if card.get("format") != FORMAT:
        raise DataError(f"this card is not of format {FORMAT}; create it again with this version")
    for key, inner in _REQUIRED.items():
        _has(card, key, inner)
    for key, inner in _OPTIONAL.items():
        if card.get(key) is not None:
            _has(card, key, inner)
    _either(card["answers"], "answers", ("by_class",), ("by_label",))
    if card.get("published") is not None:
        _either(card["published"], "published", ("failure",), ("confidence",))
    if card["evaluation"] is not None:
        classes = ("accuracy", "per_class", "confusion")
        _either(card["evaluation"], "evaluation", classes, ("acc", "per_label"))
    _check_training((card["student"] or {}).get("training") or ())
    _check_numbers(card)
    _check_kind(card)
    if card["experiment"] is not None and not card["run"]["experiment"]:
        raise DataError(
            "the card of a real run contains experiment-only numbers: it must not be shown"
        )


def _check_numbers(card: Mapping[str, Any]) -> None:
    guarantee = card["guarantee"]
    _has(guarantee, "budget", ("epsilon", "delta"))
    for place in (guarantee, guarantee["budget"]):
        if not (math.isfinite(place["epsilon"]) and place["epsilon"] >= 0):
            raise DataError("the card's ε is not a finite number of at least 0")
        if not 0 < place["delta"] < 1:
            raise DataError("the card's δ is not between 0 and 1")
    if not guarantee["budget"]["epsilon"] > 0:
        raise DataError("the card's budget ε is not above 0")


def _check_training(parts: Any) -> None:
    """Each curve must have one finite number per epoch."""
    for part in parts:
        if not (isinstance(part, Mapping) and set(_TRAINING) <= set(part)):
            raise DataError("the card is incomplete: see its part 'student.training'")
        for series in dict(part["curves"]).values():
            if len(series) != part["epochs"] or not series or not all(map(math.isfinite, series)):
                raise DataError("the card's training curves must have one finite number per epoch")
        if part["removed"] is not None:
            _has(part, "removed", ("rows", "records"))


def _check_kind(card: Mapping[str, Any]) -> None:
    """ε must not be below what was charged, unless it was published (sanitised)."""
    guarantee, accounted = card["guarantee"], card["accounted_epsilon"]
    kind = guarantee["kind"]
    if kind == Kind.DATA_DEPENDENT.value:
        raise DataError(
            "a data-dependent ε is private itself until it is sanitised: it must not be shown"
        )
    if kind == Kind.NOT_RELEASABLE.value:
        if not card["run"]["experiment"]:
            raise DataError("a run that may not be released must be declared an experiment")
        most = math.inf
    elif kind == Kind.SANITISED.value:
        most = guarantee["budget"]["epsilon"]
    else:
        most = guarantee["epsilon"]
    if not 0 <= accounted <= most * (1 + 1e-9) + 1e-3 * (kind == Kind.SANITISED.value) + 1e-9:
        raise DataError("the card's ε is smaller than what its answers were charged")


def _either(
    part: Mapping[str, Any], name: str, one: tuple[str, ...], other: tuple[str, ...]
) -> None:
    if not (set(one) <= set(part) or set(other) <= set(part)):
        raise DataError(f"the card is incomplete: see its part '{name}'")


def _has(card: Mapping[str, Any], key: str, inner: tuple[str, ...]) -> None:
    missing = key not in card or (
        inner and not (isinstance(card[key], Mapping) and set(inner) <= set(card[key]))
    )
    if missing:
        raise DataError(f"the card is incomplete: see its part '{key}'")
