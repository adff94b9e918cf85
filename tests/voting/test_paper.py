"""Paper mode: who cannot answer anything reserves nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ballotine.errors import InsufficientBudgetError
from ballotine.ledger import Ledger, Mode
from ballotine.noise import SecureNoise
from ballotine.privacy.guarantee import Budget
from ballotine.voting import (
    BinaryVoting,
    ConfidentGNMax,
    GNMax,
    LNMax,
    Mechanism,
    Plan,
    PowersetVoting,
    Rules,
)
from ballotine.voting.individual.saved import plan_saved
from tests.voting.sessions import cast, open_session, rules_for

CLASSES = np.random.default_rng(3).integers(0, 3, (12, 9))
LABELS = np.random.default_rng(4).integers(0, 2, (6, 5, 3))
TINY = Budget(1e-3, 1e-5)


@pytest.mark.parametrize(
    "mechanism",
    [
        GNMax(40.0),
        ConfidentGNMax(40.0, 5.0, 40.0),
        ConfidentGNMax(40.0, 5.0, 1e6),  # an abstention alone would fit
        LNMax(0.05),
        BinaryVoting(20.0),
        BinaryVoting(20.0, threshold=3.0, sigma_threshold=20.0),
        PowersetVoting(20.0, 2),
    ],
)
def test_a_budget_below_the_first_answer_is_not_touched(
    tmp_path: Path, mechanism: Mechanism
) -> None:
    voters = cast(LABELS if mechanism.multilabel else CLASSES)
    rules = rules_for(mechanism, voters, 3, TINY, Mode.PAPER)
    path = tmp_path / "book.sqlite"
    with open_session(rules, voters, SecureNoise(), path) as session:
        rows = np.arange(6)
        found = session.answer(rows, [bytes([row]) for row in rows])
        assert not found.asked.any()
        problem = session.refusal()
        assert isinstance(problem, InsufficientBudgetError)
        assert "nothing was charged" in str(problem)
    with Ledger.existing(path) as ledger:
        assert ledger.spending().asked == 0


def test_teachers_that_take_turns_are_not_charged_either() -> None:
    rows = [{"teacher": str(i), "group": "ab"[i % 2]} for i in range(9)]
    budgets = {"a": 1e-3, "b": 2e-3}
    plan: Plan = plan_saved(rows, budgets, 9, GNMax(40.0), 3, 1e-5, "vanishing")
    with open_session(Rules(plan, 3, Mode.PAPER), cast(CLASSES), groups="x") as session:
        assert not session.answer(np.arange(12)).asked.any()
        assert session.ledger.spending().asked == 0
