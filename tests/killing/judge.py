"""The judge: what must be true of a world after every kill, and when it is finished."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import numpy as np

from ballotine.errors import LedgerError
from ballotine.ledger import Ledger
from tests.killing.books import ORDERS, Book, as_answered, costs, epsilon, in_full
from tests.killing.worlds import Actor, Answer

UNDER, SECOND, DEAD = "under-report", "second answer", "dead end"
ORDINARY = {"open", "bind", "reserve", "record", "refuse", "publish", "checkpoint"}
"""Kinds of entries that killed processes leave: none of them ended in order."""
NAME = 32
"""Bytes of a query's name."""
ROUNDS, ROUND_NAME = "*/private/teachers/rounds/round-*.npy", 32
ROUNDING = 1e-9


@dataclass
class Judge:
    """Follows one ledger through all lives of those who spend from it.

    Attributes:
        faults: what was found, by kind.
        left: every answer that ever left, by query.
        rows: what an actor's rows are called as queries.
        shown: every answer that an actor's files ever showed, by row.
        rounds: what private rounds of training released, by file.
    """

    world: Path
    ledger: Path
    faults: list[tuple[str, str]] = field(default_factory=list)
    left: dict[bytes, Answer] = field(default_factory=dict)
    drawn: set[bytes] = field(default_factory=set)
    rows: dict[str, list[bytes]] = field(default_factory=dict)
    shown: dict[tuple[str, int], Answer] = field(default_factory=dict)
    rounds: dict[Path, bytes] = field(default_factory=dict)
    book: Book = field(default_factory=Book)

    def hear(self, actor: Actor, notes: Path) -> None:
        """Take in what a process noted about itself; a half-written last line was not noted."""
        text = notes.read_text() if notes.exists() else ""
        for line in text.split("\n")[:-1]:
            ((kind, content),) = json.loads(line).items()
            if kind == "drawn":
                # A published ε is no query: its noise is drawn under another name.
                names = [bytes.fromhex(name) for name in content]
                self.drawn.update(name for name in names if len(name) == NAME)
            elif kind == "asked" and len(content) == actor.pool:
                self._ask(actor, [bytes.fromhex(name) for name in content])
            elif kind == "left":
                for name, answer in content.items():
                    self._leave(bytes.fromhex(name), _plain(answer))

    def inspect(self, actors: tuple[Actor, ...]) -> None:
        """Hold everything that ever left against the ledger as it is on disk."""
        before, self.book = self.book, Book.read(self.ledger)
        for actor in actors:
            self._read_files(actor)
        self._history(before)
        self._reservations()
        self._rounds()
        for name in self.drawn - set(self.book.queries):
            self._fault(UNDER, f"noise was drawn for {name.hex()[:8]}, which is not reserved")
        for name, answer in self.left.items():
            held = self.book.queries.get(name)
            if held is None or held.answer is None:
                self._fault(UNDER, f"the answer to {name.hex()[:8]} left and is not recorded")
            elif held.answer != answer:
                self._fault(SECOND, f"{name.hex()[:8]} is recorded with another answer")
        if self.book.entries:
            self._charges(before)
        for actor in actors:
            self._statement(actor)

    def conclude(self, actor: Actor, alone: bool) -> None:
        """A finished actor has told the answers that the ledger holds.

        Args:
            actor: the one that finished.
            alone: nobody else may have answered more of its rows.
        """
        released = actor.released(self.world) or {}
        if actor.stated(self.world) is None or not released:
            self._fault(DEAD, f"{actor.start[0]} ended in order and left no answers")
        for row, name in enumerate(self.rows.get(actor.answers, [])):
            held = self.book.queries.get(name)
            recorded = None if held is None else held.answer
            if released.get(row) != recorded and (alone or row in released):
                kind = UNDER if recorded is None else SECOND
                self._fault(kind, f"row {row} left as {released.get(row)}, not {recorded}")

    def _statement(self, actor: Actor) -> None:
        """Whatever was printed is true of the ledger as it was then."""
        stated = actor.stated(self.world)
        if stated is None:
            return
        anchor, printed = stated["ledger"], stated["guarantee"]
        marks = {seq: mark for seq, _, _, mark in self.book.entries}
        if marks.get(anchor["seq"]) != anchor["hash"]:
            self._fault(UNDER, "the ledger has lost the entry that a card or receipt names")
            return
        said = {group["name"]: group["epsilon"] for group in printed["groups"]}
        for group, least in guarantees(self.book.until(anchor["seq"])).items():
            epsilon = said.get(group, printed["epsilon"])
            if epsilon < least * (1 - ROUNDING):
                self._fault(UNDER, f"ε = {epsilon} was printed for {group}, and {least} is true")

    def _charges(self, before: Book) -> None:
        """The package's own count of the cost, against what left and what was reserved."""
        book = self.book
        reserved = costs(book, book.queries, in_full)
        charged = costs(book, book.queries, as_answered)
        left = costs(book, self.left.keys() & book.queries.keys(), as_answered, published=False)
        earlier = costs(before, before.queries, in_full) if before.entries else None
        try:
            with Ledger.existing(self.ledger) as ledger:
                accounts = ledger.spending().accounts
        except LedgerError as problem:
            self._fault(DEAD, f"the ledger cannot be read: {problem}")
            return
        for group, order in product(reserved, ORDERS):
            at = np.array([order])
            meter = float(accounts[group].cost(at)[0])
            worst = float(accounts[group].worst_cost(at)[0])
            pairs = [
                ("charged, where its entries say", meter, charged[group](order)),
                ("charged, where what left costs", meter, left[group](order)),
                ("guaranteed, where its entries say", worst, reserved[group](order)),
            ]
            if earlier is not None:
                pairs.append(("reserved, after", reserved[group](order), earlier[group](order)))
            for what, number, floor in pairs:
                if number < floor * (1 - ROUNDING):
                    self._fault(UNDER, f"{number} to {group} at {order} {what} {floor}")

    def _history(self, before: Book) -> None:
        if self.book.entries[: len(before.entries)] != before.entries:
            self._fault(UNDER, "entries were lost or changed")
        for name, old in before.queries.items():
            new = self.book.queries.get(name)
            if new is None or (new.entry, new.account, new.turn) != (
                old.entry,
                old.account,
                old.turn,
            ):
                self._fault(UNDER, f"the reservation of {name.hex()[:8]} was lost or changed")
            elif old.answer is not None and new.answer != old.answer:
                self._fault(SECOND, f"the recorded answer to {name.hex()[:8]} changed")
        if odd := {kind for _, kind, *_ in self.book.entries} - ORDINARY:
            self._fault(UNDER, f"a killed process left entries of the kind {', '.join(odd)}")

    def _reservations(self) -> None:
        """Entries, which are charged, speak of as many queries as there are."""
        book = self.book
        if book.twice:
            self._fault(SECOND, f"{len(book.twice)} queries are reserved twice")
        told = {seq: payload["queries"] for seq, payload in book.payloads("reserve").items()}
        if told != dict(Counter(query.entry for query in book.queries.values())):
            self._fault(UNDER, "entries reserve another number of queries than there are")
        answered = sum(query.answer is not None for query in book.queries.values())
        if book.promised()["record"] != answered:
            self._fault(UNDER, "entries record another number of answers than there are")

    def _rounds(self) -> None:
        """The noised mean of a round is paid for and drawn once: teachers have seen it."""
        reserved = {name.hex()[:ROUND_NAME] for name in self.book.queries}
        for path in self.world.glob(ROUNDS):
            content = path.read_bytes()
            if self.rounds.setdefault(path, content) != content:
                self._fault(SECOND, f"{path.name} was drawn twice")
            if path.stem.removeprefix("round-") not in reserved:
                self._fault(UNDER, f"{path.name} is not reserved")
        if lost := [path.name for path in self.rounds if not path.exists()]:
            self._fault(UNDER, f"{lost[0]} was lost")

    def _read_files(self, actor: Actor) -> None:
        names = self.rows.get(actor.answers)
        for row, answer in (actor.released(self.world) or {}).items():
            known = self.shown.setdefault((actor.answers, row), answer)
            if known != answer:
                self._fault(SECOND, f"row {row} was shown as {known} and as {answer}")
            if names is not None:
                self._leave(names[row], answer)

    def _ask(self, actor: Actor, names: list[bytes]) -> None:
        """The same rows are the same queries in every life, once one of them was paid for."""
        known = self.rows.get(actor.answers)
        if known not in (None, names) and any(name in self.book.queries for name in known or ()):
            self._fault(SECOND, "a later life asks the same rows as other queries")
        self.rows[actor.answers] = names

    def _leave(self, name: bytes, answer: Answer) -> None:
        if self.left.setdefault(name, answer) != answer:
            self._fault(SECOND, f"{name.hex()[:8]} left with two answers")

    def _fault(self, kind: str, text: str) -> None:
        if (kind, text) not in self.faults:
            self.faults.append((kind, text))


def guarantees(book: Book) -> dict[str, float]:
    """The least ε that may be printed for each group."""
    least, delta = {}, _delta(book)
    worst = costs(book, book.queries, in_full)
    charged = costs(book, book.queries, as_answered)
    for group, budget in book.terms["budgets"].items():
        ceiling = max(budget["epsilon"], epsilon(charged[group], delta))
        everything = epsilon(worst[group], delta)
        if book.published is not None:
            least[group] = min(book.published["epsilon"], everything)
        else:  # once it has refused, the filter has chosen how many: its ceiling is what holds
            least[group] = ceiling if book.refused else min(ceiling, everything)
    return least


def _delta(book: Book) -> float:
    (delta,) = {budget["delta"] for budget in book.terms["budgets"].values()}
    return float(delta)


def _plain(answer: int | list[int]) -> Answer:
    return tuple(answer) if isinstance(answer, list) else answer
