"""One ledger, killed again and again, until those who spend from it are done."""

from __future__ import annotations

import random
import shutil
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from tests.killing.judge import DEAD, Judge
from tests.killing.lives import Cut, Life, begin, finish
from tests.killing.worlds import LEDGER, Actor, Scenario

WHOLE = Cut(whole=True)
BIRTH = 30
"""Moments in which a folder, a ledger and a partition come into being."""


@dataclass(frozen=True)
class Usual:
    """An undisturbed life: how long it takes, and how many moments and commits it has."""

    seconds: float
    moments: int
    commits: int


@dataclass
class Outcome:
    """How an ordeal went.

    Attributes:
        cuts: kills, by how they were aimed.
        faults: what the judge found.
        answers: how many answers the ledger holds in the end.
    """

    scenario: str
    cuts: Counter[str] = field(default_factory=Counter)
    faults: list[tuple[str, str]] = field(default_factory=list)
    answers: int = 0

    @property
    def kills(self) -> int:
        return sum(self.cuts.values())


class Ordeal:
    """A world, and what happens in it."""

    def __init__(self, scenario: Scenario, place: Path) -> None:
        self.scenario = scenario
        self.place = place
        self.world = place / "world"
        self.world.mkdir(parents=True)
        scenario.furnish(self.world)
        self.ledger = self.world / LEDGER
        self.judge = Judge(self.world, self.ledger)
        self.outcome = Outcome(scenario.name)
        self._lives = 0

    def usual(self) -> Usual:
        """Live once, undisturbed."""
        started = monotonic()
        moments = commits = 1
        for actor in self.scenario.actors:
            life = finish(self._begin(actor.start, WHOLE))
            if life.code != 0:
                raise RuntimeError(f"{self.scenario.name} does not work: {life.output()}")
            last = (life.place / "notes").read_text().rstrip().rpartition("\n")[2]
            moments, commits = (int(n) for n in last.strip("{}]").partition("[")[2].split(","))
        return Usual((monotonic() - started) / len(self.scenario.actors), moments, commits)

    def endure(self, draw: random.Random, usual: Usual, kills: int) -> Outcome:
        """Kill up to so many lives, then let everybody finish.

        Args:
            draw: chooses how and when.
            usual: what an undisturbed life is like.
            kills: after so many, nobody is killed any more.
        """
        waiting = list(self.scenario.actors)
        while waiting and not self.outcome.faults:
            spared = self.outcome.kills >= kills
            cuts = [
                WHOLE if spared else choose(draw, usual, not self.outcome.kills) for _ in waiting
            ]
            waiting = self._turn(waiting, cuts)
        if not self.outcome.faults:
            self._again()
        book = self.judge.book
        self.outcome.answers = sum(q.answer is not None for q in book.queries.values())
        return self.outcome

    def _turn(self, actors: list[Actor], cuts: list[Cut]) -> list[Actor]:
        """Let them live at the same time; returns those who are not done."""
        pairs = [
            (actor, self._begin(self._command(actor), cut))
            for actor, cut in zip(actors, cuts, strict=True)
        ]
        for _, life in sorted(pairs, key=lambda pair: (pair[1].cut.whole, pair[1].cut.delay)):
            finish(life)
        for actor, life in pairs:
            self.judge.hear(actor, life.place / "notes")
            if life.killed and not life.hung:
                self.outcome.cuts[_aim(life.cut)] += 1
        self._inspect()
        done = [actor for actor, life in pairs if self._is_done(actor, life)]
        for actor in done:
            self.judge.conclude(actor, alone=len(self.scenario.actors) == 1)
        self.outcome.faults = list(self.judge.faults)
        return [actor for actor in actors if actor not in done]

    def _is_done(self, actor: Actor, life: Life) -> bool:
        if life.hung:
            self._fault(f"does not end: {life.output()}")
            return False
        if life.killed:
            return False
        if life.code == 0:
            return self._verify("--card", actor.statement)
        # A folder in which there is nothing yet may refuse to be resumed, if a new start works.
        if actor.resume is not None and (self.world / str(actor.folder)).exists():
            anew = finish(self._begin(actor.start, WHOLE))
            self.judge.hear(actor, anew.place / "notes")
            self._inspect()
            if anew.code == 0:
                return True
            self._fault(f"{life.output().strip()} | {anew.output().strip()}")
        else:
            self._fault(f"exit code {life.code}: {life.output().strip()[-300:]}")
        return False

    def _again(self) -> None:
        """Asking for what is answered changes neither the answers nor the ledger."""
        before = len(self.judge.book.entries)
        for actor in self.scenario.actors:
            life = finish(self._begin(actor.resume or actor.start, WHOLE))
            self.judge.hear(actor, life.place / "notes")
            if life.code != 0:
                self._fault(f"once done, not again: {life.output().strip()[-300:]}")
        self._inspect()
        if len(self.scenario.actors) == 1 and len(self.judge.book.entries) != before:
            self.judge.faults.append(("second answer", "asking again added to the ledger"))
        self.outcome.faults = list(self.judge.faults)

    def _inspect(self) -> None:
        self.judge.inspect(self.scenario.actors)
        if self.judge.book.entries:
            self._verify()

    def _verify(self, *options: str) -> bool:
        life = finish(self._begin(("ledger", "verify", LEDGER, *options), WHOLE))
        if life.code != 0:
            self._fault(f"ledger verify: {life.output().strip()}")
        return life.code == 0

    def _command(self, actor: Actor) -> tuple[str, ...]:
        left = actor.folder is not None and (self.world / actor.folder).exists()
        return actor.resume if left and actor.resume is not None else actor.start

    def _begin(self, command: tuple[str, ...], cut: Cut) -> Life:
        self._lives += 1
        sys.stdout.flush()
        return begin(command, self.world, self.place / f"life-{self._lives}", self.ledger, cut)

    def _fault(self, text: str) -> None:
        self.judge.faults.append((DEAD, text))

    def clear(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.place)


def choose(draw: random.Random, usual: Usual, first: bool) -> Cut:
    """When and how the next life ends.

    The first life of a ledger ends anywhere in it, or soon after its birth, when folder and
    ledger come into being. Later ones have less left to do and mostly end early, so that a
    ledger gets on from kill to kill.
    """
    aim = draw.choices(("time", "moment", "commit", "started"), (4, 5, 5, 1))[0]
    part = 1.0 if first or draw.random() < 0.25 else 0.4
    if aim == "time":
        return Cut(delay=draw.uniform(0.0, part * usual.seconds))
    if aim == "moment":
        last = BIRTH if first and draw.random() < 0.5 else max(1, round(part * usual.moments))
        return Cut(moment=draw.randint(1, last))
    if aim == "commit":
        # A commit waits for the disk: a few milliseconds, in which some kills are to fall.
        delay = draw.choice((0.0, draw.uniform(0.0, 0.003), draw.uniform(0.0, 0.02)))
        return Cut(commit=draw.randint(1, min(4, usual.commits)), delay=delay)
    return Cut(commit=draw.randint(1, 3), delay=draw.uniform(0.0, 0.01), started=True)


def _aim(cut: Cut) -> str:
    if cut.started:
        return "started"
    return "moment" if cut.moment else "commit" if cut.commit else "time"
