"""PATE+ and PATE++: students that expect some answers to be wrong (Zhang et al. 2021)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ballotine.students.neural.base import NeuralStudent
from ballotine.students.neural.gan import GanLearner
from ballotine.students.neural.learner import Learner, LearnerSetting
from ballotine.students.neural.loop import Outcome, run
from ballotine.students.neural.teaching import RAMP, Peers, most_suspected


class PatePlus(NeuralStudent):
    """Two discriminators that teach each other, and one generator (PATE++, Algorithm 1).

    Parameters:
        noise_rate: β, the share of answers believed to be wrong; see `estimate_noise_rate`.
        ramp: epochs until that share is left out: R(e) = 1 − β·min(e/ramp, 1).
        by_disagreement: learn from rows that the two predict differently; False is the
            paper's "PATE with co-teaching".
        unlabelled_weight: of the loss on rows without an answer and on made-up ones.
        generator_width: of the generator's two hidden layers.
        shared: the parameters of `NeuralStudent`.

    Attributes:
        suspicion_: how suspicious each answer was, in the order of the answered rows.
    """

    def __init__(
        self,
        network: Any = "mlp",
        shape: tuple[int, ...] | None = None,
        *,
        noise_rate: float = 0.2,
        ramp: int = RAMP,
        by_disagreement: bool = True,
        unlabelled_weight: float = 1.0,
        generator_width: int = 500,
        **shared: Any,
    ) -> None:
        super().__init__(network, shape, **shared)
        self.noise_rate = noise_rate
        self.ramp = ramp
        self.by_disagreement = by_disagreement
        self.unlabelled_weight = unlabelled_weight
        self.generator_width = generator_width

    def _learn(self, setting: LearnerSetting) -> Outcome:
        peers = self._peers(setting)
        outcome = run(self._discriminators(setting, peers), setting, self.on_epoch)
        self.suspicion_ = peers.suspicion.counts
        return outcome

    def _learner(self, setting: LearnerSetting) -> Learner:
        return self._discriminators(setting, self._peers(setting))

    def _discriminators(self, setting: LearnerSetting, peers: Peers) -> Learner:
        nets = [setting.make_net() for _ in range(2)]
        return GanLearner(setting, nets, peers, self.unlabelled_weight, self.generator_width)

    def _peers(self, setting: LearnerSetting, decay: float = 0.9) -> Peers:
        return Peers(
            len(setting.pools.labelled),
            self.noise_rate,
            by_disagreement=self.by_disagreement,
            ramp=self.ramp,
            smoothing=setting.smoothing,
            decay=decay,
        )


class PatePlusPlus(PatePlus):
    """PATE+, whose suspicious answers are then forgotten, and a new PATE+ on the rest.

    The rows of forgotten answers are learnt from as rows without one (PATE++, Algorithm 3).

    Parameters:
        removed_share: τ, the largest share of answers that is forgotten.
        count_decay: α, by which counts of suspicion decay from epoch to epoch.
        shared: the parameters of `PatePlus`.

    Attributes:
        removed_: rows of ``X`` whose answers were forgotten.
        suspicion_: how suspicious each answer was while answers were judged, in their order.
    """

    def __init__(
        self,
        network: Any = "mlp",
        shape: tuple[int, ...] | None = None,
        *,
        removed_share: float = 0.2,
        count_decay: float = 0.9,
        **shared: Any,
    ) -> None:
        super().__init__(network, shape, **shared)
        self.removed_share = removed_share
        self.count_decay = count_decay

    def _learn(self, setting: LearnerSetting) -> Outcome:
        peers = self._peers(setting, self.count_decay)
        codes = setting.pools.codes.cpu().numpy()
        most_suspected(peers.suspicion.counts, codes, self.removed_share)  # refuses a bad share
        first = run(self._discriminators(setting, peers), setting, self.on_epoch, "cleansing")
        self.suspicion_ = peers.suspicion.counts
        places = most_suspected(self.suspicion_, codes, self.removed_share)
        self.removed_ = setting.pools.labelled.cpu().numpy()[places]
        if first.interrupted:
            return self._all_kept(first)
        cleaned = replace(setting, pools=setting.pools.without(places))
        second = run(self._learner(cleaned), cleaned, self.on_epoch, "training again", first)
        if second.history is first.history:  # interrupted before it had anything to show
            return self._all_kept(second)
        stages = [0.0] * len(first.history["labelled"]) + [1.0] * len(second.history["labelled"])
        history = {name: [*first.history[name], *second.history[name]] for name in first.history}
        return Outcome(second.state, {**history, "stage": stages}, second.interrupted)

    def _all_kept(self, outcome: Outcome) -> Outcome:
        """The weights that are kept come from all answers."""
        self.removed_ = np.zeros(0, dtype=np.int64)
        return outcome
