"""TTAC: teachers that average their models and correct their drift (Algorithm 1).

Every round each teacher starts from the averaging model θ, takes T local steps corrected by
control variates, and sends back how far it moved. The averaging model moves by the mean.
The shared control variate needs no message of its own: c is always minus the mean move over
T·η_f, so whoever sees two averaging models in a row can compute it.

Batch-norm statistics are not parameters: each teacher keeps its own, and none are averaged
or shared. Plain training breaks PATE's premise that one record touches one teacher; see
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
"""Rounds after which an averaging model must be better than guessing."""
RECENT = 5
"""Rounds whose losses say how good it is."""
HOPELESS = 10.0
"""How many times the loss of guessing, or of the first weights, is divergence."""
ADVICE = (
    "use a smaller step_size (0.05 and less worked for small networks), fewer local steps or "
    "a stronger decay"
)


class RoundRelease(Protocol):
    """What turns the teachers' moves into the one that everybody sees."""

    def __call__(self, number: int, moves: Weights) -> Weights:
        """From a round and all moves, shape (N, d), to the mean move of that round."""


@dataclass(frozen=True)
class Rounds:
    """The rounds of a training, on any engine.

    Attributes:
        architecture: of every teacher's network.
        settings: how teachers learn together.
        batch: records per step.
        secret: what the first weights and all mini-batches follow from.
        engine: where teachers train within a round.
        release: what everybody sees of the moves; None for their mean. With a release, the
            last round's moves stay with their teachers, so one round fewer is paid for, and
            nothing that happens (an error, a stop) depends on anything but released numbers.
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
            raise ParameterError("conventional teachers share nothing: there is nothing to release")
        if self.release is None and self.settings.private:
            raise ParameterError("private rounds (clip) are released with noise and paid for")

    def start(self, teachers: int) -> State:
        """All teachers, the averaging model and all control variates before the first round."""
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
        """The rounds after a state; yields the state after each."""
        if not records:
            raise ParameterError("an ensemble needs at least one teacher")
        state = self.start(len(records)) if state is None else state
        if len(state.weights) != len(records):
            raise ParameterError(
                f"this state is one of {len(state.weights)} teachers, not of {len(records)}"
            )
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
        # A broken teacher stays where it was: it must not take the others with it.
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
        """Lines 10 to 16 of Algorithm 1."""
        number, settings = before.done, self.settings
        last = after.done == settings.rounds
        if self.release is not None and last:
            return after
        moves = after.weights - before.theta
        mean = moves.mean(axis=0) if self.release is None else self.release(number, moves)
        theta = before.theta + np.float32(settings.averaging_step) * mean
        if settings.method == "averaging":
            return replace(after, theta=theta)
        length = np.float32(settings.steps * settings.step_size_at(number))
        own = np.where(
            after.broken[:, None], before.own, before.own - before.common - moves / length
        ).astype(np.float32)
        # The mean of the c_i is this, so c needs no message of its own.
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
        """Stop a training that became worse than guessing; say what to do."""
        guessing = math.log(self.architecture.outputs)
        recent = state.losses[-RECENT:]
        # One spike passes by, and is common while steps are large; several in a row do not.
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
