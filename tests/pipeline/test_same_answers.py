"""One run in Python, in a run file and on the command line: the same answers under one seed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import make_blobs
from sklearn.naive_bayes import GaussianNB

from ballotine import Budget, GNMax, PateClassifier
from ballotine.pipeline import Run, RunFile, create_folder
from ballotine.voting import BinaryVoting
from ballotine.voting.individual import Upsampling, Vanishing, Weighting

SEED = 11
X, Y = make_blobs(n_samples=1000, centers=[[0, 0], [4, 0], [0, 4]], random_state=3)
PRIVATE, PUBLIC = slice(0, 700), slice(700, 900)
LABELS = np.stack([Y == 0, Y > 0, X[:, 0] > 1], axis=1).astype(np.int64)
GROUPS = np.array(["careful", "average", "open"])[np.arange(700) % 3]

HEAD = f"""
[run]
name = "same"
folder = "out"
experiment = true
seed = {SEED}
[data]
private = "private.npz"
public = "public.npz"
"""
TEACHERS = """
[teachers]
number = 35
kind = "naive-bayes"
jobs = 1
[student]
kind = "naive-bayes"
"""
ONE_CLASS = """classes = [0, 1, 2]
[voting]
mechanism = "gnmax"
sigma = 7.0
"""
GNMAX = ONE_CLASS + "[budget]\nepsilon = 4.0\ndelta = 1e-5\n"
INDIVIDUAL = (
    ONE_CLASS
    + """
[budget]
delta = 1e-5
[budget.groups]
careful = 2.0
average = 3.0
open = 4.0
[individual]
method = "{method}"
groups = "groups.npy"
"""
)
BINARY = """targets = ["first", "later", "right"]
[voting]
mechanism = "binary"
sigma = 8.0
threshold = 20.0
sigma_threshold = 10.0
thresholds = [0.5, 0.4, 0.6]
[budget]
epsilon = 8.0
delta = 1e-5
"""
BUDGETS = {"careful": 2.0, "average": 3.0, "open": 4.0}
ONE_BUDGET = {"mechanism": GNMax(7.0), "budget": Budget(4.0, 1e-5), "classes": [0, 1, 2]}
OWN_BUDGETS = {"mechanism": GNMax(7.0), "delta": 1e-5, "classes": [0, 1, 2]}
SEVERAL_LABELS = {
    "mechanism": BinaryVoting(8.0, 20.0, 10.0),
    "budget": Budget(8.0, 1e-5),
    "classes": ["first", "later", "right"],
    "thresholds": [0.5, 0.4, 0.6],
}

METHODS = {kind.name: kind(BUDGETS) for kind in (Weighting, Upsampling, Vanishing)}

CASES = {
    "gnmax": (GNMAX, ONE_BUDGET, Y, None),
    "binary": (BINARY, SEVERAL_LABELS, LABELS, None),
} | {
    name: (INDIVIDUAL.format(method=name), OWN_BUDGETS | {"individual": scheme}, Y, GROUPS)
    for name, scheme in METHODS.items()
}


@pytest.mark.parametrize(("text", "settings", "labels", "groups"), CASES.values(), ids=list(CASES))
def test_three_ways_to_the_same_answers(
    text: str, settings: dict[str, Any], labels: Any, groups: Any, tmp_path: Path, ballotine: Any
) -> None:
    np.savez(tmp_path / "private.npz", X=X[PRIVATE], y=labels[PRIVATE])
    np.savez(tmp_path / "public.npz", X=X[PUBLIC])
    np.save(tmp_path / "groups.npy", GROUPS)
    (tmp_path / "run.toml").write_text(HEAD + text + TEACHERS)

    pate = PateClassifier(
        teacher=GaussianNB(), n_teachers=35, student=GaussianNB(), random_state=SEED, **settings
    ).fit(X[PRIVATE], labels[PRIVATE], groups)
    answers = pate.label(X[PUBLIC])
    pate.distill(X[PUBLIC], answers)
    assert answers.answered.sum() > 3
    assert not answers.asked.all()

    run = RunFile.load(tmp_path / "run.toml").with_changes(folder=tmp_path / "python", seed=None)
    result = Run(run, create_folder(run)).execute()
    assert np.array_equal(result.answers.labels, answers.labels)
    assert result.guarantee.epsilon == pate.guarantee_.epsilon
    assert result.guarantee.groups == pate.guarantee_.groups
    assert np.array_equal(result.student.predict(X[PUBLIC]), pate.predict(X[PUBLIC]))

    if settings.get("individual") in (METHODS["upsampling"], METHODS["vanishing"]):
        return  # the command line adds nothing to a method
    ended = ballotine("run", "run.toml")
    assert ended.returncode == 0, ended.stderr
    table = pq.read_table(tmp_path / "out" / "answers.parquet")
    columns = [name for name in table.column_names if name.startswith("answer")]
    stored = np.array([[-1 if v is None else v for v in table[n].to_pylist()] for n in columns])
    expected = np.atleast_2d(np.where(answers.labels < 0, -1, answers.labels).T)
    assert np.array_equal(stored, expected)
    card = json.loads((tmp_path / "out" / "card.json").read_text())
    assert card["guarantee"]["epsilon"] == pate.guarantee_.to_dict()["epsilon"]
