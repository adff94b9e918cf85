"""The harness can fail: faults that a ledger might have are planted, and found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ballotine import PateClassifier
from ballotine.ledger import Ledger
from ballotine.pipeline.procedure import Procedure
from ballotine.voting import Rules
from tests.truth.adapter import watching
from tests.truth.cast import Settings
from tests.truth.sequences import run
from tests.truth.world import FalseClaimError, Scope, World

MOST = 400
"""So many sequences may pass before a fault is found."""


def slot_is_a_person(patch: pytest.MonkeyPatch) -> None:
    """Version 0.1: turns are counted over all ensembles of a ledger."""
    whole = Rules.binding
    patch.setattr(
        Rules, "binding", lambda own, _=b"", groups="", pool=None: whole(own, b"", groups, pool)
    )


def groups_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Version 0.1: nobody asks whether records are still in their groups."""
    patch.setattr(Procedure, "groups_digest", lambda *_: "")


def a_fit_begins_anew(patch: pytest.MonkeyPatch) -> None:
    """Version 0.1: every fit of an object has a ledger of its own."""
    whole = PateClassifier._ledger

    def fresh(own: PateClassifier, records: object) -> object:
        own.__dict__.pop("_ledgers", None)
        return whole(own, records)  # type: ignore[arg-type]

    patch.setattr(PateClassifier, "_ledger", fresh)


@pytest.mark.parametrize("fault", [slot_is_a_person, groups_are_forgotten, a_fit_begins_anew])
def test_the_faults_of_version_0_1_would_be_found(
    fault: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    fault(monkeypatch)
    with pytest.raises(FalseClaimError, match="paid at least"):
        _run_all()


def test_an_epsilon_that_is_published_of_other_votes_would_be_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Version 0.1: ten answers of one file, two of another, and the ε of the other is printed."""
    whole = Rules.binding
    monkeypatch.setattr(Rules, "binding", lambda own, *_: whole(own, b"", "", ()))
    monkeypatch.setattr(Ledger, "_require_all_answered", lambda *_: None)
    settings, scope = Settings("gnmax-clear", None, "fixed", 60), Scope(tmp_path / "ledger.sqlite")
    with watching(0) as watch:
        world = World(np.random.default_rng(0), tmp_path, watch, 3)
        world.interrupted(lambda: world.vote(scope, settings, 1), "between", 4, KeyboardInterrupt)
        with pytest.raises(FalseClaimError, match=r"\[published\].*paid at least"):
            world.vote(scope, replace(settings, agree=True), 2)


def _run_all() -> None:
    for seed in range(MOST):
        run(seed)
