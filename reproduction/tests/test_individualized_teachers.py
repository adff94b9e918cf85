"""Who teaches whom, what teachers see, and votes that are kept."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.naive_bayes import GaussianNB

from ballotine.errors import DataError, DataUnavailableError, ParameterError
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.individualized import ballots, ensembles, sets
from ballotine_reproduction.individualized.layout import QUARTERS, THIRDS, Layout
from ballotine_reproduction.individualized.sets import SplitSet


@pytest.fixture
def pool() -> SplitSet:
    draw = np.random.default_rng(0)
    y = np.tile([0, 1], 60)
    X = draw.normal(size=(120, 3)) + 2.0 * y[:, None]
    return SplitSet("toy", X, y, 2, (80, 30, 10), "naive Bayes", sets.ADULT)


@given(
    layout=st.sampled_from([QUARTERS, THIRDS, Layout((1.0,), (2,))]),
    records=st.integers(40, 400),
    teachers=st.integers(20, 40),
    seed=st.integers(0, 1000),
)
@settings(max_examples=40, deadline=None)
def test_a_record_is_taught_once_in_each_layer_of_its_segment(
    layout: Layout, records: int, teachers: int, seed: int
) -> None:
    names = np.arange(1000, 1000 + records)
    deal = layout.deal(names, teachers, seed)
    assert sum(layout.cuts(teachers)) == teachers
    taught: Counter[int] = Counter()
    segments: dict[int, set[int]] = {}
    for share, segment in zip(deal.shares, deal.segment, strict=True):
        assert len(set(share.tolist())) == len(share)
        taught.update(share.tolist())
        for record in share.tolist():
            segments.setdefault(record, set()).add(int(segment))
    assert set(taught) == set(names.tolist())
    for record, times in taught.items():
        (segment,) = segments[record]
        assert times == layout.layers[segment]
    base = np.concatenate(
        [s for s, layer in zip(deal.shares, deal.layer, strict=True) if not layer]
    )
    assert sorted(base.tolist()) == names.tolist()


def test_a_layout_must_be_whole() -> None:
    with pytest.raises(ParameterError, match="end at 1"):
        Layout((0.5, 0.9), (1, 1))
    with pytest.raises(ParameterError, match="every segment"):
        Layout((0.5, 1.0), (1,))


def test_a_split_is_disjoint_and_another_for_every_seed(pool: SplitSet) -> None:
    parts = pool.split(0)
    assert tuple(part.size for part in parts) == pool.sizes
    assert len(np.unique(np.concatenate(parts))) == sum(pool.sizes)
    assert not np.array_equal(pool.split(1)[0], parts[0])


def test_categories_become_ranks_and_gaps_are_seen() -> None:
    names = ("age", "kind=b", "kind=a", "kind=c", "sex=m", "sex=f")
    X = np.array(
        [
            [0.5, 1, 0, 0, 1, 0],
            [0.1, 0, 1, 0, 0, 1],
            [0.2, 0, 0, 1, 0, 0],
            [0.3, 0, 0, 0, 1, 0],
        ]
    )
    numbers, whole = sets.as_numbers(X, names)
    assert whole.tolist() == [True, True, False, False]
    # Alphabetical ranks: a, b, c are 0, ½, 1 and f, m are 0, 1.
    assert numbers[:2].tolist() == [[0.5, 0.5, 1.0], [0.1, 0.0, 0.0]]


def moments(image: np.ndarray) -> tuple[float, float, float]:
    at = np.arange(sets.SIDE)
    mass = image.sum()
    row, column = image.sum(axis=1) @ at / mass, image.sum(axis=0) @ at / mass
    slant = (at - row) @ image @ (at - column) / mass
    return float(row), float(column), float(slant)


def test_a_slanted_stroke_stands_upright_in_the_middle() -> None:
    image = np.zeros((sets.SIDE, sets.SIDE), dtype=np.float32)
    for row in range(4, 20):
        image[row, 3 + row // 2 : 6 + row // 2] = 1.0
    row, column, slant = moments(image)
    assert abs(slant) > 5
    (straight,) = sets.upright(image[None])
    row, column, slant = moments(straight)
    assert abs(slant) < 0.5
    assert row == pytest.approx(13.5, abs=0.3)
    assert column == pytest.approx(13.5, abs=0.3)
    assert straight.sum() == pytest.approx(image.sum(), rel=0.05)
    assert np.all(np.isfinite(sets.upright(np.zeros((1, 28, 28), dtype=np.float32))))


def test_an_image_is_halved_by_means() -> None:
    image = np.arange(28 * 28, dtype=np.float64).reshape(1, 28, 28)
    small = sets.halved(image)
    assert small.shape == (1, 196)
    assert small[0, 0] == np.mean([0, 1, 28, 29])
    assert small[0, 15] == np.mean(image[0, 2:4, 2:4])


def test_votes_are_those_of_teachers_trained_by_hand(pool: SplitSet) -> None:
    private, public, _ = pool.split(0)
    deal = QUARTERS.deal(private, 12, 0)
    votes = ballots.cast_ballots(Setting(), pool, deal.shares, public, 0)
    assert votes.shape == (30, len(deal.shares))
    for column, share in enumerate(deal.shares):
        y = pool.y[share]
        if len(set(y.tolist())) > 1:
            model = GaussianNB(var_smoothing=1e-2).fit(pool.X[share], y)
            assert votes[:, column].tolist() == model.predict(pool.X[public]).tolist()
        else:
            assert set(votes[:, column].tolist()) == {int(y[0])}


def test_votes_are_kept_by_all_they_depend_on(pool: SplitSet, tmp_path: Path) -> None:
    private, public, _ = pool.split(0)
    shares = QUARTERS.deal(private, 8, 0).shares
    setting = Setting(cache=tmp_path / "kept")
    votes = ballots.cast_ballots(setting, pool, shares, public, 0)
    (file,) = (tmp_path / "kept").iterdir()
    # What is in the file is what comes back: no teacher is trained for it.
    with file.open("wb") as out:
        np.savez_compressed(out, votes=1 - votes)
    assert np.array_equal(ballots.cast_ballots(setting, pool, shares, public, 0), 1 - votes)
    others = [
        (pool, shares, public, 1),
        (pool, shares[:-1], public, 0),
        (pool, shares, public[::-1], 0),
        (replace(pool, y=1 - pool.y), shares, public, 0),
        (replace(pool, teacher="forest of 100 trees"), shares[:1], public, 0),
    ]
    for number, (rows, dealt, asked, seed) in enumerate(others, start=2):
        ballots.cast_ballots(setting, rows, dealt, asked, seed)
        assert len(list((tmp_path / "kept").iterdir())) == number


def test_without_the_set_only_a_quick_run_is_possible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BALLOTINE_DATA", str(tmp_path))

    def nowhere(*_: object, **__: object) -> None:
        raise DataUnavailableError("no route")

    monkeypatch.setattr(sets.named, "get", nowhere)
    for load in (sets.adult, sets.mnist):
        with pytest.raises(DataUnavailableError):
            load(Setting())
        quick = load(Setting(quick=True))
        assert "made-up" in quick.name
        assert "mean nothing" in quick.notes[0]
        assert sum(quick.sizes) == len(quick.y)
    shares = np.bincount(sets.adult(Setting(quick=True)).y) / sum(quick.sizes)
    assert shares[1] == pytest.approx(0.25, abs=0.03)


def test_saved_votes_are_used_where_they_are(tmp_path: Path) -> None:
    assert ensembles.saved(Setting(data=tmp_path), QUARTERS) is None
    ballots = np.random.default_rng(0).integers(0, 10, size=(30, 20)).astype(np.uint8)
    np.savez(tmp_path / "votes_mnist_250.npz", ballots=ballots, y=np.arange(30) % 10)
    found = ensembles.saved(Setting(data=tmp_path, seeds=2), QUARTERS)
    assert found is not None
    assert not found.shared
    first, second = found.ensembles
    assert np.array_equal(first.ballots, ballots)
    assert np.bincount(first.segment).tolist() == [5, 5, 5, 5]
    assert not np.array_equal(first.segment, second.segment)
    np.savez(tmp_path / "votes_mnist_250.npz", ballots=ballots)
    with pytest.raises(DataError, match="ballots and y"):
        ensembles.saved(Setting(data=tmp_path), QUARTERS)
