"""PATE+ and PATE++: students that expect some answers to be wrong (Zhang et al. 2021)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ballotine.neural.zoo import Shape
from ballotine.students.neural.gan import GanLearner, SemiSupervisedGAN
from ballotine.students.neural.learner import Learner, LearnerSetting
from ballotine.students.neural.loop import Outcome, run
from ballotine.students.neural.teaching import RAMP, Peers, most_suspected


class PatePlus(SemiSupervisedGAN):
    """Two discriminators that teach each other, and one generator (PATE++, Algorithm 1).

    Parameters:
        noise_rate: β, the share of answers assumed to be wrong; see `estimate_noise_rate`.
        ramp: epochs until this share is left out: R(e) = 1 − β·min(e/ramp, 1).
        by_disagreement: learn from rows that the two predict differently; False is the
            paper's "PATE with co-teaching".
        shared: the parameters of `SemiSupervisedGAN`.

    Attributes:
        suspicion_: how suspicious each answer was, in the order of the answered rows.
    """

    count_decay = 0.9

    def __init__(
        self,
        network: Any = "mlp",
        shape: Shape | None = None,
        *,
        noise_rate: float = 0.2,
        ramp: int = RAMP,
        by_disagreement: bool = True,
        **shared: Any,
    ) -> None:
        super().__init__(network, shape, **shared)
        self.noise_rate = noise_rate
        self.ramp = ramp
        self.by_disagreement = by_disagreement

    def _learn(self, setting: LearnerSetting, stage: str = "training") -> Outcome:
        learner = self._learner(setting)
        outcome = run(learner, self.on_epoch, stage)
        self.suspicion_ = learner.teaching.counts()["suspicion"]
        return outcome

    def _learner(self, setting: LearnerSetting) -> Learner:
        peers = Peers(
            len(setting.pools.labelled),
            self.noise_rate,
            by_disagreement=self.by_disagreement,
            ramp=self.ramp,
            smoothing=setting.smoothing,
            decay=self.count_decay,
        )
        nets = [setting.make_net() for _ in range(2)]
        return GanLearner(setting, nets, peers, self.unlabelled_weight, self.generator_width)


class PatePlusPlus(PatePlus):
    """Trains PATE+, removes suspicious answers, and trains a new PATE+ on the rest.

    The rows of removed answers are used as unanswered rows (PATE++, Algorithm 3).

    Parameters:
        removed_share: τ, the largest share of answers to remove.
        count_decay: α, the factor by which suspicion counts decay per epoch.
        shared: the parameters of `PatePlus`.

    Attributes:
        removed_: rows of ``X`` whose answers were removed.
        suspicion_: how suspicious each answer was in the first training, in their order.
    """

    def __init__(
        self,
        network: Any = "mlp",
        shape: Shape | None = None,
        *,
        removed_share: float = 0.2,
        count_decay: float = 0.9,
        **shared: Any,
    ) -> None:
        super().__init__(network, shape, **shared)
        self.removed_share = removed_share
        self.count_decay = count_decay

    def _learn(self, setting: LearnerSetting, stage: str = "cleansing") -> Outcome:
        codes = setting.pools.codes.cpu().numpy()
        most_suspected(
            np.zeros(len(codes)), codes, self.removed_share
        )  # raises early for a bad share
        first = super()._learn(setting, stage)
        places = most_suspected(self.suspicion_, codes, self.removed_share)
        self.removed_ = setting.pools.labelled.cpu().numpy()[places]
        if first.interrupted:
            return self._none_removed(first)
        cleaned = replace(setting, pools=setting.pools.without(places))
        second = run(self._learner(cleaned), self.on_epoch, "training again", first)
        if second.history is first.history:  # interrupted before its first epoch ended
            return self._none_removed(second)
        stages = [0.0] * len(first.history["labelled"]) + [1.0] * len(second.history["labelled"])
        history = {name: [*first.history[name], *second.history[name]] for name in first.history}
        return Outcome(second.state, {**history, "stage": stages}, second.interrupted)

    def _none_removed(self, outcome: Outcome) -> Outcome:
        """Record that the weights kept were trained on all answers."""
        self.removed_ = np.zeros(0, dtype=np.int64)
        return outcome
