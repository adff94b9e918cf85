"""Inputs about runs that may pay: modes, groups, several labels, odd numbers, and going on."""

from __future__ import annotations

import tomllib
from random import Random
from typing import Any

from tests.fuzz import real
from tests.fuzz.commands import LEDGER, Case
from tests.fuzz.damage import NUMBERS, damaged, edited, text, toml, value

KINDS = ("strict", "confident", "lnmax", "paper", "fixed", "groups", "labels", "clipped")
LABELS = ["a", "b", "c"]


def spend(draw: Random) -> Case:
    """A run in one of all ways to pay, with something odd that it may notice late."""
    if draw.random() < 0.3:
        return _resumed(draw)
    files, content = dict(real.tables()), real.settings()
    content["student"] = {"kind": "logistic-regression"}
    _settle(draw.choice(KINDS), content, files)
    how = draw.random()
    if how < 0.5:
        _odd_number(content, draw)
    elif how < 0.75:
        content = edited(content, draw)
    else:
        names = [name for name in ("private.csv", "public.csv", "groups.csv") if name in files]
        name = draw.choice(names)
        files[name] = damaged(files[name], draw) if draw.random() < 0.8 else text(draw)
    files["run.toml"] = toml(content)
    return Case("spend", ("run", "run.toml", "--quiet"), files, keeps=(LEDGER,))


def _settle(kind: str, content: dict[str, Any], files: dict[str, bytes]) -> None:
    voting, budget = content["voting"], content["budget"]
    if kind == "confident":
        voting |= {"mechanism": "confident-gnmax", "threshold": 1.0, "sigma_threshold": 20.0}
    elif kind == "lnmax":
        voting |= {"mechanism": "lnmax", "gamma": 0.05}
        voting.pop("sigma")
    elif kind == "paper":
        budget["mode"] = "paper"
    elif kind == "fixed":
        budget["mode"] = "fixed"
        budget.pop("epsilon")
    elif kind == "groups":
        budget.pop("epsilon")
        budget["groups"] = {"old": 4.0, "young": 6.0}
        content["individual"] = {"method": "weighting", "groups": "groups.csv"}
        names = "".join("old\n" if place % 3 else "young\n" for place in range(40))
        files["groups.csv"] = f"group\n{names}".encode()
    elif kind in ("labels", "clipped"):
        files |= real.labelled()
        for key in ("target", "classes"):
            content["data"].pop(key)
        content["data"]["targets"] = LABELS
        voting |= {"mechanism": "binary"}
        if kind == "clipped":
            voting |= {"mechanism": "clipped", "tau": 1.5}


def _odd_number(content: dict[str, Any], draw: Random) -> None:
    """Numbers that are read without complaint, and perhaps make no sense."""
    sections = [content["voting"], content["budget"], content["teachers"]]
    sections += [content["budget"]["groups"]] if "groups" in content["budget"] else []
    for _ in range(draw.randint(1, 2)):
        section = draw.choice(sections)
        keys = [key for key, held in section.items() if isinstance(held, int | float)]
        if keys:
            section[draw.choice(keys)] = _number(draw)


def _number(draw: Random) -> Any:
    typed = draw.choice(NUMBERS)
    try:
        number = float(typed)
    except ValueError:
        return value(draw)
    return int(number) if number.is_integer() and abs(number) < 2**62 else number


def _resumed(draw: Random) -> Case:
    """A run that was interrupted, before or after it paid, and something is wrong since."""
    files = dict(real.finished())
    for name in ("out/report.html", "out/card.md", "out/student.skops"):
        files.pop(name)
    if draw.random() < 0.6:  # nothing was answered yet
        for name in (LEDGER, "out/card.json", "out/answers.parquet"):
            files.pop(name)
    for _ in range(draw.randint(1, 2)):
        name = draw.choice(sorted(files))
        if draw.random() < 0.2:
            del files[name]
        elif name.endswith("run.toml") and draw.random() < 0.5:
            files[name] = toml(edited(tomllib.loads(files[name].decode()), draw))
        else:
            files[name] = damaged(files[name], draw)
    return Case("spend", ("run", "--resume", "out", "--quiet"), files, keeps=(LEDGER, "out"))
