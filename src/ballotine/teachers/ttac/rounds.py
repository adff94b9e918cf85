"""TTAC: teachers average their models and correct their drift (Algorithm 1).

In every round each teacher starts from the averaging model θ, takes T local steps corrected by
control variates, and returns its update. The averaging model moves by the mean update. The shared
control variate c need not be sent: it is minus the mean update divided by T·η_f, so anyone who
sees two consecutive averaging models can compute it.

Batch-norm statistics are not parameters: each teacher keeps its own, and none are averaged or
shared. Without noise, training violates PATE's premise that one record affects one teacher; see
`ballotine.teachers.ttac.private` for rounds with noise, whose cost is accounted for.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from ballotine.errors import DivergedError, ParameterError
from ballotine.neural.training import seeded
from ballotine.teachers.engine import Engine, LocalEngine
from ballotine.teachers.together import LearnTogether
from ballotine.teachers.ttac.local import LocalRecords, LocalResult, LocalTask, train_locally
from ballotine.teachers.ttac.network import Architecture, Weights, weights_of
from ballotine.teachers.ttac.state import State

PATIENCE = 20
"""Rounds after which the averaging model must be better than guessing."""
RECENT = 5
"""Rounds over which its loss is averaged."""
HOPELESS = 10.0
"""Training has diverged at this multiple of the loss of guessing, or of the first weights."""
ADVICE = (
    "use a smaller step_size (0.05 and less worked for small networks), fewer local steps or "
    "a stronger decay"
)


class RoundRelease(Protocol):
    """Turns the teachers' updates into the mean update that all of them see."""

    def __call__(self, number: int, updates: Weights) -> Weights:
        """Return the mean of a round's updates, shape (N, d)."""


@dataclass(frozen=True)
class Rounds:
    """The rounds of one training.

    Attributes:
        architecture: the network of every teacher.
        settings: how teachers learn together.
        batch: records per step.
        secret: determines the first weights and all mini-batches.
        engine: runs the teachers of a round.
        release: makes the mean update that teachers see; None for the exact mean. With a
            release, the updates of the last round stay with their teachers, so one round fewer
            is paid for, and errors and stops depend on released numbers only.
    """

    architecture: Architecture
    settings: LearnTogether
    batch: int
    secret: bytes
    engine: Engine = field(default_factory=lambda: LocalEngine(1))
    release: RoundRelease | None = None

    def __post_init__(self) -> None:
        if self.batch < 1:
            raise ParameterError(f"batch must be at least one record, got {self.batch}")
        if self.release is not None and self.settings.method == "conventional":
            raise ParameterError(
                "conventional teachers learn separately: there is nothing to release"
            )
        if self.release is None and self.settings.private:
            raise ParameterError("private rounds (clip) need a release that adds noise and pays")

    def start(self, teachers: int) -> State:
        """Return the state before the first round."""
        with seeded(self._seed(0, 0)):
            module = self.architecture.module()
        theta = weights_of(module)
        return State(
            0,
            theta,
            np.zeros_like(theta),
            np.zeros((teachers, theta.size), dtype=np.float32),
            np.tile(theta, (teachers, 1)),
            (None,) * teachers,
            np.zeros(teachers, dtype=bool),
        )

    def train(self, records: Sequence[LocalRecords], state: State | None = None) -> Iterator[State]:
        """Run the rounds after a state; yield the state after each."""
        if not records:
            raise ParameterError("an ensemble needs at least one teacher")
        state = self.start(len(records)) if state is None else state
        if len(state.weights) != len(records):
            raise ParameterError(f"the state has {len(state.weights)} teachers, not {len(records)}")
        while state.done < self.settings.rounds:
            state = self._round(records, state)
            if self.release is None:
                self._check_progress(state)
            yield state

    def _round(self, records: Sequence[LocalRecords], state: State) -> State:
        tasks = (self._task(place, part, state) for place, part in enumerate(records))
        results: dict[int, LocalResult] = {
            result.position: result for result in self.engine.map(train_locally, tasks)
        }
        ordered = [results[place] for place in range(len(records))]
        broken = np.array([not result.sound for result in ordered])
        # A broken teacher keeps its weights and does not affect the others.
        starts = state.weights if self.settings.method == "conventional" else state.theta
        weights = np.stack([result.weights for result in ordered])
        weights = np.where(broken[:, None], starts, weights).astype(np.float32)
        after = replace(
            state,
            done=state.done + 1,
            weights=weights,
            buffers=tuple(
                before if bad else result.buffers
                for before, bad, result in zip(state.buffers, broken, ordered, strict=True)
            ),
            broken=broken,
            losses=(*state.losses, float(np.mean([result.loss for result in ordered]))),
        )
        if self.settings.method == "conventional":
            return after
        return self._averaged(state, after)

    def _averaged(self, before: State, after: State) -> State:
        """Apply lines 10 to 16 of Algorithm 1."""
        number, settings = before.done, self.settings
        last = after.done == settings.rounds
        if self.release is not None and last:
            return after
        updates = after.weights - before.theta
        mean = updates.mean(axis=0) if self.release is None else self.release(number, updates)
        theta = before.theta + np.float32(settings.averaging_step) * mean
        if settings.method == "averaging":
            return replace(after, theta=theta)
        length = np.float32(settings.steps * settings.step_size_at(number))
        own = np.where(
            after.broken[:, None], before.own, before.own - before.common - updates / length
        ).astype(np.float32)
        # This is the mean of the c_i, so c need not be sent.
        return replace(after, theta=theta, own=own, common=-mean / length)

    def _task(self, place: int, part: LocalRecords, state: State) -> LocalTask:
        settings = self.settings
        seed = self._seed(state.done + 1, place)
        return LocalTask(
            place,
            self.architecture,
            part.draw(settings.steps, self.batch, seed),
            state.weights[place] if settings.method == "conventional" else state.theta,
            state.common - state.own[place] if settings.method == "ttac" else None,
            state.buffers[place],
            settings.step_size_at(state.done),
            seed,
        )

    def _seed(self, number: int, place: int) -> int:
        label = f"ballotine/ttac/1\0{number}\0{place}\0".encode() + self.secret
        return int.from_bytes(hashlib.sha256(label).digest()[:4], "big")

    def _check_progress(self, state: State) -> None:
        """Stop training that became worse than guessing, with advice."""
        guessing = math.log(self.architecture.outputs)
        recent = state.losses[-RECENT:]
        # A single spike is common while steps are large, and passes; several in a row do not.
        hopeless = min(recent) > HOPELESS * max(guessing, state.losses[0])
        if hopeless or not math.isfinite(state.losses[-1]):
            raise DivergedError(f"training diverged; {ADVICE}")
        if self.settings.method == "conventional" or state.done < PATIENCE:
            return
        if 2 * state.done < self.settings.rounds:
            return
        if float(np.mean(recent)) > guessing:
            raise DivergedError(
                "the averaging model is no better than guessing after half of its rounds or "
                f"more. If it has collapsed, {ADVICE}; if it has hardly begun to learn, use more "
                "rounds or a larger step_size"
            )
