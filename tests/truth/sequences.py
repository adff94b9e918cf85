"""Sequences of runs on one ledger, drawn at random, with every record followed through them."""

from __future__ import annotations

import random
import tempfile
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier

from ballotine import Budget, ConfidentGNMax, GNMax, PateClassifier
from ballotine.data.ballots import open_votes
from ballotine.errors import BallotineError
from ballotine.noise import source
from ballotine.voting import LNMax, Plan, Rules
from ballotine.voting.individual import Upsampling, Vanishing, Weighting
from ballotine.voting.saved import SavedVotes, vote
from tests.truth.accountant import Accountant
from tests.truth.watching import InterruptedAnswerError, Watch, watching

RECORDS, CLASSES, DELTA = 48, 3, 1e-4
BUDGETS = {"careful": 1.5, "easy": 6.0}
SCHEMES = (Weighting, Upsampling, Vanishing)
SLACK = 1e-6

X = np.arange(2.0 * (RECORDS + 400)).reshape(-1, 2)
Y = np.arange(RECORDS) % CLASSES


@dataclass
class World:
    """One ledger (a file, or an object's own), and everybody whose record is in it."""

    chance: random.Random
    folder: Path
    watch: Watch
    grouped: bool
    in_memory: bool
    steady: bool = False  # the same settings in every fit, and few queries each
    groups: np.ndarray = field(init=False)
    told: list[str] = field(default_factory=list)
    model: Any = None

    def __post_init__(self) -> None:
        self.truth = Accountant(RECORDS)
        careful = self.chance.sample(range(RECORDS), RECORDS // 2)  # sizes decide the plans
        self.groups = np.where(np.isin(np.arange(RECORDS), careful), "careful", "easy")
        self.order = np.arange(RECORDS)
        self.asked = RECORDS

    @property
    def ledger(self) -> Path | None:
        return None if self.in_memory else self.folder / "ledger.sqlite"

    def mechanism(self) -> Any:
        if self.steady:
            return GNMax(16.0)
        sigma = self.chance.choice((4.0, 6.0))
        kinds: list[Any] = [GNMax(sigma), ConfidentGNMax(sigma, 5.0, 6.0)]
        if not self.grouped:
            kinds.append(LNMax(self.chance.choice((0.1, 0.3))))
        return self.chance.choice(kinds)

    def classifier(self) -> PateClassifier:
        common: dict[str, Any] = {
            "teacher": DummyClassifier(),
            "n_teachers": 16 if self.steady else 8,
            "mechanism": self.mechanism(),
            "classes": range(CLASSES),
            "ledger": self.ledger,
            "random_state": self.chance.choice((None, None, 1, 2)),
        }
        if self.steady:  # repeatable, and dealt anew in every fit
            common["random_state"] = self.chance.randrange(1000)
        elif self.in_memory:
            common["random_state"] = None
        if not self.grouped:
            return PateClassifier(budget=Budget(4.0, DELTA), **common)
        scheme = (Vanishing if self.steady else self.chance.choice(SCHEMES))(BUDGETS)
        return PateClassifier(individual=scheme, delta=DELTA, **common)

    def fit(self) -> None:
        groups = self.groups[self.order] if self.grouped else None
        self.model.fit(X[self.order], Y[self.order], groups)

    def label(self) -> None:
        number = self.chance.randint(1, 2 if self.steady else 12)
        start = self.asked if self.chance.random() < 0.8 else RECORDS
        rows = X[start : start + number]
        self.asked = max(self.asked, start + number) % 350 + (RECORDS if self.asked > 350 else 0)
        try:
            self.model.label(rows)
        finally:
            self.charge()

    def charge(self) -> None:
        """Everything that left since is paid by the records behind the teachers."""
        seen: dict[int, list[int]] = {record: [] for record in range(RECORDS)}
        if self.model is not None and hasattr(self.model, "partition_"):
            for teacher, rows in enumerate(self.model.partition_.groups):
                for row in rows:
                    seen[int(self.order_fitted[row])].append(teacher)
        self.truth.add({r: tuple(t) for r, t in seen.items()}, self.watch.take())

    # What may happen next.

    def new_fit(self) -> None:
        """Another object on the same ledger; where the ledger is an object's own, the same one."""
        if self.model is None or not self.in_memory:
            self.model = self.classifier()
            return self.refit()
        return self.change_settings()

    def refit(self) -> None:
        if self.model is None:
            return self.new_fit()
        self.order_fitted = self.order.copy()
        self.fit()
        return self.label()

    def ask_more(self) -> None:
        if self.model is None or not hasattr(self.model, "ensemble_"):
            return self.new_fit()
        return self.label()

    def change_settings(self) -> None:
        if self.model is None:
            return self.new_fit()
        self.model.set_params(mechanism=self.mechanism())
        if self.steady:
            self.model.set_params(random_state=self.chance.randrange(1000))
        return self.refit()

    def copy(self) -> None:
        if self.model is None:
            return self.new_fit()
        self.model = clone(self.model)
        return self.refit()

    def swap_groups(self) -> None:
        before = self.groups
        self.groups = np.where(before == "easy", "careful", "easy")
        try:
            self.new_fit()
        except BallotineError:
            self.groups = before  # refused: nobody changed
            raise
        if not self.grouped:
            self.groups = before

    def permute(self) -> None:
        self.order = np.array(self.chance.sample(range(RECORDS), RECORDS))
        self.new_fit()

    def interrupted(self) -> None:
        self.watch.interrupt = self.chance.choice(("before the draw", "after the draw"))
        try:
            self.new_fit() if self.chance.random() < 0.5 else self.ask_more()
        except InterruptedAnswerError:
            pass
        finally:
            self.watch.interrupt = None
            self.charge()

    def saved_votes(self) -> None:
        """Ballots of teachers that somebody trained elsewhere, dealt anew."""
        if self.grouped or self.in_memory:
            return self.new_fit()
        teachers, mechanism = 8, self.mechanism()
        draw = np.random.default_rng(self.chance.randrange(1 << 30))
        ballots = draw.integers(0, CLASSES, (self.chance.randint(1, 10), teachers))
        path = self.folder / f"votes-{self.chance.random()}.npy"
        np.save(path, ballots)
        votes = SavedVotes.of(open_votes(path), mechanism, CLASSES, ballots=True)
        rules = Rules(Plan.standard_of(mechanism, teachers, DELTA, 4.0), CLASSES)
        dealt = draw.integers(0, teachers, RECORDS)
        try:
            vote(votes, rules, self.ledger, source(None))
        finally:
            self.truth.add({r: (int(dealt[r]),) for r in range(RECORDS)}, self.watch.take())
        return None

    def printed(self) -> dict[str, float]:
        """What each group is told; everyone's ε where there are no groups."""
        guarantee = self.model.guarantee_
        if not self.grouped:
            return {"careful": guarantee.epsilon, "easy": guarantee.epsilon}
        return {group.name: group.epsilon for group in guarantee.groups}

    def check(self) -> None:
        if self.model is None or not hasattr(self.model, "ensemble_"):
            return
        told = self.printed()
        for record in range(RECORDS):
            true = self.truth.epsilon(record, DELTA)
            claimed = told[str(self.groups[record])]
            assert true <= claimed + SLACK, (
                f"record {record} has paid ε = {true:.4f}, and ε = {claimed:.4f} is printed after "
                f"{' → '.join(self.told)}"
            )


STEPS = (
    "new_fit", "refit", "ask_more", "change_settings", "copy", "swap_groups", "permute",
    "interrupted", "saved_votes",
)  # fmt: skip


STEADY = ("new_fit", "new_fit", "refit", "permute")


def walk(seed: int) -> list[str]:
    """One sequence; returns what happened. Raises when a printed ε is below somebody's truth."""
    chance = random.Random(seed)
    steady = chance.random() < 0.25
    with (
        tempfile.TemporaryDirectory() as folder,
        warnings.catch_warnings(),
        watching() as watch,
    ):
        warnings.simplefilter("ignore")
        grouped, in_memory = steady or chance.random() < 0.6, chance.random() < 0.3
        world = World(chance, Path(folder), watch, grouped, in_memory, steady)
        for _ in range(12 if steady else 7):
            step = chance.choice(STEADY if steady else STEPS)
            world.told.append(step)
            try:
                getattr(world, step)()
            except BallotineError as refusal:
                world.told[-1] += f" ({type(refusal).__name__})"
                world.charge()
            world.check()
        if world.model is not None and hasattr(world.model, "ledger_"):
            world.model.ledger_.close()
        return world.told
