"""From records to an ensemble that the rest of the pipeline can use."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from torch import nn

from ballotine.data.partition import Partition, make_partition
from ballotine.errors import DataError, LedgerMismatchError, ParameterError, RunFolderError
from ballotine.ledger import Ledger
from ballotine.neural import TorchClassifier
from ballotine.noise import SeededNoise
from ballotine.privacy.guarantee import Budget
from ballotine.teachers import TeacherStore
from ballotine.teachers.engine import make_engine
from ballotine.teachers.train import Teacher
from ballotine.teachers.ttac import (
    Architecture,
    LearnTogether,
    LocalRecords,
    Rounds,
    RoundsAccount,
    TtacTrainer,
)

DIGITS = load_digits()
X, Y = (DIGITS.data / 8.0 - 1.0).astype(np.float32), DIGITS.target.astype(np.int64)
LINEAR = TorchClassifier("linear", batch=20)
HOW = LearnTogether(rounds=25, steps=5, step_size=0.1, decay=0.97)
SORTED = make_partition("similarity", Y, 5, b"secret", s=0)


def normed(shape: tuple[int, ...], outputs: int) -> nn.Module:
    return nn.Sequential(nn.BatchNorm1d(shape[0]), nn.Linear(shape[0], outputs))


def accuracy(method: str) -> float:
    how = replace(HOW, method=method)  # type: ignore[arg-type]
    ensemble = TtacTrainer(LINEAR, how, 10, b"secret").train(X, Y, SORTED)
    ballots = ensemble.ballots(X)
    counts = np.stack([(ballots == label).sum(axis=1) for label in range(10)], axis=1)
    return float((counts.argmax(axis=1) == Y).mean())


def test_teachers_with_two_classes_each_agree_only_when_they_are_corrected() -> None:
    together, alone = accuracy("ttac"), accuracy("conventional")
    assert together > 0.85
    assert alone < 0.6


def test_votes_are_those_of_the_last_rounds_own_weights_and_buffers() -> None:
    how, network = replace(HOW, rounds=3), TorchClassifier(normed, batch=20)
    ensemble = TtacTrainer(network, how, 10, b"secret").train(X, Y, SORTED)
    records = [LocalRecords(X[share], Y[share]) for share in SORTED.shares]
    *_, state = Rounds(Architecture(normed, (64,), 10), how, 20, b"secret").train(records)
    for place, teacher in enumerate(ensemble.teachers):
        own, buffers = state.weights[place], state.buffers[place]
        assert buffers is not None
        gain, shift = own[:64], own[64:128]
        W, b = own[128:-10].reshape(10, 64), own[-10:]
        spread = np.sqrt(buffers["0.running_var"] + 1e-5)
        inputs = (X - buffers["0.running_mean"]) / spread * gain + shift
        scores = inputs @ W.T + b
        chances = teacher.model.predict_proba(X)
        expected = np.exp(scores - scores.max(axis=1, keepdims=True))
        expected /= expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(chances, expected, atol=1e-4)


def test_an_interrupted_training_goes_on_with_the_same_votes(tmp_path: Path) -> None:
    how = replace(HOW, rounds=4)
    whole = TtacTrainer(LINEAR, how, 10, b"secret").train(X, Y, SORTED).ballots(X[:200])
    told: list[int] = []

    class StopError(Exception):
        pass

    def advance(done: int) -> None:
        told.append(done)
        if sum(told) == 2:
            raise StopError

    trainer = TtacTrainer(LINEAR, how, 10, b"secret", folder=tmp_path)
    with pytest.raises(StopError):
        trainer.train(X, Y, SORTED, advance)
    told.clear()
    resumed = trainer.train(X, Y, SORTED, told.append)
    assert told == [2, 1, 1]
    np.testing.assert_array_equal(resumed.ballots(X[:200]), whole)


def private_trainer(
    ledger: Ledger, folder: Path | None, z: float = 10.0, seed: int = 0
) -> TtacTrainer:
    how = replace(HOW, rounds=3, clip=1.0, noise_multiplier=z)
    account = RoundsAccount(ledger, SeededNoise(seed))
    return TtacTrainer(LINEAR, how, 10, b"s", account=account, folder=folder, digest="a digest")


def test_a_kept_private_training_goes_on_with_its_own_ledger_only(tmp_path: Path) -> None:
    ledger = Ledger.open(None, Budget(50.0, 1e-5))
    random = make_partition("random", Y, 5, b"secret")
    trainer = private_trainer(ledger, tmp_path)
    ballots = trainer.train(X, Y, random).ballots(X[:50])
    assert ledger.spending().asked == 2
    np.testing.assert_array_equal(trainer.train(X, Y, random).ballots(X[:50]), ballots)
    assert ledger.spending().asked == 2
    fresh = Ledger.open(None, Budget(50.0, 1e-5))
    with pytest.raises(LedgerMismatchError, match="ledger that paid"):
        private_trainer(fresh, tmp_path).train(X, Y, random)
    with pytest.raises(RunFolderError, match="other settings"):
        private_trainer(ledger, tmp_path, z=11.0).train(X, Y, random)
    with pytest.raises(RunFolderError, match="other settings"):
        replace(trainer, digest="another digest").train(X, Y, random)


def test_a_state_without_noise_is_never_taken_for_a_private_one(tmp_path: Path) -> None:
    private = private_trainer(Ledger.open(None, Budget(50.0, 1e-5)), tmp_path)
    random = make_partition("random", Y, 5, b"secret")
    plain = replace(private.settings, clip=None, noise_multiplier=None)
    replace(private, settings=plain).train(X, Y, random)
    with pytest.raises(RunFolderError, match="other settings"):
        private.train(X, Y, random)


def test_ensembles_are_told_apart_by_the_noise_they_saw(tmp_path: Path) -> None:
    random = make_partition("random", Y, 5, b"secret")
    names = []
    for number, (seed, z) in enumerate([(0, 10.0), (0, 10.0), (1, 10.0), (0, 11.0)]):
        ledger = Ledger.open(None, Budget(50.0, 1e-5))
        trainer = private_trainer(ledger, tmp_path / str(number), z, seed)
        names.append(trainer.train(X, Y, random).identity)
        # Taken up again from what was kept, it is the same one.
        assert trainer.train(X, Y, random).identity == names[-1]
    settings = replace(trainer.settings, clip=None, noise_multiplier=None)
    plain = replace(trainer, settings=settings, folder=None).train(X, Y, random)
    assert names[0] == names[1]
    assert len({*names, plain.identity}) == 4


def test_private_rounds_refuse_records_that_are_taught_twice(tmp_path: Path) -> None:
    ledger = Ledger.open(None, Budget(50.0, 1e-5))
    twice = Partition((np.arange(10), np.arange(9, 20)), data_dependent=False)
    with pytest.raises(ParameterError, match="one share only"):
        private_trainer(ledger, tmp_path).train(X, Y, twice)
    assert ledger.spending().asked == 0


def test_a_broken_teacher_casts_a_constant_ballot_and_is_reported() -> None:
    spoilt = X.copy()
    spoilt[SORTED.shares[2]] = np.nan
    ledger = Ledger.open(None, Budget(50.0, 1e-5))
    ensemble = private_trainer(ledger, None).train(spoilt, Y, SORTED)
    assert list(ensemble.problems) == [2]
    assert len(ensemble) == 5
    assert set(ensemble.ballots(X[:50])[:, 2].tolist()) == {0}


def test_a_teacher_of_an_ensemble_is_kept_like_any_other(tmp_path: Path) -> None:
    trainer = TtacTrainer(LINEAR, replace(HOW, rounds=2), 10, b"secret")
    teacher = trainer.train(X, Y, SORTED).teachers[1]
    assert isinstance(teacher, Teacher)
    store = TeacherStore(tmp_path)
    store.save(teacher)
    found = store.load(1)
    assert found is not None
    np.testing.assert_array_equal(found.model.predict(X[:100]), teacher.model.predict(X[:100]))


def test_names_of_ensembles() -> None:
    trainer = TtacTrainer(LINEAR, HOW, 10, b"secret")
    names = {
        trainer.identity(5, 64),
        trainer.identity(6, 64),
        trainer.identity(5, 65),
        replace(trainer, secret=b"other").identity(5, 64),
        replace(trainer, settings=replace(HOW, rounds=26)).identity(5, 64),
        replace(trainer, network=TorchClassifier("linear", batch=21)).identity(5, 64),
    }
    assert len(names) == 6
    assert trainer.identity(5, 64) == TtacTrainer(LINEAR, HOW, 10, b"secret").identity(5, 64)


def test_names_in_existing_ledgers_stay() -> None:
    """As version 0.1 computed them: another name would pay for the same queries again."""
    flat = TtacTrainer(LINEAR, HOW, 10, b"secret").identity(5, 64)
    assert flat.hex() == "24d570323823d4f1b114fc0ce76fb4a6d2f6ad983725fefeb3e431c4bd615007"
    images = TorchClassifier("small-cnn", (1, 8, 8))
    settings = LearnTogether("averaging", 7, clip=1.0, share=0.25)
    account = RoundsAccount(Ledger.open(None, Budget(50.0, 1e-5)), SeededNoise(0))
    found = TtacTrainer(images, settings, 10, b"s", account=account).identity(3, 64)
    assert found.hex() == "ae86d4ffcc2836d5668f8f14bdb03159af0cbb33933d5b86acf15090879bb66c"


def test_private_rounds_without_an_account_are_refused() -> None:
    with pytest.raises(ParameterError, match="need an account"):
        TtacTrainer(LINEAR, replace(HOW, clip=1.0), 10, b"secret")


def test_classes_outside_their_range() -> None:
    with pytest.raises(DataError, match="0 to 4"):
        TtacTrainer(LINEAR, HOW, 5, b"secret").train(X, Y, SORTED)


@pytest.mark.extras
@pytest.mark.filterwarnings("ignore")  # what Ray warns of while starting is not ours to mend
def test_ray_trains_the_same_teachers() -> None:
    import ray

    how = replace(HOW, rounds=2)
    try:
        found = [
            TtacTrainer(LINEAR, how, 10, b"secret", make_engine(name, 2))
            .train(X, Y, SORTED)
            .ballots(X)
            for name in ("local", "ray")
        ]
    finally:
        ray.shutdown()
    np.testing.assert_array_equal(found[0], found[1])
