"""A data set, its ledgers, and everything that is done with them in one sequence."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from ballotine import Kind, PateClassifier
from ballotine.data.ballots import open_votes
from ballotine.errors import BallotineError
from ballotine.ledger import Ledger, Mode
from ballotine.noise import SecureNoise
from ballotine.voting import Plan, Rules
from ballotine.voting.individual.saved import plan_saved
from ballotine.voting.saved import SavedVotes, vote
from tests.truth.accountant import Query, Record
from tests.truth.adapter import InjectedError, Watch
from tests.truth.cast import (
    DELTA,
    FEW,
    FIXED,
    GROUPS,
    LABELS,
    RECORDS,
    ROWS,
    SEVERAL,
    Settings,
    mechanism_of,
    parameters_of,
)

REFUSALS: tuple[type[Exception], ...] = (BallotineError, NotFittedError, ValueError)
"""What may be said instead of an answer. Anything else is a defect of its own."""
NO_COPY = (*REFUSALS, TypeError, pickle.PicklingError)


class FalseClaimError(AssertionError):
    """A printed ε that is below what some record paid."""


@dataclass(eq=False)
class Scope:
    """Everything that one ledger must count: a file, or an object's own.

    Attributes:
        path: the file; None for an object's own.
        records: what was released about each record.
        groups: the group of each record, as it was told last.
        marks: what happened here, for telling falsehoods apart.
        lost: queries that were drawn for and never kept, with who held which record then.
        paper: whether private votes have decided when to stop.
    """

    path: Path | None
    records: list[Record] = field(default_factory=lambda: [Record() for _ in range(RECORDS)])
    groups: list[str] = field(default_factory=list)
    marks: set[str] = field(default_factory=set)
    lost: dict[bytes, tuple[Query, Sequence[Sequence[int]]]] = field(default_factory=dict)
    paper: bool = False

    def add(self, watch: Watch, teachers: Sequence[Sequence[int]], mode: str) -> None:
        """Count what was handed out; ``teachers`` are those of each record.

        What was drawn for and then lost counts too, because a killed process may have shown it;
        but once, for whoever asks again draws under the same reservation.
        """
        released = watch.released()
        self.paper |= mode == "paper" and bool(released)
        for name, query in released.items():
            if name in self.lost:
                self._count(*self.lost.pop(name), -1)
            self._count(query, teachers)
        for name, query in watch.lost().items():
            if name not in self.lost:
                self.lost[name] = (query, teachers)
                self._count(query, teachers)

    def _count(self, query: Query, teachers: Sequence[Sequence[int]], times: int = 1) -> None:
        for record, held in zip(self.records, teachers, strict=True):
            record.add(query, list(held), times)


@dataclass(eq=False)
class Thing:
    """An estimator with what the harness knows about it."""

    model: Any
    settings: Settings
    scope: Scope
    holders: list[list[int]] | None = None


class World:
    """One data set with a fixed number of classes."""

    def __init__(self, rng: np.random.Generator, folder: Path, watch: Watch, classes: int) -> None:
        self.rng, self.folder, self.watch, self.classes = rng, folder, watch, classes
        self.X = rng.normal(size=(RECORDS, 2))
        self.y = np.arange(RECORDS) % classes
        self.labels = rng.integers(0, 2, (RECORDS, LABELS))
        self.public = np.abs(rng.normal(size=(12, 2))) + np.arange(12)[:, None]
        self.groups = np.array(["low", "high"] * (RECORDS // 2))
        self.order = np.arange(RECORDS)
        self.things: list[Thing] = []
        self.files: dict[int, tuple[Path, list[list[int]], list[str]]] = {}
        self.log: list[str] = []

    # -- what may be done ------------------------------------------------------------------

    def make(self, settings: Settings, scope: Scope) -> Thing:
        """A new object: a new process, where there is a file."""
        model = PateClassifier(**parameters_of(settings, self.classes, scope.path))
        thing = Thing(model, settings, scope)
        self.things.append(thing)
        return thing

    def fit(self, thing: Thing, settings: Settings) -> None:
        """Fit, or fit again, perhaps with other settings or groups."""
        several = settings.mechanism in SEVERAL
        groups, order = self.groups if settings.scheme else None, self.order
        parameters = parameters_of(settings, self.classes, thing.scope.path)

        def work() -> None:
            thing.model.set_params(**parameters)
            target = self.labels if several else self.y
            told = None if groups is None else groups[order]
            thing.model.fit(self.X[order], target[order], told)

        if not self._tried(f"fit {self._name(thing)} {settings} groups={self._told(groups)}", work):
            if thing.scope.groups:
                self.groups = np.array(thing.scope.groups)  # refused: nobody changed
            return
        if thing.holders is not None:
            thing.scope.marks.add("refit")
        thing.settings = settings
        held: list[list[int]] = [[] for _ in range(RECORDS)]
        for teacher, share in enumerate(thing.model.partition_.shares):
            for record in share.tolist():
                held[int(order[record])].append(teacher)
        thing.holders = held
        if settings.scheme:
            self._regroup(thing.scope, [str(group) for group in self.groups])
            thing.scope.marks.add(settings.scheme)
        self.check(thing)

    def label(self, thing: Thing, rows: list[int]) -> None:
        """Ask for some public rows."""
        if thing.holders is None:
            return
        what, asked = f"label {self._name(thing)} {rows}", self.public[rows]
        self._tried(what, lambda: thing.model.label(asked))
        thing.scope.add(self.watch, thing.holders, thing.settings.mode)
        self.check(thing)

    def vote(self, scope: Scope, settings: Settings, number: int) -> None:
        """Answer a file of saved votes; a new number is a new file, and so a new ensemble."""
        assert scope.path is not None
        if number not in self.files:
            self.files[number] = self._written(number, settings, scope)
        path, held, slots = self.files[number]
        mechanism = mechanism_of(settings)

        def work() -> Any:
            told = "".join(f"{place},{group}\n" for place, group in enumerate(slots)).encode()
            votes = SavedVotes.of(open_votes(path), mechanism, self.classes, ballots=True)
            rules = self._rules(settings, mechanism, slots, votes.number)
            return vote(votes, rules, scope.path, SecureNoise(), groups=told)

        outcome: list[Any] = []
        self._tried(f"vote file {number} {settings}", lambda: outcome.append(work()))
        scope.add(self.watch, held, settings.mode)
        if outcome:
            if settings.scheme:
                told = ["" for _ in range(RECORDS)]
                for record, teachers in enumerate(held):
                    told[record] = slots[teachers[0]]
                self._regroup(scope, told)
                scope.marks |= {settings.scheme, "votes"}
            self._compare(scope, outcome[0][1])

    def pickle(self, thing: Thing) -> None:
        """Go on with a copy, as another process would."""

        def work() -> None:
            thing.model = pickle.loads(pickle.dumps(thing.model))

        if self._tried(f"pickle {self._name(thing)}", work, NO_COPY):
            self.check(thing)

    def fork(self, thing: Thing, rows: list[int]) -> None:
        """A copy is asked, and the original is the one that is looked at."""

        def work() -> None:
            pickle.loads(pickle.dumps(thing.model)).label(self.public[rows])

        if thing.holders is None:
            return
        self._tried(f"fork {self._name(thing)} {rows}", work, NO_COPY)
        thing.scope.add(self.watch, thing.holders, thing.settings.mode)
        self.check(thing)

    def clone(self, thing: Thing) -> None:
        """A copy with the same parameters, which answers for the same records."""

        def work() -> None:
            self.things.append(Thing(clone(thing.model), thing.settings, thing.scope))

        self._tried(f"clone {self._name(thing)}", work, NO_COPY)

    def void(self, thing: Thing) -> None:
        """The holder gives up what no noise was drawn for."""

        def work() -> None:
            if thing.scope.path is None:
                thing.model.ledger_.void("the harness")
                return
            with Ledger.existing(thing.scope.path, write=True) as ledger:
                ledger.void("the harness")

        if thing.holders is not None and self._tried(f"void {self._name(thing)}", work):
            self.check(thing)

    def interrupted(
        self, work: Callable[[], None], stage: str, after: int, error: type[BaseException]
    ) -> None:
        """Do something that is interrupted in the middle, if it gets there."""
        self.log.append(f"  (interrupted at {stage}, after {after}, by {error.__name__})")
        self.watch.trap(stage, after, error)
        try:
            work()
        finally:
            self.watch.disarm()

    # -- what must hold --------------------------------------------------------------------

    def check(self, thing: Thing) -> None:
        """The printed ε of an object, against every record."""
        if thing.holders is None:
            return
        found: list[Any] = []
        look = f"look at {self._name(thing)}"
        if self._tried(look, lambda: found.append(thing.model.guarantee_)):
            self._compare(thing.scope, found[0])

    def _compare(self, scope: Scope, guarantee: Any) -> None:
        if guarantee.kind is Kind.NOT_RELEASABLE:
            self.log[-1] += " (not releasable)"
            return
        if scope.paper:
            raise FalseClaimError(
                "[paper] private votes decided when to stop, and an ε is printed\n"
                + "\n".join(self.log)
            )
        self.log[-1] += f" → ε = {guarantee.epsilon:.4f} ({guarantee.kind.value})"
        of_votes = guarantee.kind is Kind.SANITISED
        printed = {group.name: group.epsilon for group in guarantee.groups}
        for place, record in enumerate(scope.records):
            true = (record.epsilon_of_votes if of_votes else record.epsilon)(DELTA)
            group = scope.groups[place] if printed and scope.groups else None
            said = guarantee.epsilon if group is None else printed[group]
            if true > said:
                whose = "" if group is None else f" of group {group}"
                marks = (
                    {"published"} if of_votes else scope.marks | {"file" if scope.path else "own"}
                )
                raise FalseClaimError(
                    f"[{' '.join(sorted(marks))}] record {place}{whose}: printed {said:.4f}, "
                    f"paid at least {true:.4f}\n" + "\n".join(self.log)
                )

    # -- small things ----------------------------------------------------------------------

    def _tried(
        self, what: str, work: Callable[[], Any], refusals: tuple[type[Exception], ...] = REFUSALS
    ) -> bool:
        """Do it; a refusal is fine, and so is an interruption of ours."""
        self.log.append(what)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                work()
        except (InjectedError, KeyboardInterrupt):
            self.log[-1] += ": interrupted"
            return False
        except refusals as refusal:
            self.log[-1] += f": {type(refusal).__name__}: {str(refusal)[:90]}"
            return False
        return True

    def _rules(self, settings: Settings, mechanism: Any, slots: list[str], rows: int) -> Rules:
        """How a file of saved votes is answered."""
        teachers = len(slots)
        if settings.scheme:
            told = [{"teacher": str(i), "group": group} for i, group in enumerate(slots)]
            plan = plan_saved(
                told, GROUPS, teachers, mechanism, self.classes, DELTA, method=settings.scheme
            )
            return Rules(plan, self.classes)
        if settings.mode == "fixed":
            free = Plan.standard_of(mechanism, teachers, DELTA)
            return Rules(free, self.classes, Mode.FIXED, rows)
        plan = Plan.standard_of(mechanism, teachers, DELTA, settings.epsilon)
        return Rules(plan, self.classes, Mode(settings.mode))

    def _written(
        self, number: int, settings: Settings, scope: Scope
    ) -> tuple[Path, list[list[int]], list[str]]:
        """A file of ballots, which records its teachers hold, and the group of each teacher.

        Saved votes carry no records, so nothing could notice that a record's group changed:
        that it does not is among their assumptions, and the harness keeps it.
        """
        groups = np.array(scope.groups) if scope.groups else self.groups
        teachers, rng = settings.teachers, self.rng
        rows = FIXED if teachers <= FEW else ROWS
        if settings.agree:
            ballots = np.repeat(rng.integers(0, self.classes, (rows, 1)), teachers, axis=1)
        else:
            halves = np.arange(teachers) % 2
            free = rng.integers(0, self.classes, (rows, teachers))
            ballots = np.where(rng.random((rows, 1)) < 0.8, halves, free)
        path = self.folder / f"votes-{number}.npy"
        np.save(path, ballots)
        slots = ["low" if i < teachers // 2 else "high" for i in range(teachers)]
        held: list[list[int]] = [[] for _ in range(RECORDS)]
        for name in GROUPS:
            places = [i for i, group in enumerate(slots) if group == name]
            mine = self.rng.permutation(np.flatnonzero(groups == name))
            for turn, record in enumerate(mine.tolist()):
                held[record].append(places[turn % len(places)])
        return path, held, slots

    def _regroup(self, scope: Scope, told: list[str]) -> None:
        if scope.groups and scope.groups != told:
            scope.marks.add("regrouped")
        scope.groups = told

    def _name(self, thing: Thing) -> str:
        return f"object {self.things.index(thing)} on {thing.scope.path and thing.scope.path.name}"

    @staticmethod
    def _told(groups: Any) -> str:
        return "-" if groups is None else "".join(str(group)[0] for group in groups)
