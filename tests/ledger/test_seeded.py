"""A ledger remembers that noise came from a seed: whoever knows the seed can remove it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ballotine.ledger import Ledger, Spending, verify
from ballotine.noise import SecureNoise, SeededNoise
from ballotine.privacy.events import GaussianCheck
from ballotine.voting.promise import guarantee_of
from tests.conftest import Command
from tests.ledger.conftest import BUDGET, all_of, bound, labels, opened, queries

CHECK = GaussianCheck(30.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "l.sqlite"


def test_secure_answers_after_seeded_ones_do_not_hide_the_seed(path: Path) -> None:
    with Ledger.open(path, BUDGET) as ledger:
        labels(opened(ledger), queries(3))
        assert not guarantee_of(ledger, SecureNoise()).seeded
        labels(opened(ledger, noise=SeededNoise(1)), queries(3, 10))
        labels(opened(ledger), queries(3, 20))
        assert guarantee_of(ledger, SecureNoise()).seeded
    with Ledger.existing(path) as again:
        assert guarantee_of(again, SecureNoise()).seeded
        verify(again)


def test_answers_that_were_stored_before_need_no_seed(path: Path) -> None:
    with Ledger.open(path, BUDGET) as ledger:
        labels(opened(ledger), queries(3))
        labels(opened(ledger, noise=SeededNoise(1)), queries(3))
        assert not ledger.spending().seeded


def test_a_reservation_of_secure_noise_may_be_answered_with_a_seed(path: Path) -> None:
    with Ledger.open(path, BUDGET) as ledger:
        ledger.reserve(queries(2), bound((CHECK,)))
        assert not ledger.spending().seeded
        grant = ledger.reserve(queries(2), bound((CHECK,)), seeded=True)
        assert not ledger.spending().seeded, "nothing was drawn yet, and nothing new was paid"
        ledger.record(grant, np.zeros(2, dtype=np.int64), all_of(CHECK))
        assert ledger.spending().seeded


def test_what_a_killed_session_may_have_drawn_is_seeded(path: Path) -> None:
    with Ledger.open(path, BUDGET) as ledger:
        ledger.reserve(queries(2), bound((CHECK,)), seeded=True)
        assert ledger.spending().seeded


def test_a_checkpoint_keeps_it_and_older_checkpoints_say_nothing(
    monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    monkeypatch.setattr("ballotine.ledger.writer.CHECKPOINT_INTERVAL", 5)
    with Ledger.open(path, BUDGET) as ledger:
        for part in range(4):
            labels(opened(ledger), queries(1, part))
        assert list(ledger.checkpoints())
        assert "seeded" not in ledger.spending().to_state(), "as it was written before"
        for part in range(4, 8):
            labels(opened(ledger, noise=SeededNoise(1)), queries(1, part))
        for part in range(8, 16):
            labels(opened(ledger), queries(1, part))
    with Ledger.existing(path) as again:
        assert [found.seeded for found in again.checkpoints()][-1]
        state = json.loads(json.dumps(again.spending().to_state()))
        assert Spending.from_state(state).seeded
        verify(again)


def test_show_says_so(path: Path, ballotine: Command) -> None:
    with Ledger.open(path, BUDGET) as ledger:
        labels(opened(ledger), queries(1))
    assert "seed" not in ballotine("ledger", "show", path).stdout
    assert json.loads(ballotine("ledger", "show", path, "--json").stdout)["seeded"] is False
    with Ledger.open(path, BUDGET) as ledger:
        labels(opened(ledger, noise=SeededNoise(1)), queries(1, 5))
    assert "seeded noise" in ballotine("ledger", "show", path).stdout
    assert json.loads(ballotine("ledger", "show", path, "--json").stdout)["seeded"] is True
