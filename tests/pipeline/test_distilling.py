"""Networks as students of runs: progress, interruption, divergence, and the card."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_digits

from ballotine import Student
from ballotine.errors import DivergedError
from ballotine.ledger import Ledger
from ballotine.pipeline import Run, RunFile, RunFolder, RunResult, create_folder, open_folder
from ballotine.progress import Advance
from ballotine.report import build_card, write_card
from ballotine.report.figures import draw

RUNFILE = """
[run]
experiment = true
seed = 3
folder = "{folder}/out"
[data]
source = "digits"
public_rows = 200
test_rows = 100
[teachers]
number = 20
kind = "naive-bayes"
[voting]
mechanism = "gnmax"
sigma = 6.0
max_queries = 120
[budget]
epsilon = 60.0
delta = 1e-4
[student]
kind = "{kind}"
options = {{ {options} }}
"""
TRAITS = ["even", "large", "loop"]


class Seen:
    """Progress that remembers what was shown, and may interrupt a stage at one of its steps."""

    def __init__(self, stop: int | None = None) -> None:
        self.stages: list[tuple[str, int | None]] = []
        self.steps: list[int] = []
        self.told: list[str] = []
        self._stop = stop

    @contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Advance]:
        self.stages.append((name, total))
        self.steps.append(0)
        place = len(self.steps) - 1

        def advance(steps: int) -> None:
            assert place == len(self.steps) - 1, "a bar that is closed goes on"
            self.steps[place] += steps
            if name == "student" and self._stop == self.students()[-1][1]:
                raise KeyboardInterrupt

        yield advance

    def tell(self, text: str) -> None:
        self.told.append(text)

    def students(self) -> list[tuple[int | None, int]]:
        """Each bar of the student: how many steps it was to have, and how many it had."""
        pairs = zip(self.stages, self.steps, strict=True)
        return [(total, steps) for (name, total), steps in pairs if name == "student"]


def new(tmp_path: Path, kind: str, options: str, **changes: str) -> tuple[RunFile, RunFolder]:
    text = RUNFILE.format(folder=tmp_path, kind=kind, options=options)
    for old, put in (pair.split("→") for pair in changes.values()):
        assert old in text
        text = text.replace(old, put)
    settings = RunFile.parse(text, "the test")
    return settings, create_folder(settings)


def finish(settings: RunFile, folder: RunFolder, seen: Seen) -> tuple[RunResult, dict[str, Any]]:
    result = Run(settings, folder, seen).execute()
    write_card(folder, build_card(result))
    return result, json.loads(folder.card.read_text())


def several(tmp_path: Path, kind: str, options: str) -> tuple[RunFile, RunFolder]:
    """Digits by traits; the answers to the last one are all alike."""
    X, digit = load_digits(return_X_y=True)
    traits = np.stack([digit % 2 == 0, digit > 4, digit >= 0], axis=1).astype(int)
    order = np.random.default_rng(0).permutation(len(X))
    np.savez(tmp_path / "traits.npz", X=X[order] / 16, y=traits[order])
    return new(
        tmp_path,
        kind,
        options,
        source=f'source = "digits"→private = "{tmp_path}/traits.npz"\n'
        f"targets = {json.dumps(TRAITS)}",
        mechanism='"gnmax"\nsigma = 6.0→"binary"\nsigma = 4.0',
    )


@pytest.mark.neural
def test_epochs_losses_and_forgotten_answers_are_shown(tmp_path: Path) -> None:
    seen = Seen()
    options = "epochs = 3, batch = 40, removed_share = 0.1"
    result, card = finish(*new(tmp_path, "pate-plus-plus", options), seen)
    model = result.student.model
    assert seen.students() == [(3, 3), (3, 3)], "one bar for each stage"
    assert len([text for text in seen.told if text.startswith("cleansing: labelled ")]) == 3
    last = {name: values[-1] for name, values in model.history_.items()}
    losses = ("labelled", "unlabelled", "generator")
    words = ", ".join(f"{name} {last[name]:.3g}" for name in losses)
    assert seen.told[-1] == f"training again: {words}"

    (training,) = card["student"]["training"]
    assert training["curves"] == model.history_
    assert (training["label"], training["epochs"], training["interrupted"]) == (None, 6, False)
    assert training["removed"] == {"rows": model.removed_.tolist(), "records": 0}
    assert 0 < len(model.removed_) <= 12
    status = np.asarray(pq.read_table(result.folder.answers)["status"].to_pylist())
    assert set(status[model.removed_]) == {"answered"}
    figure = draw(card)["losses"]
    assert {line["name"]: line["y"] for line in figure["data"]} == {
        name: model.history_[name] for name in losses
    }
    assert figure["layout"]["shapes"][0]["x0"] == 3.5
    page, text = result.folder.report.read_text(), result.folder.card_text.read_text()
    for shown in (page, text):
        assert f"were left out in the end: {len(model.removed_)}." in shown
        assert "trained for 6 epochs" in shown
        assert "Losses are public" in shown
        assert "was interrupted" not in shown
    assert 'id="figure-losses"' in page
    assert "| generator |" in text

    again = Seen()
    _, resumed = finish(*reversed(open_folder(result.folder.root)), again)
    assert resumed["student"] == card["student"]
    assert again.students() == [(1, 1)], "a kept student is not trained again"
    assert again.told == []


def test_a_model_without_epochs_is_shown_as_before(tmp_path: Path) -> None:
    seen = Seen()
    result, card = finish(*new(tmp_path, "naive-bayes", ""), seen)
    assert seen.students() == [(1, 1)]
    assert seen.told == []
    assert "training" not in card["student"]
    assert "losses" not in draw(card)
    assert "Losses" not in result.folder.report.read_text() + result.folder.card_text.read_text()


@pytest.mark.neural
def test_an_interrupted_student_is_released_and_the_card_says_so(tmp_path: Path) -> None:
    options = "epochs = 8, batch = 40, decay = 'none'"
    settings, folder = new(tmp_path, "gan", options)
    result, card = finish(settings, folder, Seen(stop=2))
    (training,) = card["student"]["training"]
    assert training["interrupted"]
    assert training["epochs"] == 2
    (warning,) = (text for text in card["warnings"] if "interrupted" in text)
    assert "after 2 epochs" in warning
    assert "interrupted early" in folder.card_text.read_text()
    assert "interrupted after 2 epochs" in folder.log.read_text()
    test = result.dataset.X_test
    assert test is not None
    best = 1 + int(np.argmin(result.student.model.history_["labelled"]))
    alone = tmp_path / "alone"
    alone.mkdir()
    short, _ = finish(*new(alone, "gan", options.replace("= 8", f"= {best}")), Seen())
    found = Student.load(folder.student).predict_proba(test)
    assert np.array_equal(found, short.student.predict_proba(test))

    kept = folder.student.read_bytes()
    _, resumed = finish(settings, folder, Seen())
    assert folder.student.read_bytes() == kept
    assert warning in resumed["warnings"]
    folder.student.unlink()
    ended, whole = finish(settings, folder, Seen())
    assert whole["student"]["training"][0]["epochs"] == 8
    assert not any("interrupted" in text for text in whole["warnings"])
    assert ended.account.epsilon == result.account.epsilon


@pytest.mark.neural
def test_an_interruption_before_the_first_epoch_can_be_resumed(tmp_path: Path) -> None:
    settings, folder = new(tmp_path, "gan", "epochs = 2, batch = 40")

    class Impatient(Seen):
        @contextmanager
        def stage(self, name: str, total: int | None) -> Iterator[Advance]:
            if name == "student":
                raise KeyboardInterrupt
            with super().stage(name, total) as advance:
                yield advance

    with pytest.raises(KeyboardInterrupt):
        Run(settings, folder, Impatient()).execute()
    assert folder.answers.is_file()
    assert not folder.student.exists()
    _, card = finish(settings, folder, Seen())
    assert card["student"]["training"][0]["epochs"] == 2


@pytest.mark.neural
def test_a_student_that_diverges_loses_no_answer(tmp_path: Path) -> None:
    settings, folder = new(tmp_path, "gan", "epochs = 5, learning_rate = 1e30")
    with pytest.raises(DivergedError, match="learning rate below 1e\\+30") as problem:
        Run(settings, folder).execute()
    (note,) = problem.value.__notes__
    assert f"change [student] in {folder.runfile}" in note
    assert f"ballotine run --resume {folder.root}" in note
    released = pq.read_table(folder.answers)
    text = folder.runfile.read_text()
    (old,) = (line for line in text.splitlines() if line.startswith("learning_rate"))
    folder.runfile.write_text(text.replace(old, "learning_rate = 0.001"))
    with Ledger.existing(folder.ledger) as ledger:
        spent = ledger.head(), ledger.spending().epsilon()
    place, changed = open_folder(folder.root)
    _, card = finish(changed, place, Seen())
    assert pq.read_table(folder.answers).equals(released)
    with Ledger.existing(folder.ledger) as ledger:
        assert (ledger.head(), ledger.spending().epsilon()) == spent
    assert card["student"]["options"]["learning_rate"] == 0.001
    assert card["student"]["training"][0]["epochs"] == 5


@pytest.mark.neural
def test_one_network_of_several_labels_has_curves(tmp_path: Path) -> None:
    seen = Seen(stop=3)
    result, card = finish(*several(tmp_path, "mixmatch", "epochs = 4, batch = 40"), seen)
    assert seen.students() == [(4, 3)]
    (training,) = card["student"]["training"]
    assert training["label"] is None
    assert training["interrupted"]
    assert training["curves"] == result.student.model.history_
    assert [len(values) for values in training["curves"].values()] == [3, 3]
    assert "losses" in draw(card)


@pytest.mark.neural
def test_a_network_for_each_label_is_counted_by_labels(tmp_path: Path) -> None:
    seen = Seen()
    options = "epochs = 3, batch = 40, removed_share = 0.1"
    result, card = finish(*several(tmp_path, "pate-plus-plus", options), seen)
    assert seen.students() == [(2, 2)], "one label has nothing to learn"
    assert len(seen.told) == 12
    assert seen.told[-1].startswith("epoch 3 of 3, training again: labelled ")
    parts = card["student"]["training"]
    assert [part["label"] for part in parts] == TRAITS[:2]
    assert all(part["curves"] == {} and part["epochs"] == 6 for part in parts)
    models = [model for model in result.student.model.models if model is not None]
    assert [part["removed"]["rows"] for part in parts] == [m.removed_.tolist() for m in models]
    assert "losses" not in draw(card)
    number = sum(len(model.removed_) for model in models)
    text = result.folder.card_text.read_text()
    assert "Each of 2 labels has its own network." in text
    assert f"were left out in the end: {number}." in text


@pytest.mark.neural
def test_an_interruption_ends_one_label_and_names_it(tmp_path: Path) -> None:
    class Once(Seen):
        def tell(self, text: str) -> None:
            super().tell(text)
            if len(self.told) == 2:
                raise KeyboardInterrupt

    seen = Once()
    _, card = finish(*several(tmp_path, "co-teaching", "epochs = 3, batch = 40"), seen)
    first, second = card["student"]["training"]
    assert (first["interrupted"], first["epochs"]) == (True, 2)
    assert (second["interrupted"], second["epochs"]) == (False, 3)
    assert any("interrupted for 'even':" in text for text in card["warnings"])
    assert (seen.students(), second["removed"]) == ([(2, 2)], None)


@pytest.mark.neural
def test_who_watches_leaves_no_trace(tmp_path: Path) -> None:
    """The student is the same as without progress bars, and contains no callback."""
    result, _ = finish(*several(tmp_path, "co-teaching", "epochs = 2, batch = 40"), Seen())
    alone = tmp_path / "alone"
    alone.mkdir()
    other = Run(*several(alone, "co-teaching", "epochs = 2, batch = 40")).execute()
    test = result.dataset.X_test
    assert test is not None
    assert np.array_equal(result.student.predict_proba(test), other.student.predict_proba(test))
    models = [model for model in result.student.model.models if model is not None]
    assert [model.on_epoch for model in models] == [None, None]
