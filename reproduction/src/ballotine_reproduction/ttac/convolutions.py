"""Do the results of one hidden layer hold for convolutions? Labels at 0 % similarity (MNIST)."""

from __future__ import annotations

from dataclasses import replace

from ballotine.neural import TorchClassifier
from ballotine.teachers.ttac import Method
from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.pool import Pool
from ballotine_reproduction.summary import deviation
from ballotine_reproduction.table import Row, Table
from ballotine_reproduction.ttac.effort import TrainingEffort, effort_of
from ballotine_reproduction.ttac.ensembles import EnsembleKey, ballots
from ballotine_reproduction.ttac.figure2 import accuracies, right_without_noise
from ballotine_reproduction.ttac.pools import pool_of
from ballotine_reproduction.ttac.table1 import CONDITIONAL, NAMES

NETWORK = "small-cnn"
STEP_SIZE = 0.05
"""The same for all methods, without a search."""
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
    rows: list[Row] = []
    for method in METHODS:
        effort = _effort(setting, pool, method)
        votes = [
            ballots(setting, pool, EnsembleKey(method, 0, seed), effort)
            for seed in setting.seed_range()
        ]
        found = (accuracies(pool, votes, GAMMA), right_without_noise(pool, votes))
        rows.append((0, NAMES[method, 1], *map(deviation, found)))
    title = f"Convolutional teachers ({pool.name})"
    columns = ("s, %", "teachers", f"γ = {GAMMA:g}", "no noise")
    return Table(title, columns, rows, (*pool.notes, *_NOTES, CONDITIONAL))


def _effort(setting: Setting, pool: Pool, method: Method) -> TrainingEffort:
    usual = effort_of(setting, pool, method)
    network = TorchClassifier(NETWORK, pool.shape, batch=usual.network.batch)
    return TrainingEffort(network, replace(usual.settings, step_size=STEP_SIZE))
