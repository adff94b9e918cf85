"""How long and at which step size each method trains; chosen on held-out private rows.

Every method got the same four step sizes (0.05, 0.1, 0.2, 0.4), the same 1,000 steps per teacher,
and was evaluated by its labels at γ = 0.5 on the last 5,000 training rows, which its teachers
did not see. No test row was used. docs/papers/ttac.md records the search.
"""

from __future__ import annotations

from dataclasses import dataclass

from ballotine.neural import TorchClassifier
from ballotine.teachers.ttac import LearnTogether, Method
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.pool import Pool
from ballotine_reproduction.ttac.pools import one_hidden_layer

STEP_SIZES: dict[Method, float] = {"ttac": 0.2, "averaging": 0.4, "conventional": 0.4}
ROUNDS = 100
QUICK_ROUNDS = 25
LONGER = 4
"""Multiple of the steps in the row that gives conventional teachers more than the others."""


@dataclass(frozen=True)
class TrainingEffort:
    """What teachers are, and how they learn."""

    network: TorchClassifier
    settings: LearnTogether


def effort_of(setting: Setting, pool: Pool, method: Method, times: int = 1) -> TrainingEffort:
    """The training of one method, with ``times`` as many steps."""
    rounds = QUICK_ROUNDS if setting.quick else ROUNDS
    settings = LearnTogether(
        method,
        rounds * times,
        steps=10,
        step_size=STEP_SIZES[method],
        # The last step size is the same share of the first, however many rounds there are.
        decay=(0.985 ** (ROUNDS / rounds)) ** (1 / times),
    )
    return TrainingEffort(TorchClassifier(one_hidden_layer, pool.shape, batch=50), settings)
