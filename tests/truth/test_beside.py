"""What no estimator or file asks by itself: a student that asks back, and private rounds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ballotine.ledger import Binding, Ledger
from ballotine.noise import SeededNoise
from ballotine.types import ABSTAIN
from ballotine.voting import (
    CastBallots,
    GNMax,
    InteractiveGNMax,
    Mechanism,
    Plan,
    Rules,
    Session,
    Tallies,
)
from ballotine.voting.promise import guarantee_of
from tests.truth.accountant import Query, Record, Round
from tests.truth.adapter import rule_of
from tests.truth.cast import DELTA

TEACHERS, QUERIES, ENSEMBLES = 12, 8, (b"one", b"two")
ASKING = InteractiveGNMax(4.0, 1.0, 4.0, 0.9)
NOISE = SeededNoise(1)
MULTIPLIER = 3.0


@dataclass(frozen=True)
class AgainstNobody:
    """Teachers who are divided, beside a student that has learnt nothing yet."""

    identity: bytes

    def __len__(self) -> int:
        return TEACHERS

    def ballots(self, rows: Any) -> Tallies:
        counts, chances = np.full((len(rows), 2), TEACHERS / 2), np.full((len(rows), 2), 0.5)
        return ASKING.with_student(Tallies(counts), chances, TEACHERS)


def rules_of(mechanism: Mechanism) -> Rules:
    return Rules(Plan.standard_of(mechanism, TEACHERS, DELTA, 90.0), 2)


def asked(ledger: Ledger, mechanism: Mechanism, voters: Any, record: Record) -> None:
    """Some answers, and what a record of the first teacher paid for them."""
    session = Session.open(rules_of(mechanism), voters, ledger, NOISE)
    keys = [bytes([row]) * 8 for row in range(QUERIES)]
    rule = rule_of(mechanism.describe(), 2)
    for label in session.answer(np.arange(QUERIES), keys).labels:
        record.add(Query(rule, (1.0,) * TEACHERS, (), (), int(label >= 0)), [0])


def with_a_student(path: Path) -> tuple[float, float]:
    """The printed ε of two ensembles, and what a record paid at least."""
    record = Record()
    with Ledger.open(path, rules_of(ASKING).promise()) as ledger:
        for name in ENSEMBLES:
            asked(ledger, ASKING, AgainstNobody(name), record)
        return guarantee_of(ledger, NOISE).epsilon, record.epsilon(DELTA)


def with_rounds(path: Path) -> tuple[float, float]:
    """The same of teachers that learn together in private rounds, and then vote."""
    from ballotine.teachers.ttac import PrivateRounds

    record, mechanism = Record(), GNMax(4.0)
    with Ledger.open(path, rules_of(mechanism).promise()) as ledger:
        for name in ENSEMBLES:
            rounds = PrivateRounds(1.0, MULTIPLIER, ledger, NOISE, name)
            for number in range(3):
                rounds(number, np.ones((TEACHERS, 5), dtype=np.float32))
                record.worst[Round(MULTIPLIER)] += 1
            ballots = np.zeros((QUERIES, TEACHERS), dtype=np.int64)
            asked(ledger, mechanism, CastBallots(name, ballots), record)
        return guarantee_of(ledger, NOISE).epsilon, record.epsilon(DELTA)


def test_a_student_that_asks_pays_for_every_check_and_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed, true = with_a_student(tmp_path / "ledger.sqlite")
    assert 0.7 * printed < true <= printed
    whole = InteractiveGNMax.events
    monkeypatch.setattr(InteractiveGNMax, "events", lambda *given: whole(*given)[1:])
    monkeypatch.setattr(
        InteractiveGNMax,
        "realised",
        lambda own, answers, *more: Counter(
            {own.events(*more)[0]: int(np.count_nonzero(answers != ABSTAIN))}
        ),
    )
    printed, true = with_a_student(tmp_path / "without checks.sqlite")
    assert true > printed, "the harness can fail"


@pytest.mark.neural
def test_private_rounds_and_votes_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ballotine.teachers.ttac import PrivateRounds

    printed, true = with_rounds(tmp_path / "ledger.sqlite")
    assert 0.9 * printed < true <= printed
    whole = PrivateRounds.binding

    def cheaper(own: PrivateRounds) -> Binding:
        return whole(replace(own, noise_multiplier=1.2 * own.noise_multiplier))

    monkeypatch.setattr(PrivateRounds, "binding", cheaper)
    monkeypatch.setattr(
        PrivateRounds,
        "_released",
        lambda own, answers, _: Counter({own.binding().charge.by_group[0][1].events[0]: 1}),
    )
    printed, true = with_rounds(tmp_path / "cheaper.sqlite")
    assert true > printed, "the harness can fail"
