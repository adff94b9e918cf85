"""Inputs about votes: spoilt files, odd options, files of groups."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from tests.fuzz import real
from tests.fuzz.commands import LEDGER, Case
from tests.fuzz.damage import MARK, NUMBERS, WORDS, array, damaged, forged, npy, npz, text

OPTIONS = ("--sigma", "--gamma", "--threshold", "--sigma-threshold", "--tau")
MECHANISMS = ("gnmax", "confident-gnmax", "lnmax", "binary", "clipped", "powerset", "x", "")


def votes(draw: Random, labels: bool = False) -> tuple[str, bytes]:
    """The name and content of a spoilt file of votes."""
    suffix = draw.choice((".npy", ".npz", ".parquet"))
    good = (real.LABELS if labels else real.VOTES).astype(draw.choice(("i8", "u8", "u1", "f8")))
    made = {".npy": npy, ".npz": lambda v: npz({"votes": v}), ".parquet": real.parquet}
    kind = draw.random()
    if kind < 0.3:
        content = damaged(made[suffix](good), draw)
    elif kind < 0.45:
        content = made[suffix](_one_odd_cell(good, draw))
    elif kind < 0.6:
        suffix, content = ".npy", npy(array(draw))
    elif kind < 0.75:
        suffix = ".npz"
        names = draw.choice((("votes",), ("a",), ("votes", "counts"), ("ballots", MARK), ("y",)))
        content = npz({name: array(draw) for name in names}, packed=draw.random() < 0.5)
    elif kind < 0.92:
        suffix, content = ".npy", forged(draw)
    else:
        content = text(draw)
    return draw.choice(("votes", "votes", "v" * 240, "ü votes")) + suffix, content


def _one_odd_cell(good: Any, draw: Random) -> Any:
    """Votes that are right but for one."""
    changed = good.copy()
    limits = (-1.0, 0.5, 1e300) if good.dtype.kind == "f" else (np.iinfo(good.dtype).max, 3, 9)
    changed.flat[draw.randrange(changed.size)] = draw.choice(limits)
    return changed


def mechanism(draw: Random, *, odd: bool) -> tuple[list[str], bool]:
    """A mechanism with parameters, and whether it votes on labels."""
    good = (
        ["-m", "gnmax", "--sigma", "40"],
        ["-m", "gnmax", "--sigma", "40"],
        ["-m", "confident-gnmax", "--sigma", "9", "--threshold", "5", "--sigma-threshold", "9"],
        ["-m", "lnmax", "--gamma", "0.01"],
        ["-m", "binary", "--sigma", "20"],
        ["-m", "clipped", "--sigma", "20", "--tau", "1.5"],
        ["-m", "powerset", "--sigma", "20", "--tau", "2"],
    )
    chosen = draw.choice(good)
    labels = chosen[1] in ("binary", "clipped", "powerset")
    if odd and draw.random() < 0.6:
        chosen = [*chosen, draw.choice(OPTIONS), draw.choice(NUMBERS)]
    if odd and draw.random() < 0.2:
        chosen = [*chosen, draw.choice(("--norm", "--variant")), draw.choice(WORDS)]
    if odd and draw.random() < 0.05:
        chosen = ["-m", draw.choice(MECHANISMS)]
    return chosen, labels


def about_votes(draw: Random, *, odd: bool) -> list[str]:
    """Options that `vote` and `account` share."""
    found = ["--classes", "3"] if draw.random() < 0.7 else []
    if not odd:
        return found
    options = ("--classes", "--queries", "--labels", "--label-threshold", "--delta", "--seed")
    if draw.random() < 0.6:
        found += [draw.choice(options), draw.choice((*NUMBERS, "9" * 9))]
    if draw.random() < 0.15:
        found.append("--tallies")
    if draw.random() < 0.2:
        found += ["--bounds", draw.choice(("exact", "tight", "published", *WORDS))]
    if draw.random() < 0.1:
        found += ["--conversion", draw.choice(("improved", "classic", *WORDS))]
    return found


def groups(draw: Random, *, odd: bool) -> tuple[list[str], dict[str, bytes]]:
    """A file of groups and their budgets, sometimes."""
    content = real.GROUPS.encode()
    kind = draw.random() if odd else 1.0
    if kind < 0.4:
        content = damaged(content, draw)
    elif kind < 0.6:
        content = text(draw)
    elif kind < 0.8:
        lines = (f"{i},g{i % 2},{draw.choice(NUMBERS)}\n" for i in range(9))
        content = ("teacher,group,weight\n" + "".join(lines)).encode()
    elif kind < 0.9:
        content = f"group,copies\nold,{draw.choice(NUMBERS)}\nyoung,1\n".encode()
    budgets = draw.choice(("old=1,young=2", "1,2"))
    if odd and draw.random() < 0.4:
        typos = ("old=1", "g0=1,g1=2", "1,nan", "old=inf,young=none")
        budgets = draw.choice((*typos, *NUMBERS, *WORDS))
    options = ["--weights", "groups.csv", "--group-budgets", budgets]
    if odd and draw.random() < 0.3:
        options += ["--individual", draw.choice(("vanishing", *WORDS))]
    return options, {"groups.csv": content}


def _about(draw: Random) -> tuple[str, list[str], dict[str, bytes], bool]:
    """What `vote` and `account` are told: one part of it spoilt, sometimes more."""
    spoilt = draw.choice(("votes", "votes", "options", "groups", "everything"))
    odd = spoilt in ("options", "everything")
    typed, labels = mechanism(draw, odd=odd)
    name, content = votes(draw, labels)
    if spoilt in ("options", "groups"):
        name, content = "votes.npy", npy(real.LABELS if labels else real.VOTES)
    files = {name: content}
    grouped = spoilt == "groups" or draw.random() < 0.1
    if grouped:
        options, more = groups(draw, odd=spoilt in ("groups", "everything"))
        typed, files = [*typed, *options], files | more
    return name, [name, "--delta", "1e-5", *typed, *about_votes(draw, odd=odd)], files, grouped


def account(draw: Random) -> Case:
    _, typed, files, _ = _about(draw)
    if draw.random() < 0.05:
        typed += ["--curve", draw.choice(("c.csv", "no/c.csv", "n" * 300, ".", ""))]
    return Case("account", ("account", *typed), files)


def vote(draw: Random) -> Case:
    name, typed, files, grouped = _about(draw)
    mode = draw.choice(("strict",) * 7 + ("paper", "fixed", draw.choice(WORDS)))
    typed += ["--mode", mode]
    if mode == "fixed":
        typed += ["--queries", "5"]
    elif not grouped:
        typed += ["--epsilon", "2" if draw.random() < 0.8 else draw.choice(NUMBERS)]
    typed += ["--ledger", draw.choice((LEDGER,) * 12 + ("no/book.sqlite", "n" * 300, name))]
    if draw.random() < 0.1:
        typed += ["--out", draw.choice(("a.npz", "a.txt", "no/a.npz", "", ".npz", "n" * 300))]
    if draw.random() < 0.05:
        files[LEDGER] = damaged(real.finished()[LEDGER], draw)
    return Case("vote", ("vote", *typed), files, keeps=(LEDGER,))


def plan(draw: Random) -> Case:
    files: dict[str, bytes] = {}
    typed = ["plan"]
    for option, usual in (("--queries", "40"), ("--epsilon", "3"), ("--delta", "1e-5")):
        if draw.random() < 0.97:
            typed += [option, usual if draw.random() < 0.7 else draw.choice(NUMBERS)]
    options = ("--teachers", "--classes", "--answered", "--threshold", "--sigma-threshold")
    for option in (*options, "--teacher-accuracy", "--plurality-accuracy"):
        if draw.random() < 0.2:
            typed += [option, draw.choice(NUMBERS)]
    if draw.random() < 0.5:
        typed += ["-m", draw.choice(MECHANISMS[:3])]
    if draw.random() < 0.2:
        typed += ["--mode", draw.choice(WORDS)]
    if draw.random() < 0.4:
        name, content = votes(draw)
        files[name] = content
        typed += ["--public-votes", name]
    return Case("plan", tuple(typed), files)


def audit(draw: Random) -> Case:
    usual = ["audit", "--trials", "40", "--teachers", "3", "--queries", "2", "--seed", "1"]
    typed = [*usual, *mechanism(draw, odd=draw.random() < 0.5)[0]]
    if draw.random() < 0.6:
        options = ("--confidence", "--trials", "--teachers", "--classes", "--queries", "--delta")
        typed += [draw.choice(options), draw.choice(NUMBERS)]
    return Case("audit", tuple(typed))
