"""Sequences that version 0.1 priced too low. Refusing a step is right; a smaller ε is not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from ballotine import GNMax
from tests.truth.adapter import InjectedError, watching
from tests.truth.cast import Settings
from tests.truth.world import FalseClaimError, Scope, World

FIXED = Settings("gnmax-clear", None, "fixed", 60)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A data set of its own, watched."""
    with watching(0) as watch:
        yield World(np.random.default_rng(0), tmp_path, watch, 3)


@pytest.fixture
def shared(tmp_path: Path) -> Scope:
    """Everything on one ledger's file."""
    return Scope(tmp_path / "ledger.sqlite")


def test_ensembles_of_vanishing_teachers_add_up(world: World, shared: Scope) -> None:
    """A slot is not a person: who taught in one run may teach elsewhere in the next."""
    settings = Settings("gnmax", "vanishing", teachers=12)
    thing = world.make(settings, shared)
    for number in range(12):
        world.fit(thing, settings)
        world.label(thing, [number % 12, (number + 5) % 12])


@pytest.mark.parametrize("scheme", ["weighting", "upsampling", "vanishing"])
def test_a_record_takes_its_group_along(world: World, shared: Scope, scheme: str) -> None:
    settings = Settings("gnmax", scheme, teachers=12)
    thing = world.make(settings, shared)
    world.fit(thing, settings)
    world.label(thing, [0, 1, 2])
    world.groups = np.where(world.groups == "low", "high", "low")
    world.fit(thing, settings)
    world.label(thing, [3])


def test_a_publication_is_about_one_file(world: World, shared: Scope) -> None:
    world.interrupted(lambda: world.vote(shared, FIXED, 1), "between", 4, KeyboardInterrupt)
    world.vote(shared, replace(FIXED, agree=True), 2)


def test_a_publication_is_about_one_noise(world: World, shared: Scope) -> None:
    loud = replace(FIXED, mechanism="gnmax-loud")
    world.interrupted(lambda: world.vote(shared, loud, 1), "between", 4, KeyboardInterrupt)
    world.vote(shared, FIXED, 1)


def test_a_second_fit_of_one_object_is_a_second_release(world: World) -> None:
    settings = Settings("gnmax", epsilon=20.0)
    thing = world.make(settings, Scope(None))
    for _ in range(3):
        world.fit(thing, settings)
        world.label(thing, [0, 1, 2])


def test_a_clone_answers_for_the_same_records(world: World) -> None:
    settings = Settings("gnmax", epsilon=20.0)
    thing = world.make(settings, Scope(None))
    world.fit(thing, settings)
    world.label(thing, [0, 1, 2])
    world.clone(thing)
    last = world.things[-1]
    world.fit(last, settings)
    world.label(last, [3])


@pytest.mark.parametrize("error", [KeyboardInterrupt, InjectedError])
def test_what_was_drawn_and_lost_stays_charged(
    world: World, shared: Scope, error: type[BaseException]
) -> None:
    """Whoever killed the process may have seen it; and the holder cannot void it."""
    world.classes, world.y = 2, world.y % 2
    settings = Settings("gnmax", epsilon=20.0, teachers=12)
    thing = world.make(settings, shared)
    world.fit(thing, settings)
    for row in range(0, 12, 2):
        work = partial(world.label, thing, [row, row + 1])
        world.interrupted(work, "release", 0, error)
        world.void(thing)
    assert len(shared.lost) == 12
    world.label(thing, list(range(12)))
    assert not shared.lost


def test_a_copy_spends_what_the_original_answers_for(world: World) -> None:
    settings = Settings("gnmax", epsilon=20.0)
    thing = world.make(settings, Scope(None))
    world.fit(thing, settings)
    world.label(thing, [0, 1, 2])
    world.fork(thing, [3, 4, 5, 6, 7])


def test_a_charge_that_is_too_small_is_found(
    world: World, shared: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The harness can fail: a cost that is claimed for five per cent more noise is caught.

    Between two classes the charge is that of the worst votes there are, and none is to spare.
    """
    world.classes, world.y = 2, world.y % 2
    settings = Settings("gnmax", epsilon=20.0, teachers=12)

    def runs(scope: Scope) -> None:
        thing = world.make(settings, scope)
        world.fit(thing, settings)
        world.label(thing, list(range(12)))

    runs(shared)
    honest, truthful = GNMax.events, GNMax.realised

    def quieter(mechanism: GNMax) -> GNMax:
        return GNMax(1.05 * mechanism.sigma)

    monkeypatch.setattr(GNMax, "events", lambda self, *more: honest(quieter(self), *more))
    monkeypatch.setattr(GNMax, "realised", lambda self, *more: truthful(quieter(self), *more))
    with pytest.raises(FalseClaimError, match="paid at least"):
        runs(Scope(world.folder / "other.sqlite"))
