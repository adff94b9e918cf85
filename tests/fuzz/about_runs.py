"""Inputs about runs: run files, tables, schemas, cards, ledgers, and commands that read little."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from tests.fuzz import real
from tests.fuzz.commands import LEDGER, Case
from tests.fuzz.damage import (
    MARK,
    NUMBERS,
    WORDS,
    array,
    damaged,
    edited,
    forged,
    npy,
    npz,
    text,
    toml,
    value,
)


def report(draw: Random) -> Case:
    kind = draw.random()
    whole = real.finished()["out/card.json"]
    if kind < 0.3:
        content = damaged(whole, draw)
    elif kind < 0.4:
        content = text(draw)
    elif kind < 0.45:
        content = json.dumps(value(draw)).encode()
    else:
        content = json.dumps(edited(json.loads(whole), draw)).encode()
    where = draw.choice(("out",) * 9 + (*WORDS[:4], "out/card.json", "n" * 300))
    kept = ("out/card.md", "out/report.html")
    return Case("report", ("report", where), {"out/card.json": content}, keeps=kept)


def ledger(draw: Random) -> Case:
    files = {LEDGER: real.finished()[LEDGER], "card.json": real.finished()["out/card.json"]}
    command = draw.choice(("show", "verify", "verify", "export"))
    kind = draw.random()
    if kind < 0.5:
        files[LEDGER] = damaged(files[LEDGER], draw)
    elif kind < 0.6:
        files[LEDGER] = text(draw)
    elif kind < 0.8:
        files["card.json"] = json.dumps(edited(json.loads(files["card.json"]), draw)).encode()
    else:
        odd = text(draw)
        files["card.json"] = draw.choice((odd, damaged(files["card.json"], draw)))
    other = (".", "x", "", "n" * 300, "card.json")
    typed = ["ledger", command, draw.choice((LEDGER,) * 8 + other)]
    if command == "verify" and draw.random() < 0.7:
        typed += ["--card", draw.choice(("card.json",) * 6 + ("x", ".", "n" * 300))]
    if command == "export" and draw.random() < 0.5:
        typed += ["--out", draw.choice(("e.jsonl", "no/e", ".", "", "n" * 300))]
    return Case("ledger", tuple(typed), files, keeps=(LEDGER,))


def run(draw: Random) -> Case:
    files = dict(real.tables())
    content = real.settings()
    kind = draw.random()
    if kind < 0.15:
        files["run.toml"] = damaged(files["run.toml"], draw)
    elif kind < 0.2:
        files["run.toml"] = text(draw)
    elif kind < 0.55:
        files["run.toml"] = toml(edited(content, draw))
    else:
        files = _spoilt_data(files, content, draw)
    typed = ["run", "run.toml", "--quiet"]
    if draw.random() < 0.1:
        typed = ["run", *draw.choice((["n" * 300], ["--resume", "x"], ["--folder", "no/such/out"]))]
        typed += ["run.toml", "--quiet"] if typed[1].startswith("--f") else []
    return Case("run", tuple(typed), files, keeps=(LEDGER,))


def _spoilt_data(
    files: dict[str, bytes], content: dict[str, Any], draw: Random
) -> dict[str, bytes]:
    which = draw.choice(("private", "private", "public", "schema", "groups"))
    if which == "schema":
        content["data"].pop("target")
        content["data"].pop("classes")
        content["data"]["schema"] = "schema.toml"
        files["schema.toml"] = draw.choice((text(draw), damaged(files["schema.toml"], draw)))
    elif which == "groups":
        content["budget"].pop("epsilon")
        content["budget"]["groups"] = {"old": 1.0, "young": 2.0}
        content["individual"] = {"method": "weighting", "groups": "groups.csv"}
        names = "".join(draw.choice(("old\n", "young\n")) for _ in range(40))
        good = f"group\n{names}".encode()
        files["groups.csv"] = draw.choice((text(draw), damaged(good, draw), good))
    else:
        good = files[f"{which}.csv"]
        if which == "private":  # what is public may be shown
            good = good.replace(b"north", MARK.encode(), 3)
        suffix, files[which] = _table(good, draw)
        content["data"][which] = f"{which}{suffix}"
        files[f"{which}{suffix}"] = files.pop(which)
    return files | {"run.toml": toml(content)}


def _table(marked: bytes, draw: Random) -> tuple[str, bytes]:
    kind = draw.random()
    if kind < 0.3:
        return ".csv", damaged(marked, draw)
    if kind < 0.4:
        return ".csv", text(draw)
    if kind < 0.55:
        return ".parquet", damaged(real.csv_as_parquet(marked), draw)
    if kind < 0.65:
        return ".npy", draw.choice((forged(draw), npy(array(draw))))
    if kind < 0.9:
        names = draw.choice((("X", "y"), ("X",), ("age", "label"), ("X", MARK), ("label",)))
        whole = npz({name: array(draw) for name in names}, packed=draw.random() < 0.5)
        return ".npz", damaged(whole, draw) if draw.random() < 0.3 else whole
    return draw.choice((".txt", "", ".csv.gz", ".PARQUET")), marked


def small(draw: Random) -> Case:
    """Commands that read little."""
    number, word = draw.choice(NUMBERS), draw.choice(WORDS)
    choices: tuple[list[str], ...] = (
        ["init", word],
        ["init", "--example", "no/such/run.toml"],
        ["init", "n" * 300],
        ["verify", "--list", "-m", word],
        ["verify", "--list", "--seed", number],
        ["paper", word],
        ["paper", "individualized", word],
        ["paper", "individualized", "table7", "--seeds", draw.choice(("0", "-1", "nan", "", "x"))],
        ["paper", word, "x", "--jobs", number],
        ["data", "list", "--folder", word],
        ["data", "list", "--json", "--folder", "n" * 300],
        ["data", "get", word],
        ["data", "get", "digits", "--out", draw.choice((*WORDS[:8], "d.txt", "no/d.npz"))],
        ["data", "shares", word],
        ["data", "shares", "out"],
        [word],
        ["ledger", word],
        ["run", "--seed", number, "--folder", "x", "--resume", "y"],
        ["--version", word],
    )
    typed = draw.choice(choices)
    files = {"out/run.toml": damaged(real.RUNFILE.encode(), draw), "out/private/secret": b"x" * 32}
    return Case("small", tuple(typed), files if "out" in typed else {}, keeps=("x", "out/private"))
