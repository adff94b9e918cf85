"""Teachers that learn together: in Python and in run files, plain and private, paid and resumed."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB

from ballotine import BinaryVoting, Budget, GNMax, PateClassifier, Weighting
from ballotine.data.partition import Column, Similarity
from ballotine.errors import DataError, InsufficientBudgetError, ParameterError, RunFileError
from ballotine.ledger import Ledger
from ballotine.neural import TorchClassifier
from ballotine.pipeline import Run, RunFile, create_folder, open_folder
from ballotine.pipeline.assumptions import PREPARED_ELSEWHERE
from ballotine.pipeline.sections import TogetherSection
from ballotine.privacy import conversion
from ballotine.privacy.guarantee import Kind
from ballotine.teachers.together import PLAIN_ASSUMPTION, LearnTogether

X, Y = load_digits(return_X_y=True)
X = X / 16.0
PRIVATE, PUBLIC = slice(0, 800), slice(800, 840)
NETWORK = TorchClassifier("linear", batch=20)
ROUNDS = LearnTogether(rounds=12, steps=5, step_size=0.3)
NOISED = LearnTogether(rounds=6, steps=5, step_size=0.3, clip=1.0, noise_multiplier=20.0)


def classifier(**changes: object) -> PateClassifier:
    settings = {
        "teacher": NETWORK,
        "n_teachers": 4,
        "mechanism": GNMax(1.0),
        "budget": Budget(60.0, 1e-5),
        "classes": range(10),
        "together": ROUNDS,
        "random_state": 0,
    }
    return PateClassifier(**(settings | changes))


def runfile(text: str) -> RunFile:
    return RunFile.parse(
        f"""
        [run]
        experiment = true
        seed = 3
        [data]
        source = "digits"
        public_rows = 60
        test_rows = 50
        [teachers]
        number = 4
        kind = "neural-network"
        options = {{ network = "linear", batch = 20 }}
        jobs = 1
        [voting]
        mechanism = "gnmax"
        sigma = 1.0
        max_queries = 20
        [budget]
        epsilon = 60.0
        delta = 1e-4
        [student]
        kind = "nearest-neighbours"
        {text}
        """,
        "a test",
    )


def test_teachers_that_see_one_or_two_classes_answer_right_only_together() -> None:
    alone = classifier(
        together=None,
        teacher=TorchClassifier("linear", epochs=12, batch=20),
        partition=Similarity(0),
        n_teachers=5,
        mechanism=GNMax(0.05),
        budget=Budget(1e9, 1e-5),
    )
    joined = classifier(
        partition=Similarity(0),
        n_teachers=5,
        mechanism=GNMax(0.05),
        budget=Budget(1e9, 1e-5),
        together=LearnTogether(rounds=40, steps=5, step_size=0.3),
    )
    right = [
        np.mean(pate.fit(X[PRIVATE], Y[PRIVATE]).label(X[PUBLIC]).labels == Y[PUBLIC])
        for pate in (alone, joined)
    ]
    assert right[0] < 0.6
    assert right[1] > 0.75


def test_without_noise_in_its_rounds_a_guarantee_is_conditional() -> None:
    pate = classifier().fit(X[PRIVATE], Y[PRIVATE])
    pate.label(X[PUBLIC])
    assert pate.guarantee_.kind is Kind.CONDITIONAL
    assert PLAIN_ASSUMPTION in pate.guarantee_.assumptions


def test_private_rounds_are_paid_and_their_guarantee_needs_no_assumption() -> None:
    pate = classifier(together=NOISED).fit(X[PRIVATE], Y[PRIVATE])
    before = pate.ledger_.spending().epsilon()
    pate.label(X[PUBLIC][:10])
    guarantee = pate.guarantee_
    assert PLAIN_ASSUMPTION not in guarantee.assumptions
    assert guarantee.assumptions[0] == PREPARED_ELSEWHERE, "the arrays', and no other"
    # Written out by hand: five noised sums of sensitivity 2C, ten votes at most α/σ² each.
    orders = np.linspace(1.01, 60, 4000)
    rounds = 5 * 2 * orders / 20.0**2
    assert before == pytest.approx(conversion.epsilon(orders, rounds, 1e-5)[0], rel=1e-3)
    most = conversion.epsilon(orders, rounds + 10 * orders / 1.0**2, 1e-5)[0]
    votes_alone = classifier(together=None, teacher=None).fit(X[PRIVATE], Y[PRIVATE])
    votes_alone.label(X[PUBLIC][:10])
    assert votes_alone.ledger_.spending().epsilon() < guarantee.epsilon <= most
    assert "5 noised rounds of training, 10 queries, 10 of them answered" in guarantee.scope
    assert any("noised average" in note for note in guarantee.notes)


def test_rounds_take_their_share_of_the_budget_and_votes_the_rest() -> None:
    budget = Budget(8.0, 1e-5)
    shared = LearnTogether(rounds=6, steps=2, clip=1.0, share=0.5)
    pate = classifier(together=shared, budget=budget, mechanism=GNMax(20.0)).fit(
        X[PRIVATE], Y[PRIVATE]
    )
    whole = classifier(together=None, teacher=None, budget=budget, mechanism=GNMax(20.0)).fit(
        X[PRIVATE], Y[PRIVATE]
    )
    asked = [int(each.label(X[800:]).asked.sum()) for each in (pate, whole)]
    assert 0.42 * asked[1] < asked[0] < 0.58 * asked[1]
    assert pate.guarantee_.epsilon <= 8.0


def test_a_round_that_is_too_dear_is_not_released() -> None:
    dear = LearnTogether(rounds=6, steps=2, clip=1.0, noise_multiplier=0.1)
    with pytest.raises(InsufficientBudgetError):
        classifier(together=dear, budget=Budget(1.0, 1e-5)).fit(X[PRIVATE], Y[PRIVATE])


def test_the_run_file_and_python_give_the_same_answers(tmp_path: Path) -> None:
    text = "[together]\nmethod = 'ttac'\nrounds = 8\nsteps = 5\nstep_size = 0.3"
    settings = runfile(text).with_changes(folder=tmp_path / "run", seed=None)
    run = Run(settings, create_folder(settings))
    dataset, _ = run.load_and_partition()
    result = run.execute()
    pate = PateClassifier(
        NETWORK,
        4,
        GNMax(1.0),
        Budget(60.0, 1e-4),
        classes=range(10),
        together=LearnTogether(rounds=8, steps=5, step_size=0.3),
        random_state=3,
    ).fit(dataset.X_private, dataset.y_private)
    answers = pate.label(dataset.X_public[:20])
    np.testing.assert_array_equal(answers.labels, result.answers.labels[:20])
    assert result.guarantee.kind is Kind.CONDITIONAL


def test_a_resumed_run_pays_no_round_again(tmp_path: Path) -> None:
    text = "[together]\nmethod = 'ttac'\nrounds = 5\nsteps = 2\nclip = 1.0\nnoise_multiplier = 40.0"
    settings = runfile(text).with_changes(folder=tmp_path / "run", seed=None)
    folder = create_folder(settings)
    first = Run(settings, folder).execute()
    with Ledger.existing(folder.ledger) as book:
        paid = book.spending().epsilon()
    # As after a crash in the middle: the state of the training and all that follows is lost.
    (folder.teachers / "together.npz").unlink()
    for path in (folder.ballots, folder.answers, folder.student):
        path.unlink()
    place, stored = open_folder(folder.root)
    again = Run(stored, place).execute()
    with Ledger.existing(folder.ledger) as book:
        assert book.spending().epsilon() == paid
    np.testing.assert_array_equal(again.answers.labels, first.answers.labels)


def test_a_column_names_the_teachers(tmp_path: Path) -> None:
    rows = ["a,b,hospital,label"]
    draw = np.random.default_rng(0)
    for place, label in zip(draw.integers(0, 3, 120), draw.integers(0, 2, 120), strict=True):
        a, b = draw.normal(3 * label, 1, 2)
        rows.append(f"{a:.3f},{b:.3f},{'ABC'[place]},{label}")
    (tmp_path / "private.csv").write_text("\n".join(rows), encoding="utf-8")
    public = [",".join(row.split(",")[:2]) for row in [rows[0], *rows[1:40]]]
    (tmp_path / "public.csv").write_text("\n".join(public), encoding="utf-8")
    text = """
        [run]
        experiment = true
        seed = 1
        [data]
        private = "private.csv"
        public = "public.csv"
        target = "label"
        classes = [0, 1]
        [partition]
        kind = "column"
        column = "hospital"
        [teachers]
        number = NUMBER
        jobs = 1
        [voting]
        mechanism = "gnmax"
        sigma = 2.0
        [budget]
        epsilon = 20.0
        delta = 1e-3
        [student]
        kind = "nearest-neighbours"
    """
    wrong = RunFile.parse(text.replace("NUMBER", "4"), "a test").resolved(tmp_path)
    wrong = wrong.with_changes(folder=tmp_path / "wrong", seed=None)
    with pytest.raises(ParameterError, match="3 names for 4 teachers"):
        Run(wrong, create_folder(wrong)).execute()
    settings = RunFile.parse(text.replace("NUMBER", "3"), "a test").resolved(tmp_path)
    settings = settings.with_changes(folder=tmp_path / "run", seed=None)
    result = Run(settings, create_folder(settings)).execute()
    names = np.array([row.split(",")[2] for row in rows[1:]])
    for group, name in zip(result.partition.shares, "ABC", strict=True):
        np.testing.assert_array_equal(np.flatnonzero(names == name), group)
    assert result.dataset.X_private.shape[1] == 2, "the column is no feature"
    assert any("keeps its own name" in text for text in result.guarantee.assumptions)


def test_a_column_in_python_and_its_bad_sizes() -> None:
    names = np.arange(800) % 4
    pate = classifier(partition=Column(names)).fit(X[PRIVATE], Y[PRIVATE])
    np.testing.assert_array_equal(pate.partition_.shares[1], np.flatnonzero(names == 1))
    with pytest.raises(DataError, match="one name for every private record"):
        classifier(partition=Column(names[:-1])).fit(X[PRIVATE], Y[PRIVATE])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"teacher": GaussianNB()}, "must be networks"),
        ({"teacher": None}, "must be networks"),
        ({"teacher": TorchClassifier("linear", epochs=3)}, "epochs is for teachers that learn al"),
        ({"together": LearnTogether("conventional")}, "learn alone"),
        ({"mechanism": BinaryVoting(2.0)}, "one class per record"),
        (
            {"individual": Weighting({"a": 1.0}), "budget": None, "delta": 1e-5},
            "individual budgets cannot learn together",
        ),
        (
            {"mode": "fixed", "queries": 5, "budget": None, "delta": 1e-5, "together": NOISED},
            "strict mode",
        ),
        ({"mode": "fixed", "queries": 5, "budget": None, "delta": 1e-5}, "strict mode"),
        ({"mode": "paper", "together": NOISED}, "strict mode"),
    ],
)
def test_what_cannot_learn_together_is_refused(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        classifier(**changes).fit(X[PRIVATE], Y[PRIVATE])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "gossip"}, "unknown"),
        ({"rounds": 0}, "at least one"),
        ({"step_size": float("nan")}, "step_size must be positive"),
        ({"decay": 1.5}, "decay"),
        ({"noise_multiplier": 2.0}, "give clip"),
        ({"clip": 1.0, "noise_multiplier": 2.0, "share": 0.5}, "not both"),
        ({"clip": -1.0}, "clip must be positive"),
        ({"clip": 1.0, "rounds": 1}, "two rounds"),
        ({"clip": 1.0, "share": 1.0}, "share"),
        ({"clip": 1.0, "method": "conventional"}, "leave clip out"),
    ],
)
def test_bad_rounds(options: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        LearnTogether(**options)


def test_a_run_file_has_the_keys_and_defaults_of_the_settings() -> None:
    section = TogetherSection()
    assert list(TogetherSection.model_fields) == [field.name for field in fields(LearnTogether)]
    assert section.build() is None
    assert section.model_copy(update={"method": "ttac"}).build() == LearnTogether()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[together]\nclip = 1.0", r"\[together\] clip needs a method"),
        ("[together]\nrounds = 0", r"\[together\] rounds must be at least one, got 0"),
        ("[together]\nstep_size = inf", r"\[together\] step_size: input should be a finite"),
        ("[together]\nmethod = 'gossip'", r"\[together\] method: input should be 'ttac' or"),
        ("[together]\nmethod = 'ttac'\nshare = 0.5", r"\[together\] share is for private rounds"),
        ("[partition]\nkind = 'similarity'", r"\[partition\] similarity is missing"),
        ("[partition]\nalpha = 1.0", r"\[partition\] random does not use alpha"),
        ("[partition]\nkind = 'column'\ncolumn = 'a'", r"\[partition\] column: a named set"),
    ],
)
def test_a_run_file_says_what_is_wrong(text: str, words: str) -> None:
    with pytest.raises(RunFileError, match=words):
        runfile(text)
