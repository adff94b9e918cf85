"""No printed ε is below what any record has paid, over whole histories of one ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from scipy.stats import norm

from ballotine import PateClassifier
from ballotine.pipeline.procedure import Procedure
from ballotine.voting import Rules
from tests.truth.accountant import ORDERS, Noise, check_cost, epsilon, winner_cost
from tests.truth.sequences import STEPS, walk

SEQUENCES, PARTS = 500, 10


@pytest.mark.parametrize("part", range(PARTS))
def test_every_record_paid_no_more_than_is_printed(part: int) -> None:
    number = SEQUENCES // PARTS
    happened: Counter[str] = Counter()
    for seed in range(part * number, (part + 1) * number):
        happened.update(walk(seed))
    done = {step for step in happened if "(" not in step}
    assert done == set(STEPS), "a step that is always refused tests nothing"


def slot_is_a_person(patch: pytest.MonkeyPatch) -> None:
    """Version 0.1: turns are counted over all ensembles of a ledger."""
    whole = Rules.binding
    patch.setattr(
        Rules, "binding", lambda own, ensemble=b"", groups="", pool=None: whole(own, b"", groups)
    )


def groups_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Version 0.1: nobody asks whether records are still in their groups."""
    patch.setattr(Procedure, "groups_mark", lambda *_: "")


def a_fit_begins_anew(patch: pytest.MonkeyPatch) -> None:
    """Version 0.1: every fit of an object has a ledger of its own."""
    whole = PateClassifier._ledger

    def fresh(own: PateClassifier, records: object) -> object:
        own.__dict__.pop("_ledgers", None)
        return whole(own, records)  # type: ignore[arg-type]

    patch.setattr(PateClassifier, "_ledger", fresh)


def walk_all(seeds: Iterable[int]) -> None:
    for seed in seeds:
        walk(seed)


@pytest.mark.parametrize("fault", [slot_is_a_person, groups_are_forgotten, a_fit_begins_anew])
def test_the_faults_of_version_0_1_would_be_found(
    fault: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    fault(monkeypatch)
    with pytest.raises(AssertionError, match="is printed after"):
        walk_all(range(200))


def test_the_accountant_prices_a_vote_by_itself() -> None:
    """Two classes: one bit of a Gaussian, whose divergence is known in closed form."""
    high = norm.cdf(1.0 / (np.sqrt(2) * 5.0))
    low = 1 - high
    a = ORDERS
    expected = np.log(high**a * low ** (1 - a) + low**a * high ** (1 - a)) / (a - 1)
    assert winner_cost(Noise(5.0), 10.0, 2, 1.0) == pytest.approx(expected, rel=1e-6)
    assert check_cost(5.0, 1.0)[0] > 0
    assert epsilon(np.zeros_like(a), 1e-5) == 0.0
    assert epsilon(winner_cost(Noise(5.0), 10.0, 3, 2.0), 1e-5) > epsilon(
        winner_cost(Noise(5.0), 10.0, 3, 1.0), 1e-5
    )
