"""The one door out: equal queries, chunks, budgets."""

from __future__ import annotations

import numpy as np
import pytest

from ballotine.errors import DataError
from ballotine.ledger import Ledger
from ballotine.noise import SecureNoise, SeededNoise
from ballotine.privacy.guarantee import Budget
from ballotine.types import IntArray
from ballotine.voting import UNASKED, Answerer, ConfidentGNMax, GNMax, Tallies, query_ids

BUDGET = Budget(6.0, 1e-5)
ROWS = [bytes([i]) * 32 for i in range(200)]
CLASSES = np.array(["no", "maybe", "yes"])


def count(rows: IntArray) -> Tallies:
    return Tallies(np.tile([4.0, 3.0, 3.0], (len(rows), 1)))


def answer(chunk: int, rows: list[bytes] = ROWS, seed: int | None = 1) -> IntArray:
    ledger = Ledger.open(None, BUDGET)
    noise = SecureNoise() if seed is None else SeededNoise(seed)
    mechanism = ConfidentGNMax(10.0, 4.0, 15.0)
    ids = query_ids(rows, b"ensemble", mechanism)
    return Answerer(mechanism, ledger, noise, CLASSES, chunk=chunk).answer(ids, count).labels


def test_answers_do_not_depend_on_the_chunk() -> None:
    labels = answer(1)
    assert {UNASKED, -1} < set(labels)
    for chunk in (2, 7, 64, 1000):
        assert np.array_equal(answer(chunk), labels)


def test_unasked_queries_are_the_tail_of_the_pool() -> None:
    asked = answer(16, seed=None) != UNASKED
    assert np.all(np.diff(asked.astype(int)) <= 0)


def test_equal_rows_share_one_answer() -> None:
    labels = answer(8, rows=ROWS[:10] * 3, seed=None)
    assert np.array_equal(labels[:10], labels[10:20])
    assert np.array_equal(labels[:10], labels[20:])


def test_a_query_is_row_ensemble_and_mechanism() -> None:
    base = query_ids(ROWS[:1], b"e", GNMax(2.0))
    assert query_ids(ROWS[:1], b"e", GNMax(2.0)) == base
    others = [
        query_ids(ROWS[1:2], b"e", GNMax(2.0)),
        query_ids(ROWS[:1], b"f", GNMax(2.0)),
        query_ids(ROWS[:1], b"e", GNMax(3.0)),
    ]
    assert len({one[0] for one in [base, *others]}) == 4


def test_named_answers_and_progress() -> None:
    ledger = Ledger.open(None, BUDGET)
    steps: list[int] = []
    mechanism = GNMax(30.0)
    ids = query_ids(ROWS[:20], b"e", mechanism)
    answerer = Answerer(mechanism, ledger, SeededNoise(0), CLASSES, chunk=6)
    answers = answerer.answer(ids, count, steps.append)
    assert sum(steps) == 20
    assert answers.named.tolist() == [CLASSES[label] for label in answers.labels]
    assert answerer.answer(ids, count).named.tolist() == answers.named.tolist()


def test_tallies_of_another_number_of_classes_are_refused() -> None:
    ledger = Ledger.open(None, BUDGET)
    answerer = Answerer(GNMax(30.0), ledger, SecureNoise(), CLASSES[:2])
    with pytest.raises(DataError, match="number of classes"):
        answerer.answer(ROWS[:2], count)
