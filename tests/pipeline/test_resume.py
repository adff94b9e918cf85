"""A resumed run takes up what belongs to it, and nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ballotine.errors import RunFolderError
from ballotine.pipeline import Run, RunFile, RunFolder, RunResult, create_folder
from ballotine.pipeline.resume import digest_of

CONFIG = """
[run]
name = "kept"
folder = "out"
experiment = true
seed = 1
[data]
private = "private.npz"
public = "public.npz"
classes = [0, 1]
[teachers]
number = 10
kind = "naive-bayes"
jobs = 1
[voting]
mechanism = "gnmax"
sigma = 3.0
[budget]
epsilon = 60.0
delta = 1e-5
[student]
kind = "naive-bayes"
"""
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, 300)
X = RNG.normal(size=(300, 2)) + 4 * Y[:, None]
PUBLIC = RNG.normal(size=(40, 2)) + 4 * RNG.integers(0, 2, 40)[:, None]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    np.savez(tmp_path / "private.npz", X=X, y=Y)
    np.savez(tmp_path / "public.npz", X=PUBLIC)
    (tmp_path / "run.toml").write_text(CONFIG)
    return tmp_path


def resume(home: Path, text: str = CONFIG) -> RunResult:
    settings = RunFile.parse(text, "run").resolved(home)
    return Run(settings, RunFolder(home / "out")).execute()


def first(home: Path) -> RunResult:
    settings = RunFile.load(home / "run.toml")
    return Run(settings, create_folder(settings)).execute()


def test_what_is_kept_is_not_made_again(home: Path) -> None:
    folder = first(home).folder
    made = [folder.ballots, folder.student]
    times = [path.stat().st_mtime_ns for path in made]
    ballots = np.load(folder.ballots)
    again = resume(home)
    assert [path.stat().st_mtime_ns for path in made] == times
    assert np.array_equal(np.load(folder.ballots), ballots)
    assert again.answers.asked.all()


def test_another_pool_is_voted_on_again(home: Path) -> None:
    """Rows that changed in between must not be answered with votes on the old ones."""
    before = first(home)
    np.savez(home / "public.npz", X=PUBLIC[::-1])
    after = resume(home)
    assert np.array_equal(after.answers.labels, before.answers.labels[::-1])
    assert after.account.anchor.seq == before.account.anchor.seq, "the same queries, paid already"
    moved = PUBLIC + 0.5
    np.savez(home / "public.npz", X=moved)
    third = resume(home)
    fresh = np.load(third.folder.ballots)
    settings = RunFile.load(home / "run.toml").with_changes(folder=home / "fresh", seed=None)
    expected = Run(settings, create_folder(settings)).execute()
    assert np.array_equal(fresh, np.load(expected.folder.ballots))
    assert np.array_equal(third.answers.labels, expected.answers.labels)
    assert np.array_equal(third.student.predict(moved), expected.student.predict(moved))


def test_a_longer_pool_is_voted_on_again(home: Path) -> None:
    short = CONFIG.replace("sigma = 3.0", "sigma = 3.0\nmax_queries = 15")
    (home / "run.toml").write_text(short)
    assert len(first(home).answers) == 15
    longer = resume(home)
    assert len(longer.answers) == 40
    assert len(np.load(longer.folder.ballots)) == 40
    assert longer.answers.asked.all()


def test_spoilt_ballots_are_voted_on_again(home: Path) -> None:
    before = first(home)
    good = np.load(before.folder.ballots)
    before.folder.ballots.write_bytes(b"\x93NUMPY what")
    resume(home)
    assert np.array_equal(np.load(before.folder.ballots), good)
    before.folder.digest_file(before.folder.ballots).write_text("another")
    np.save(before.folder.ballots, 1 - good)
    resume(home)
    assert np.array_equal(np.load(before.folder.ballots), good)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('kind = "naive-bayes"\njobs', 'kind = "nearest-neighbours"\njobs'),
        ("number = 10", "number = 9"),
        ("[voting]", '[partition]\nkind = "stratified"\n[voting]'),
    ],
)
def test_teachers_of_other_settings_are_refused(home: Path, old: str, new: str) -> None:
    first(home)
    assert old in CONFIG
    with pytest.raises(RunFolderError, match="trained with other settings"):
        resume(home, CONFIG.replace(old, new, 1))


def test_another_learner_learns_again(home: Path) -> None:
    before = first(home)
    text = CONFIG.replace('[student]\nkind = "naive-bayes"', '[student]\nkind = "svm"')
    after = resume(home, text)
    assert type(before.student.model).__name__ == "GaussianNB"
    assert type(after.student.model).__name__ == "SVC"


def test_digests_are_private_and_change_with_every_part(home: Path) -> None:
    folder = first(home).folder
    files = list(folder.private.glob("*.mark"))
    assert len(files) == 3
    assert all(path.stat().st_mode & 0o077 == 0 for path in files)
    array = np.arange(6.0)
    found = {
        digest_of(array),
        digest_of(array.reshape(2, 3)),
        digest_of(array.astype(np.float32)),
        digest_of(array, b""),
        digest_of(b"ab", b"c"),
        digest_of(b"a", b"bc"),
        digest_of("abc"),
    }
    assert len(found) == 7


@pytest.mark.parametrize("spoil", ["a ballot", "the header", "the digest"])
def test_spoilt_ballots_are_cast_again(home: Path, spoil: str) -> None:
    """A flipped bit would be a vote that no teacher cast."""
    folder = first(home).folder
    ballots = np.load(folder.ballots)
    if spoil == "a ballot":
        spoilt = ballots.copy()
        spoilt[0, 0] = 1 - spoilt[0, 0]
        np.save(folder.ballots, spoilt)
    elif spoil == "the header":
        folder.ballots.write_bytes(folder.ballots.read_bytes().replace(b")", b"(", 1))
    else:
        folder.digest_file(folder.ballots).write_bytes(b"\x8c" * 64)
    resume(home)
    assert np.array_equal(np.load(folder.ballots), ballots)


def test_a_spoilt_digest_of_the_teachers_is_refused_in_a_sentence(home: Path) -> None:
    folder = first(home).folder
    folder.digest_file(folder.teachers).write_bytes(b"\x8c" * 64)
    with pytest.raises(RunFolderError, match="trained with other settings"):
        resume(home)
