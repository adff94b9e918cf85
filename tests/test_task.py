import numpy as np
import pytest

from ballotine.errors import DataError, ParameterError
from ballotine.task import MultiLabel, SingleLabel, Task, task_kind
from ballotine.types import ABSTAIN, UNASKED

CLASSES = SingleLabel(["no", "yes"])
LABELS = MultiLabel(["fever", "cough"])
ANSWERS = {
    CLASSES: np.array([1, ABSTAIN, 1, UNASKED]),
    LABELS: np.array([[1, ABSTAIN], [ABSTAIN, ABSTAIN], [0, 1], [UNASKED, UNASKED]]),
}


@pytest.mark.parametrize("task", [CLASSES, LABELS], ids=["one class", "several labels"])
def test_answers_have_the_shape_of_their_task(task: Task) -> None:
    answers = ANSWERS[task]
    assert answers.shape == (4, *task.tail(2))
    assert task_kind(several=answers.ndim == 2) is type(task)
    assert task.asked(answers).tolist() == [True, True, True, False]
    assert task.asked(answers[:0]).tolist() == []
    assert np.ma.getmaskarray(task.named(answers)).tolist() == (answers < 0).tolist()


def test_classes_are_encoded_by_the_public_list_and_decoded_again() -> None:
    y = np.array(["b", "a", "b"])
    codes, task = SingleLabel.encode(y, ["a", "b", "never"])
    assert codes.tolist() == [1, 0, 1]
    assert task.names.tolist() == ["a", "b", "never"]
    assert task.decode(codes).tolist() == y.tolist()
    with pytest.raises(DataError, match="not among the given classes"):
        SingleLabel.encode(y, ["a", "c"])
    with pytest.raises(DataError, match="at least two classes"):
        SingleLabel.encode(np.array(["a", "a"]), None)


@pytest.mark.parametrize(
    ("given", "names"), [(None, [0, 1]), (2, [0, 1]), (["fever", "cough"], ["fever", "cough"])]
)
def test_labels_are_a_matrix_and_keep_unknown_ones(given: object, names: list[object]) -> None:
    codes, task = MultiLabel.encode(np.array([[1, np.nan], [0, 1]]), given)
    assert codes.tolist() == [[1, -1], [0, 1]]
    assert task.names.tolist() == names
    assert task.decode(codes) is codes


def test_labels_are_named_once() -> None:
    with pytest.raises(ParameterError, match="twice"):
        MultiLabel.encode(np.zeros((1, 2)), ["fever", "fever"])
    with pytest.raises(DataError, match=r"shape \(rows, 3\)"):
        MultiLabel.encode(np.zeros((1, 2)), 3)


def test_classes_on_the_card_and_in_the_file() -> None:
    answers = ANSWERS[CLASSES]
    assert CLASSES.counts(answers) == {"by_class": {"no": 0, "yes": 2}}
    assert {k: v.tolist() for k, v in CLASSES.columns(answers).items()} == {
        "answer": ["yes", None, "yes", None]
    }


def test_labels_on_the_card_and_in_the_file() -> None:
    answers = ANSWERS[LABELS]
    assert LABELS.counts(answers) == {
        "by_label": [
            {"label": "fever", "present": 1, "absent": 1, "abstained": 1},
            {"label": "cough", "present": 1, "absent": 0, "abstained": 2},
        ]
    }
    assert {k: v.tolist() for k, v in LABELS.columns(answers).items()} == {
        "answer:fever": [1, None, 0, None],
        "answer:cough": [None, None, 1, None],
    }
