"""Whether what one hidden layer shows holds for convolutions: labels at 0 % similarity (MNIST)."""

from __future__ import annotations

from dataclasses import replace

from ballotine.teachers.ttac import Method, Together
from ballotine_reproduction.table import Cell, Setting, Table
from ballotine_reproduction.ttac.effort import settings_of
from ballotine_reproduction.ttac.ensembles import EnsembleKey, ballots
from ballotine_reproduction.ttac.figure2 import accuracies, plurality
from ballotine_reproduction.ttac.pools import Pool, pool_of, seeds_of
from ballotine_reproduction.ttac.table1 import CONDITIONAL, NAMES, spread

NETWORK = "small-cnn"
STEP_SIZE = 0.05
"""For all methods alike: it was not searched for."""
GAMMA = 0.5
METHODS: tuple[Method, ...] = ("conventional", "averaging", "ttac")
_NOTES = (
    (
        f"the network {NETWORK}: two convolutions with max-pooling and two dense layers; as many "
        f"rounds and steps as in Table 1, step size {STEP_SIZE:g} for every method"
    ),
    "cells: right labels in percent, all public rows, mean ± standard deviation over seeds",
)


def convolutions(setting: Setting) -> Table:
    """Labels by teachers that are convolutional networks."""
    pool = pool_of(setting)
    rows: list[tuple[Cell, ...]] = []
    for method in METHODS:
        how = _settings(setting, pool, method)
        votes = [
            ballots(setting, pool, EnsembleKey(method, 0, seed), how) for seed in seeds_of(setting)
        ]
        clear = spread([plurality(pool, cast) for cast in votes])
        rows.append((0, NAMES[method, 1], spread(accuracies(pool, votes, GAMMA)), clear))
    title = f"Convolutional teachers ({pool.name})"
    columns = ("s, %", "teachers", f"γ = {GAMMA:g}", "no noise")
    return Table(title, columns, tuple(rows), (*pool.notes, *_NOTES, CONDITIONAL))


def _settings(setting: Setting, pool: Pool, method: Method) -> Together:
    usual = settings_of(setting, pool, method)
    return replace(usual, network=NETWORK, step_size=STEP_SIZE)
