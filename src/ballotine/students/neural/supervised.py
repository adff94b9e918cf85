"""Students that use answered rows only: one network, or two that teach each other."""

from __future__ import annotations

from typing import Any

from ballotine.neural.zoo import Shape
from ballotine.students.neural.base import NeuralStudent
from ballotine.students.neural.learner import Learner, LearnerSetting, Losses, descend
from ballotine.students.neural.pools import Batch
from ballotine.students.neural.teaching import RAMP, Peers


class AnswerLearner(Learner):
    """Networks that learn from answered rows only."""

    uses_unlabelled = False

    def step(self, batch: Batch, epoch: int) -> Losses:
        """Take one step of each network on its own loss."""
        rows = self.setting.augmented(batch.labelled)
        lesson = self.teaching([net(rows) for net in self.nets], batch, epoch)
        for optimiser, loss in zip(self.optimisers, lesson.losses, strict=True):
            descend(optimiser, loss)
        return {"labelled": lesson.criterion}


class Supervised(NeuralStudent):
    """One network on the answered rows: the baseline for other students.

    Parameters: those of `NeuralStudent`.
    """

    several_labels = True

    def _learner(self, setting: LearnerSetting) -> Learner:
        return AnswerLearner(setting, [setting.make_net()])


class CoTeaching(NeuralStudent):
    """Two networks that select the answers with small loss for each other (Han et al. 2018).

    Parameters:
        noise_rate: β, the share of answers assumed to be wrong; see `estimate_noise_rate`.
        ramp: epochs until this share is left out.
        shared: the parameters of `NeuralStudent`.
    """

    _by_disagreement = False

    def __init__(
        self,
        network: Any = "mlp",
        shape: Shape | None = None,
        *,
        noise_rate: float = 0.2,
        ramp: int = RAMP,
        **shared: Any,
    ) -> None:
        super().__init__(network, shape, **shared)
        self.noise_rate = noise_rate
        self.ramp = ramp

    def _learner(self, setting: LearnerSetting) -> Learner:
        nets = [setting.make_net() for _ in range(2)]
        return AnswerLearner(
            setting,
            nets,
            Peers(
                len(setting.pools.labelled),
                self.noise_rate,
                by_disagreement=self._by_disagreement,
                ramp=self.ramp,
                smoothing=setting.smoothing,
            ),
        )


class CoTeachingPlus(CoTeaching):
    """Co-teaching among the rows that the two networks predict differently (Yu et al. 2019).

    In a batch without such a row, all rows are candidates.

    Parameters: those of `CoTeaching`.
    """

    _by_disagreement = True
