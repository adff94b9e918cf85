"""Parse those parameters of `PateClassifier` that follow scikit-learn's conventions."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from ballotine.errors import ParameterError
from ballotine.ledger import Mode
from ballotine.noise import NoiseSource, source


def parse_mode(name: str) -> Mode:
    """Return the mode of that name."""
    try:
        return Mode(name)
    except ValueError:
        known = ", ".join(mode.value for mode in Mode)
        raise ParameterError(f"unknown mode {name!r}; choose one of {known}") from None


def make_noise(random_state: Any) -> NoiseSource:
    """Return secure noise for None, and seeded noise for a seed or a `RandomState`."""
    if random_state is None or isinstance(random_state, numbers.Integral):
        return source(None if random_state is None else int(random_state))
    if isinstance(random_state, np.random.RandomState):
        return source(int(random_state.randint(2**31)))
    raise ParameterError("random_state must be None (secure noise) or an integer seed")
