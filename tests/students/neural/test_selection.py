"""Small losses, disagreement and suspicion, against plain loops."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ballotine.errors import ParameterError
from ballotine.students.neural.losses import answer_losses
from ballotine.students.neural.pools import Batch
from ballotine.students.neural.teaching import (
    Peers,
    Suspicion,
    exchanged,
    kept_share,
    most_suspected,
    smallest,
)

seeds = st.integers(0, 2**32 - 1)


def test_the_share_of_kept_answers_falls_for_fifteen_epochs() -> None:
    for epoch in range(1, 40):
        wanted = 1 - Fraction(3, 10) * min(Fraction(epoch, 15), Fraction(1))
        assert kept_share(epoch, 0.3) == pytest.approx(float(wanted))
    assert kept_share(15, 0.4) == kept_share(400, 0.4) == pytest.approx(0.6)
    assert kept_share(3, 0.0) == 1.0


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(0, 40), st.integers(1, 20))
def test_each_peer_learns_what_the_other_finds_easiest(seed: int, rows: int, part: int) -> None:
    draw = np.random.default_rng(seed)
    losses = tuple(torch.from_numpy(draw.random(rows)) for _ in range(2))
    candidates = np.flatnonzero(draw.random(rows) < 0.6)
    found = exchanged(losses, torch.from_numpy(candidates), part / 20)
    size = math.ceil(Fraction(part, 20) * len(candidates))
    for chosen, judge in zip(found, (losses[1], losses[0]), strict=True):
        ranked = sorted(candidates, key=lambda row: float(judge[row]))
        assert sorted(chosen.tolist()) == sorted(ranked[:size])


def test_rounding_never_keeps_one_more() -> None:
    assert len(smallest(torch.arange(100.0), 1 - 0.2 * 0.5)) == 90
    assert len(smallest(torch.arange(10.0), 1 - 0.3)) == 7
    assert len(smallest(torch.arange(1.0), 0.6)) == 1
    assert len(smallest(torch.zeros(0), 0.6)) == 0


def batch_of(codes: np.ndarray, places: np.ndarray | None = None) -> Batch:
    places = np.arange(len(codes)) if places is None else places
    return Batch(torch.from_numpy(places), torch.from_numpy(codes), torch.zeros(len(codes), 1))


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(1, 30), st.integers(0, 30), st.booleans())
def test_the_lesson_of_peers(seed: int, rows: int, epoch: int, by_disagreement: bool) -> None:
    draw = np.random.default_rng(seed)
    first, second = (torch.from_numpy(draw.normal(size=(rows, 4))) for _ in range(2))
    codes = draw.integers(0, 4, rows)
    peers = Peers(rows, 0.4, by_disagreement=by_disagreement)
    lesson = peers([first, second], batch_of(codes), epoch)
    losses = [answer_losses(part, torch.from_numpy(codes)).tolist() for part in (first, second)]
    candidates = [
        row
        for row in range(rows)
        if not by_disagreement or first[row].argmax() != second[row].argmax()
    ] or list(range(rows))
    size = math.ceil(round((1 - 0.4 * min((epoch + 1) / 15, 1)) * len(candidates), 9))
    for own, judge, found in zip(losses, losses[::-1], lesson.losses, strict=True):
        chosen = sorted(candidates, key=lambda row: judge[row])[:size]
        wanted = sum(own[row] for row in chosen) / len(chosen)
        assert float(found) == pytest.approx(wanted)
    assert float(lesson.criterion) == pytest.approx(np.mean(losses))


def test_peers_who_agree_on_everything_still_learn() -> None:
    """They would never leave that state otherwise: both may name one class for every row."""
    same = torch.tensor([[2.0, 0.0, 0.0]] * 3)
    codes = np.array([0, 1, 2])
    lessons = [
        Peers(3, 0.2, by_disagreement=by_disagreement)([same, same], batch_of(codes), 0)
        for by_disagreement in (True, False)
    ]
    found, plain = ([float(loss) for loss in lesson.losses] for lesson in lessons)
    assert found == plain
    assert min(found) > 0


@settings(max_examples=30, deadline=None)
@given(seeds, st.floats(0, 1))
def test_suspicion_against_a_plain_loop(seed: int, decay: float) -> None:
    draw = np.random.default_rng(seed)
    answers = 12
    codes = draw.integers(0, 3, answers)
    peers = Peers(answers, 0.2, by_disagreement=True, decay=decay)
    running = [0.0] * answers
    for epoch in range(4):
        marks = [0] * answers
        disagreed = set()
        for _ in range(3):  # places come again within an epoch, as when a pool is repeated
            places = draw.permutation(answers)[:8]
            logits = [torch.from_numpy(draw.normal(size=(8, 3))) for _ in range(2)]
            peers(logits, batch_of(codes[places], places), epoch)
            for row, place in enumerate(places):
                one, two = int(logits[0][row].argmax()), int(logits[1][row].argmax())
                if one != two:
                    disagreed.add(int(place))
                    if codes[place] not in (one, two):
                        marks[place] = 1
        numbers, rows = peers.end_epoch()
        assert set(rows["disagreed"].tolist()) == disagreed
        assert numbers["disagreed"] == len(disagreed)
        assert rows["suspected"].tolist() == [i for i, mark in enumerate(marks) if mark]
        running = [decay * count + mark for count, mark in zip(running, marks, strict=True)]
    np.testing.assert_allclose(peers.suspicion.counts, running)


def test_counts_decay_as_the_text_says() -> None:
    suspicion = Suspicion(2, 0.5)
    suspicion.mark(np.array([0]))
    suspicion.end_epoch()
    suspicion.mark(np.array([1]))
    suspicion.end_epoch()
    assert suspicion.counts.tolist() == [0.5, 1.0]  # as printed, both would be 0.5


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(1, 30), st.floats(0, 0.99))
def test_what_is_forgotten(seed: int, answers: int, share: float) -> None:
    draw = np.random.default_rng(seed)
    counts = draw.integers(0, 4, answers) * 0.5
    codes = draw.integers(0, 3, answers)
    removed = most_suspected(counts, codes, share)
    assert len(removed) <= share * answers + 1e-6
    assert np.all(counts[removed] > 0)
    kept = np.setdiff1d(np.arange(answers), removed)
    assert set(codes[kept]) == set(codes)
    for code in np.unique(codes):  # who stays is suspected no more than who goes, or is the last
        staying = kept[codes[kept] == code]
        going = removed[codes[removed] == code]
        if len(going):
            assert counts[staying].min() <= counts[going].min()
    if len(removed) < int(share * answers + 1e-9):
        last = [place for place in kept if np.sum(codes[kept] == codes[place]) == 1]
        assert all(counts[place] == 0 or place in last for place in kept)


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_a_share_is_a_share(share: float) -> None:
    with pytest.raises(ParameterError, match="share"):
        most_suspected(np.zeros(3), np.arange(3), share)
    with pytest.raises(ParameterError, match="noise rate"):
        Peers(3, share, by_disagreement=True)
