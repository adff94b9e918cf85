"""Teachers that learn together, in rounds: what a run says about it, and how it is done."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ballotine.data.partition import Partition
from ballotine.errors import ParameterError
from ballotine.ledger import Ledger
from ballotine.noise import NoiseSource
from ballotine.privacy.guarantee import Budget
from ballotine.teachers.engine import Engine
from ballotine.teachers.ensemble import Ensemble
from ballotine.types import IntArray, Matrix

if TYPE_CHECKING:
    from ballotine.teachers.ttac import Together, TtacTrainer

METHODS = ("ttac", "averaging")
HALF = 0.5
SEPARATE = ("epochs", "learning_rate", "optimiser", "weight_decay", "augment", "bf16", "patience")
"""What a network's own training decides, and rounds decide instead."""


@dataclass(frozen=True)
class LearnTogether:
    """Rounds of learning together, for teachers on heterogeneous data.

    Without ``clip`` the guarantee is conditional: through the shared model one record reaches
    every teacher. With it every round carries noise and is paid in the ledger.

    Attributes:
        method: "ttac" (averaging with control variates) or "averaging" (without), which is
            the better one for private rounds: their noise stays in the control variates.
        rounds: how often models are averaged.
        steps: local steps of every teacher in a round.
        step_size: of the first round's steps.
        decay: what the step size is multiplied by after every round.
        averaging_step: how far the averaging model follows the mean move.
        clip: the largest norm of a teacher's move; it makes rounds private.
        noise_multiplier: noise on the sum of moves, in units of ``clip``.
        share: instead, the part of the budget that rounds may take; a half when absent.
    """

    method: str = "ttac"
    rounds: int = 100
    steps: int = 10
    step_size: float = 0.05
    decay: float = 0.985
    averaging_step: float = 1.0
    clip: float | None = None
    noise_multiplier: float | None = None
    share: float | None = None

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ParameterError(
                f"method: unknown {self.method!r}; choose one of {', '.join(METHODS)}"
            )
        if self.rounds < 1 or self.steps < 1:
            raise ParameterError("rounds and steps: at least one of each")
        for name in ("step_size", "averaging_step", "clip", "noise_multiplier"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ParameterError(f"{name} must be positive, got {value}")
        if not 0 < self.decay <= 1:
            raise ParameterError(f"decay must lie between 0 and 1, got {self.decay}")
        self._check_private()

    def _check_private(self) -> None:
        for name in ("noise_multiplier", "share"):
            if getattr(self, name) is not None and not self.private:
                raise ParameterError(f"{name} is for private rounds: give clip too")
        if self.noise_multiplier is not None and self.share is not None:
            raise ParameterError("give noise_multiplier, or the share of the budget, not both")
        if self.share is not None and not 0 < self.share < 1:
            raise ParameterError(f"share must lie between 0 and 1, got {self.share}")
        if self.private and self.rounds < 2:
            raise ParameterError("private training needs at least two rounds")

    @property
    def private(self) -> bool:
        """Whether rounds carry noise and are paid for."""
        return self.clip is not None

    @property
    def assumption(self) -> str | None:
        """What a guarantee must say about the training, if anything."""
        from ballotine.teachers.ttac import PLAIN_ASSUMPTION

        return None if self.private else PLAIN_ASSUMPTION

    def settings(self, network: Any, features: int) -> Together:
        """The training of this network.

        Args:
            network: an unfitted `ballotine.neural.TorchClassifier`.
            features: how many a row has.
        """
        from ballotine.teachers.ttac import Together

        check_network(network)
        return Together(
            network.network,
            (features,) if network.shape is None else tuple(network.shape),
            "ttac" if self.method == "ttac" else "averaging",
            self.rounds,
            self.steps,
            network.batch,
            self.step_size,
            self.decay,
            self.averaging_step,
        )

    def multiplier(self, budget: Budget) -> float:
        """The noise of private rounds: as given, or for their share of the budget."""
        from ballotine.teachers.ttac import plan_rounds

        if self.noise_multiplier is not None:
            return self.noise_multiplier
        return plan_rounds(budget, self.rounds, self.share or HALF).noise_multiplier


@dataclass(frozen=True)
class Place:
    """Where rounds are paid, and where they are kept.

    Attributes:
        ledger: of the data set.
        noise: where the noise of private rounds comes from.
        folder: private; None for a training that is never resumed.
        mark: what a kept training must have been made from.
        run: a label for the ledger.
    """

    ledger: Ledger
    noise: NoiseSource
    folder: Path | None = None
    mark: str = ""
    run: str = ""


def check_network(estimator: Any) -> None:
    """Refuse teachers that have no weights to average, and settings that nobody would use."""
    from ballotine.neural import TorchClassifier

    if not isinstance(estimator, TorchClassifier):
        raise ParameterError(
            "teachers that learn together average their weights: they must be networks "
            f"(neural-network), not {type(estimator).__name__}"
        )
    usual = TorchClassifier().get_params(deep=False)
    own = estimator.get_params(deep=False)
    if changed := [name for name in SEPARATE if own[name] != usual[name]]:
        raise ParameterError(
            f"{changed[0]} is for teachers that learn alone; rounds, steps, step_size and decay "
            "say how these learn together"
        )


def train_together(
    together: LearnTogether,
    network: Any,
    classes: int,
    X: Matrix,
    y: IntArray,
    partition: Partition,
    *,
    secret: bytes,
    engine: Engine,
    place: Place,
    advance: Callable[[int], None] = lambda _: None,
) -> Ensemble:
    """An ensemble that learnt together; ``advance`` is told about each round."""
    from ballotine.teachers.ttac import RoundsCheckpoint, TtacTrainer

    checkpoint = None
    if place.folder is not None:
        checkpoint = RoundsCheckpoint(place.folder / "together.npz", place.mark.encode())
    trainer = TtacTrainer(
        together.settings(network, X.shape[1]), classes, secret, engine, checkpoint=checkpoint
    )
    if together.private:
        trainer = _with_noise(trainer, together, len(partition.shares), place)
    return trainer.train(X, y, partition, advance)


def _with_noise(
    trainer: TtacTrainer, together: LearnTogether, teachers: int, place: Place
) -> TtacTrainer:
    from dataclasses import replace

    from ballotine.teachers.ttac import PrivateRounds

    assert together.clip is not None
    release = PrivateRounds(
        together.clip,
        together.multiplier(place.ledger.terms.loosest),
        place.ledger,
        place.noise,
        trainer.identity(teachers),
        None if place.folder is None else place.folder / "rounds",
        place.run,
    )
    return replace(trainer, release=release)
