"""Mechanisms for several labels: the contract, what is released, and what is charged."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from ballotine.errors import ParameterError
from ballotine.noise import QueryNoise, SeededNoise
from ballotine.privacy import multilabel
from ballotine.privacy.events import LabelBits, LabelChecks
from ballotine.privacy.guarantee import Budget
from ballotine.types import ABSTAIN
from ballotine.voting import (
    UNASKED,
    BinaryVoting,
    ClippedVoting,
    Dependencies,
    Mechanism,
    PowersetVoting,
)
from tests.voting.sessions import cast, open_session, rules_for
from tests.voting.test_mechanisms import MechanismContract, release

ORDERS = np.array([1.5, 2.0, 4.0, 8.0, 32.0])
NOBODY = 1e-9  # noise too small to change anything here
VARIANTS: tuple[multilabel.Variant, ...] = ("both", "one-against-complement", "one-against-half")
FOREST = Dependencies((None, 0, 0, 1, None))
LEAVES = Dependencies((None, 0, 0, 1, None), "leaves")
CHANGES = {
    "threshold": 9.0,
    "sigma_threshold": 7.0,
    "variant": "one-against-half",
    "dependencies": LEAVES,
    "norm": "l1",
}


class TestBinary(MechanismContract):
    mechanism = BinaryVoting(4.0, 8.0, 3.0)
    classes = 5
    changes = CHANGES


class TestUnchecked(MechanismContract):
    mechanism = BinaryVoting(4.0, variant="one-against-complement")
    classes = 5

    def test_every_parameter_is_part_of_its_description(self) -> None:
        described = {
            dataclasses.replace(self.mechanism, **change).describe()
            for change in ({}, {"sigma": 5.0}, {"variant": "both"}, {"dependencies": FOREST})
        }
        assert len(described) == 4


class TestClipped(MechanismContract):
    mechanism = ClippedVoting(4.0, 1.5, threshold=8.0, sigma_threshold=3.0)
    classes = 5
    changes = CHANGES


class TestRootsFirst(MechanismContract):
    mechanism = ClippedVoting(
        4.0, 1.5, "l1", threshold=8.0, sigma_threshold=3.0, dependencies=FOREST
    )
    classes = 5
    priced = ()
    changes = {**CHANGES, "norm": "l2"}  # noqa: RUF012


class TestLeavesFirst(MechanismContract):
    mechanism = BinaryVoting(4.0, 8.0, 3.0, dependencies=LEAVES)
    classes = 5
    priced = ()
    changes = {**CHANGES, "dependencies": FOREST}  # noqa: RUF012


class TestPowerset(MechanismContract):
    mechanism = PowersetVoting(4.0, 2)
    classes = 5


class TestPowersetOfMany(MechanismContract):
    mechanism = PowersetVoting(1.0, 4)
    classes = 60


@pytest.mark.parametrize("variant", VARIANTS)
def test_without_noise_the_majority_decides(variant: multilabel.Variant) -> None:
    ballots = np.array([[[1, 1, 0, 1], [1, 0, 0, 1], [1, 0, 0, 0]]])
    assert release(BinaryVoting(NOBODY, variant=variant), ballots).tolist() == [[1, 0, 0, 1]]
    # Three, two and one labels named: 0.58 + 0.71 + 1, 0.58 + 0.71 and 0.58 of 3 votes.
    assert release(ClippedVoting(NOBODY, 1.0, variant=variant), ballots).tolist() == [[1, 0, 0, 0]]
    # Two against one: a check for more than two votes.
    checked = BinaryVoting(NOBODY, 2.5, NOBODY, variant=variant)
    assert release(checked, ballots).tolist() == [[1, ABSTAIN, 0, ABSTAIN]]


def test_what_was_asked_and_answered_is_charged() -> None:
    mechanism = ClippedVoting(
        4.0, 1.5, "l1", threshold=8.0, sigma_threshold=3.0, dependencies=FOREST
    )
    answers = np.array([[1, 1, 0, 1, 0], [0, 0, 0, 0, -1], [-1, -1, -1, -1, -1]])
    assert mechanism.realised(answers, 5) == {
        LabelChecks(3.0, 5, 1.5, "l1"): 1,
        LabelBits(4.0, 5, 1.5, "l1", "both"): 1,
        LabelChecks(3.0, 2, 1.5, "l1"): 2,
        LabelBits(4.0, 1, 1.5, "l1", "both"): 1,
    }
    unchecked = BinaryVoting(4.0, variant="one-against-half", dependencies=LEAVES)
    assert unchecked.realised(answers[:2], 5) == {
        LabelBits(4.0, 3, None, "l2", "one-against-half"): 1,
        LabelBits(4.0, 5, None, "l2", "one-against-half"): 1,
    }


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (BinaryVoting, {"sigma": 0.0}),
        (BinaryVoting, {"sigma": 4.0, "threshold": 3.0}),
        (BinaryVoting, {"sigma": 4.0, "sigma_threshold": 3.0}),
        (BinaryVoting, {"sigma": 4.0, "threshold": 3.0, "sigma_threshold": 0.0}),
        (BinaryVoting, {"sigma": 4.0, "threshold": np.inf, "sigma_threshold": 2.0}),
        (BinaryVoting, {"sigma": 4.0, "variant": "neither"}),
        (ClippedVoting, {"sigma": 4.0, "tau": 0.0}),
        (ClippedVoting, {"sigma": 4.0, "tau": 1.0, "norm": "l3"}),
        (PowersetVoting, {"sigma": -1.0}),
        (PowersetVoting, {"sigma": 4.0, "tau": 0}),
        (PowersetVoting, {"sigma": 4.0, "tau": 1.5}),
    ],
)
def test_bad_parameters(kind: Any, parameters: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        kind(**parameters)


@pytest.mark.parametrize(
    "mechanism",
    [
        BinaryVoting(30.0, 8.0, 20.0, dependencies=FOREST),
        ClippedVoting(30.0, 1.5),
        PowersetVoting(20.0, 3),
    ],
)
def test_through_the_ledger(mechanism: Mechanism) -> None:
    """Reserved, recorded and looked up again, until the budget ends."""
    ballots = (np.random.default_rng(1).random((300, 10, 5)) < 0.3).astype(np.int64)
    voters = cast(ballots)
    rules = rules_for(mechanism, voters, 5, Budget(2.0, 1e-5))
    rows, keys = np.arange(300), [bytes([i // 256, i % 256]) for i in range(300)]
    session = open_session(rules, voters, SeededNoise(1), names=np.array(list("abcde")))
    answers = session.answer(rows, keys)
    assert answers.labels.shape == (300, 5)
    assert UNASKED in answers.labels
    assert np.array_equal(session.answer(rows, keys).labels, answers.labels)
    ids = rules.query_ids(keys, voters.identity)
    asked = answers.labels[answers.asked]
    whole = mechanism.release(
        mechanism.tally(ballots[: len(asked)], 5), QueryNoise(SeededNoise(1), ids[: len(asked)])
    )
    assert np.array_equal(whole, asked)
