"""Networks as teachers and as the student, in the whole pipeline: from code and from a run file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from ballotine import Budget, ConfidentGNMax, PateClassifier
from ballotine.models import load_model
from ballotine.neural import TorchClassifier
from ballotine.pipeline import Run, RunFile, create_folder

X, Y = load_digits(return_X_y=True)
X = X / 16.0
PRIVATE, PUBLIC, TEST = slice(0, 1000), slice(1000, 1400), slice(1400, None)

RUN = """
[run]
name = "networks"
folder = "out"
experiment = true
seed = 0

[data]
source = "digits"
public_rows = 400
test_rows = 200

[teachers]
number = 4
kind = "ballotine.neural.TorchClassifier"
options = { network = "small-cnn", shape = [1, 8, 8], epochs = 6, learning_rate = 0.005 }
jobs = 1

[voting]
mechanism = "gnmax"
sigma = 0.5
max_queries = 150

[budget]
epsilon = 5000.0
delta = 1e-5

[student]
kind = "ballotine.neural.TorchClassifier"
options = { network = "mlp", epochs = 40 }
"""


def test_networks_teach_and_learn() -> None:
    network = TorchClassifier("small-cnn", (1, 8, 8), epochs=8, learning_rate=0.005)
    pate = PateClassifier(
        network,
        n_teachers=5,
        mechanism=ConfidentGNMax(0.3, 3.0, 0.3),
        student=TorchClassifier("mlp", epochs=40),
        budget=Budget(5000.0, 1e-5),
        classes=range(10),
        random_state=0,
    )
    pate.fit(X[PRIVATE], Y[PRIVATE])
    pate.distill(X[PUBLIC])
    assert isinstance(pate.student_, TorchClassifier)
    assert pate.score(X[TEST], Y[TEST]) > 0.75


def test_a_run_file_names_networks(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(RUN)
    settings = RunFile.load(tmp_path / "run.toml")
    folder = create_folder(settings)
    result = Run(settings, folder).execute()
    assert result.evaluation is not None
    student = load_model(folder.student)
    assert np.mean(student.predict(X) == Y) > 0.7
    assert len(list((folder.private / "teachers").glob("*.skops"))) == 4
    assert not folder.problems.exists()
