"""Teachers of the multi-winner experiments, their votes, and what the cells of tables say."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ballotine.metrics import balanced_accuracy
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.multiwinner.accounts import counted
from ballotine_reproduction.multiwinner.elections import (
    QUICK_TEACHERS,
    LabelElection,
    LabelShare,
    elections,
    train,
)
from ballotine_reproduction.multiwinner.sets import MADE_UP, YEAST, profiles

QUICK = Setting(quick=True, seeds=1)


def test_a_teacher_votes_for_the_only_class_it_saw() -> None:
    draw = np.random.default_rng(0)
    X = draw.normal(size=(30, 3))
    y = np.column_stack([X[:, 0] > 0, np.zeros(30), np.ones(30)]).astype(np.int64)
    position, model = train(LabelShare(4, X, y))
    thought = model.predict_proba(X)
    assert position == 4
    assert np.all(thought[:, 1] == 0.0)
    assert np.all(thought[:, 2] == 1.0)
    assert np.mean((thought[:, 0] > 0.5) == y[:, 0]) > 0.8


def test_votes_are_kept_and_found_again(tmp_path: Path) -> None:
    (fresh,) = elections(MADE_UP, QUICK)
    setting = Setting(quick=True, seeds=1, cache=tmp_path / "cache")
    (first,) = elections(MADE_UP, setting)
    (file,) = (tmp_path / "cache").iterdir()
    assert file.suffix == ".npz"
    before = file.stat().st_mtime_ns
    (second,) = elections(MADE_UP, setting)
    assert file.stat().st_mtime_ns == before
    for election in (first, second):
        assert np.array_equal(election.probabilities, fresh.probabilities)
        assert np.array_equal(election.truth, fresh.truth)
    # What is found is what the file holds.
    with np.load(file) as archive:
        thought = archive["probabilities"]
    np.savez(file, probabilities=1.0 - thought)
    (third,) = elections(MADE_UP, setting)
    assert np.array_equal(third.probabilities, 1.0 - fresh.probabilities)


def test_seeds_differ_in_partition_and_order(tmp_path: Path) -> None:
    first, second = elections(MADE_UP, Setting(quick=True, seeds=5, cache=tmp_path))
    assert len(list(tmp_path.iterdir())) == 2
    assert not np.array_equal(first.truth, second.truth)
    assert sorted(map(tuple, first.truth.tolist())) == sorted(map(tuple, second.truth.tolist()))
    assert first.teachers == QUICK_TEACHERS
    # Ballots and truth are shuffled alike: the teachers know something of the truth.
    for election in (first, second):
        named = election.ballots().mean(axis=1) > 0.5
        assert balanced_accuracy(election.truth, named.astype(np.int64)) > 0.65
    assert not np.array_equal(first.noise().gaussian(1, 1), second.noise().gaussian(1, 1))
    assert np.array_equal(first.noise().gaussian(1, 1), first.noise().gaussian(1, 1))


def test_labels_and_queries_are_taken_together_with_their_thresholds() -> None:
    draw = np.random.default_rng(1)
    thought = draw.random((6, 3, 4)).astype(np.float32)
    truth = draw.integers(0, 2, (6, 4))
    election = LabelElection(0, thought, truth, ("a", "b", "c", "d"), (0.1, 0.9, 0.5, 0.3))
    ballots = election.ballots()
    assert np.array_equal(ballots, thought > np.array([0.1, 0.9, 0.5, 0.3]))
    some = election.of_labels((3, 1))
    assert some.names == ("d", "b")
    assert np.array_equal(some.ballots(), ballots[..., [3, 1]])
    assert np.array_equal(some.truth, truth[:, [3, 1]])
    assert np.array_equal(election.first_labels(2).ballots(), ballots[..., :2])
    head = election.first_queries(2)
    assert np.array_equal(head.ballots(), ballots[:2])
    assert np.array_equal(head.noise().gaussian(1, 2), election.noise().gaussian(1, 2)[:2])
    one = election.ballots(1)
    assert one.sum(axis=2).max() == 1
    assert np.all(one <= ballots)


def test_a_quick_run_needs_no_data() -> None:
    assert profiles(QUICK, YEAST) == (MADE_UP,)
    assert profiles(Setting(), YEAST) == (YEAST,)
    assert len(profiles(Setting())) == 3


def test_answered_queries_say_when_the_pool_ended() -> None:
    assert counted([10, 10], 10) == "10 (all)"
    assert counted([9, 10], 10).endswith("(all in 1 of 2)")
    assert counted([3, 3], 10) == "3"
