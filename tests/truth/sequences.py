"""Sequences of runs, drawn from a seed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from tests.truth.adapter import STAGES, InjectedError, watching
from tests.truth.cast import FIXED, SEVERAL, Settings
from tests.truth.world import FalseClaimError, Scope, Thing, World

PLAIN = ("gnmax", "gnmax-quiet", "gnmax-loud", "confident", "lnmax")
WEIGHED = ("gnmax", "gnmax-quiet", "confident")
SCHEMES = (None, None, None, "weighting", "upsampling", "vanishing", "vanishing")
FIXED_ONES = ("gnmax-loud", "gnmax-clear")
STEPS = (2, 7)
T = TypeVar("T")


class Drawn:
    """One sequence: a kind of ledger, objects and files on it, and what is done with them."""

    def __init__(self, seed: int, world: World) -> None:
        self.rng, self.world = np.random.default_rng([seed, 1]), world
        self.scheme = self.pick(SCHEMES)
        self.mode = "fixed" if self.scheme is None and self.chance(0.5) else "strict"
        if self.scheme is None and self.mode == "strict" and self.chance(0.1):
            self.mode = "paper"
        # With few teachers the ceiling is smaller than anything that could be published.
        self.only_votes = self.mode == "fixed" and self.chance(0.7)
        shared = self.only_votes or self.chance(0.75)
        self.scope = Scope(world.folder / "ledger.sqlite" if shared else None)
        self.usual = self.settings()
        self.number = 0

    def run(self) -> None:
        """All steps; raises a FalseClaimError at the first printed ε that is too small."""
        if not self.only_votes:
            thing = self.world.make(self.usual, self.scope)
            if self.scope.path is None or self.chance(0.7):
                self.world.fit(thing, self.usual)
        for _ in range(int(self.rng.integers(*STEPS))):
            self.votes() if self.only_votes else self.step()

    def step(self) -> None:
        """Something that may happen next."""
        world, thing = self.world, self.pick(self.world.things)
        votes = self.scope.path is not None and self.scheme != "upsampling"
        weights = {"label": 30, "fit": 20, "series": 10, "vote": 24 * votes, "again": 8, "copy": 8}
        weights["void"] = 4
        match self.draw(weights):
            case "label":
                self.perhaps_interrupted(lambda: world.label(thing, self.rows()))
            case "fit":
                self.maybe_regroup()
                world.fit(thing, self.near(thing.settings))
                self.perhaps_interrupted(lambda: world.label(thing, self.rows()))
            case "series":
                self.series(thing)
            case "vote":
                self.votes()
            case "again" if self.scope.path is not None:
                other = world.make(self.near(self.usual), self.scope)
                world.fit(other, other.settings)
                self.perhaps_interrupted(lambda: world.label(other, self.rows()))
            case "copy":
                self.copy(thing)
            case "void":
                world.void(thing)

    def series(self, thing: Thing) -> None:
        """Small runs, each with teachers of its own."""
        rows = self.rows() if self.mode == "fixed" else self.rows()[:2]
        for _ in range(int(self.rng.integers(2, 10))):
            self.world.fit(thing, thing.settings)
            if thing.holders is None:
                return
            self.world.label(thing, rows)

    def votes(self) -> None:
        """A file: one that was used before, or another."""
        if self.chance(0.3 if self.only_votes else 0.6):
            self.number += 1
        settings = self.near(self.usual)
        if self.only_votes:
            settings = replace(settings, agree=self.chance(0.5))
        if settings.mechanism in SEVERAL:
            settings = replace(settings, mechanism="gnmax")
        number = self.number
        self.perhaps_interrupted(lambda: self.world.vote(self.scope, settings, number))

    def copy(self, thing: Thing) -> None:
        if self.chance(0.5):
            self.world.pickle(thing) if self.chance(0.5) else self.world.fork(thing, self.rows())
            return
        self.world.clone(thing)
        last = self.world.things[-1]
        self.world.fit(last, last.settings)
        self.world.label(last, self.rows())

    def settings(self) -> Settings:
        """What is usual in this sequence."""
        teachers = int(self.pick((4, 8, 12)))
        if self.mode == "fixed":
            number = 60 if self.only_votes else 12
            return Settings(self.pick(FIXED_ONES), None, "fixed", number, agree=self.chance(0.6))
        if self.scheme is not None:
            return Settings(self.pick(WEIGHED), self.scheme, "strict", max(8, teachers))
        mechanism = self.pick(SEVERAL if self.chance(0.6) else PLAIN)
        return Settings(mechanism, None, self.mode, teachers, float(self.pick((3.0, 20.0))))

    def near(self, settings: Settings) -> Settings:
        """The same, or with something changed."""
        if self.chance(0.3):
            palette = WEIGHED if settings.scheme else PLAIN
            if settings.mode == "fixed":
                palette = FIXED_ONES
            if settings.mechanism in SEVERAL:
                palette = SEVERAL
            settings = replace(settings, mechanism=self.pick(palette))
        if self.chance(0.4):
            settings = replace(settings, agree=not settings.agree)
        if self.chance(0.15) and self.scope.path is not None:  # of a file, seeds are safe
            settings = replace(settings, seed=self.pick((None, 1, 2)))
        if self.chance(0.08) and settings.scheme is None:
            other = self.pick(tuple({"strict", "fixed", "paper"} - {settings.mode}))
            settings = replace(settings, mode=other, epsilon=20.0)
        if self.chance(0.08) and settings.mode == "strict" and settings.mechanism in WEIGHED:
            settings = replace(settings, scheme=self.pick((None, "weighting", "vanishing")))
        return settings

    def maybe_regroup(self) -> None:
        # Who holds votes of teachers with groups has promised that they are for good.
        if self.chance(0.25) and not self.world.files:
            self.world.groups = self.rng.permutation(self.world.groups)
        if self.chance(0.15):  # the same records in another order
            self.world.order = self.rng.permutation(self.world.order)

    def rows(self) -> list[int]:
        if self.mode == "fixed":
            first = int(self.rng.integers(0, 3)) if self.chance(0.2) else 0
            most = FIXED if self.chance(0.9) else 3  # all rows are given at once
            return list(range(first, first + most))
        chosen = self.rng.permutation(12)[: int(self.rng.integers(1, 5))]
        return [int(row) for row in chosen]

    def perhaps_interrupted(self, work: Callable[[], None]) -> None:
        if self.chance(0.5 if self.only_votes else 0.75):
            work()
            return
        error: type[BaseException] = KeyboardInterrupt if self.chance(0.5) else InjectedError
        stage, after = str(self.pick(STAGES)), int(self.rng.integers(0, 4))
        if self.only_votes:
            stage, after = self.pick((("between", int(self.rng.integers(2, 6))), ("publish", 0)))
        self.world.interrupted(work, stage, after, error)

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def pick(self, choices: Sequence[T]) -> T:
        return choices[int(self.rng.integers(len(choices)))]

    def draw(self, weights: dict[str, int]) -> str:
        total = sum(weights.values())
        return str(self.rng.choice(list(weights), p=[w / total for w in weights.values()]))


def run(seed: int) -> list[str]:
    """Run the sequence of a seed; returns its log, or raises a FalseClaimError that tells it."""
    with tempfile.TemporaryDirectory() as folder, watching(seed) as watch:
        rng = np.random.default_rng([seed, 0])
        world = World(rng, Path(folder), watch, classes=int(rng.choice([2, 3, 3, 4])))
        try:
            Drawn(seed, world).run()
        except FalseClaimError as found:
            raise FalseClaimError(f"sequence {seed}: {found}") from None
        except Exception as defect:
            raise RuntimeError(f"sequence {seed}:\n" + "\n".join(world.log)) from defect
        return world.log
