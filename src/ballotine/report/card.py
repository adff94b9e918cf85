"""The privacy card: everything about a run that may be shown, as one dictionary.

Nothing here may depend on private data beyond what the ledger charged: the card is made from the
configuration, the released answers, labelled test rows and the ledger. Test rows taken out of the
private file are no longer protected, and the guarantee says so.
"""

from __future__ import annotations

import json
import platform
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from ballotine.data import row_keys
from ballotine.files import sha256_of, write_atomic
from ballotine.pipeline import RunFolder, RunResult
from ballotine.pipeline.counting import Counts, first_occurrences
from ballotine.privacy.guarantee import Kind, round_up
from ballotine.report.html import render_html
from ballotine.report.markdown import render_markdown
from ballotine.report.training import training_parts
from ballotine.signing import Signer, write_signed
from ballotine.types import IntArray

FORMAT = 1


def build_card(result: RunResult) -> dict[str, Any]:
    """Build the card of a finished run."""
    settings, found = result.settings, result.evaluation
    return {
        "format": FORMAT,
        "title": settings.report.title,
        "holder": settings.report.holder,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "signed_by": None,
        "run": {
            "name": settings.run.name,
            "experiment": settings.run.experiment,
            "seeded": result.guarantee.seeded,
        },
        "guarantee": result.guarantee.to_dict(),
        "accounted_epsilon": round_up(result.account.epsilon),
        "published": _published(result),
        "individual": _individual(result),
        "ledger": _ledger(result),
        "queries": _queries(result),
        "mechanism": json.loads(result.procedure.mechanism.describe()),
        "teachers": {
            **settings.teachers.model_dump(include={"number", "kind", "options"}),
            "number": result.procedure.plan.teachers,
        },
        "partition": {
            "kind": settings.partition.kind,
            "data_dependent": result.partition.data_dependent,
        },
        "features": settings.features.model_dump() if settings.features.kind else None,
        "data": _data(result),
        "answers": _answers(result),
        "student": _student(result),
        "evaluation": None if found is None else found.describe(result.dataset.classes),
        "experiment": _experiment(result),
        "history": [_rounded(point) for point in result.account.history],
        "configuration": _configuration(result),
        "versions": _versions(),
        "warnings": list(result.warnings),
    }


def write_card(folder: RunFolder, card: dict[str, Any], signer: Signer | None = None) -> None:
    """Write card.json, signed if the holder has a key, and card.md and report.html."""
    card = card | {"signed_by": None if signer is None else signer.fingerprint}
    text = json.dumps(card, indent=2, ensure_ascii=False, allow_nan=False)
    write_signed(folder.card, text + "\n", signer)
    write_pages(folder, card)


def write_pages(folder: RunFolder, card: dict[str, Any]) -> None:
    """Write card.md and report.html, which are derived from card.json."""
    text, page = render_markdown(card), render_html(card)  # render both before replacing either
    write_atomic(folder.card_text, text)
    write_atomic(folder.report, page)


def _ledger(result: RunResult) -> dict[str, Any]:
    account = result.account
    return {
        "id": account.anchor.ledger,
        "seq": account.anchor.seq,
        "hash": account.anchor.hash,
        "shared": result.settings.budget.ledger is not None,
        "runs": account.runs,
    }


def _queries(result: RunResult) -> dict[str, int]:
    return asdict(Counts.of(result.answers, _first(result), len(result.dataset.X_public)))


def _first(result: RunResult) -> IntArray:
    """For each public row that could be asked, the first row equal to it."""
    return first_occurrences(row_keys(result.dataset.X_public[: len(result.answers)]))


def _data(result: RunResult) -> dict[str, Any]:
    data, dataset = result.settings.data, result.dataset
    origin = data.source if data.source is not None else Path(str(data.private)).name
    return {
        "source": origin,
        "private_records": len(dataset.X_private),
        "public_rows": len(dataset.X_public),
        "features": int(dataset.X_private.shape[1]),
        "classes": list(dataset.classes),
        "classes_from": dataset.classes_from,
        "preprocessing_from": dataset.preprocessing_from,
        "test_from": dataset.test_from,
    }


def _answers(result: RunResult) -> dict[str, Any]:
    first = _first(result)
    once = first == np.arange(len(first))  # a repeated row is not another release
    file = {"file": result.folder.answers.name, "sha256": sha256_of(result.folder.answers)}
    return file | result.answers.task.counts(result.answers.labels[once])


def _student(result: RunResult) -> dict[str, Any]:
    kind, options = result.settings.learner()
    content = {
        "kind": kind,
        "options": options,
        "file": result.folder.student.name,
        "sha256": sha256_of(result.folder.student),
    }
    training = training_parts(result.student, len(result.answers))
    return content | ({"training": training} if training else {})


def _published(result: RunResult) -> dict[str, Any] | None:
    """How a sanitised ε was published, and with what probability it is too small."""
    if result.guarantee.kind is not Kind.SANITISED:
        return None
    statement = result.account.statement or {}
    sure = (
        "confidence" if "confidence" in statement else "failure"
    )  # not included in δ, or included
    return {sure: statement[sure], "order": statement["order"]}


def _individual(result: RunResult) -> dict[str, Any] | None:
    """The groups of individual budgets; their sizes are considered public."""
    procedure, account = result.procedure, result.account
    plan = procedure.plan
    if not plan.individual:
        return None
    sizes = np.bincount(procedure.numbers, minlength=len(plan.names)).tolist()
    records = dict(zip(plan.names, sizes, strict=True))
    rows = [asdict(group) for group in account.groups]
    for row in rows:
        row["epsilon"] = None if row["epsilon"] is None else round_up(row["epsilon"])
        row["charged"] = round_up(row["charged"])
    return {
        "method": plan.scheme,
        "voters": plan.voters,
        "groups": rows,
        "exempt": [{"name": name, "records": records[name]} for name in plan.exempt],
    }


def _rounded(point: dict[str, Any]) -> dict[str, Any]:
    rounded = point | {"epsilon": round_up(point["epsilon"])}
    if "groups" in point:
        rounded["groups"] = {name: round_up(spent) for name, spent in point["groups"].items()}
    return rounded


def _experiment(result: RunResult) -> dict[str, Any] | None:
    if not result.settings.run.experiment:
        return None
    return {"label_accuracy": result.label_accuracy, "ceiling": result.ceiling}


def _configuration(result: RunResult) -> dict[str, Any]:
    """The run file without the holder's folders, since a path may reveal too much."""
    content = result.settings.model_dump(mode="json", by_alias=True, exclude_none=True)
    for section, keys in (
        ("data", ("private", "public", "test", "schema", "folder")),
        ("budget", ("ledger",)),
        ("individual", ("groups",)),
        ("run", ("folder",)),
    ):
        for key in keys:
            if key in content[section]:
                content[section][key] = Path(content[section][key]).name
    return content


def _versions() -> dict[str, str]:
    packages = ("ballotine", "numpy", "scipy", "scikit-learn")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
