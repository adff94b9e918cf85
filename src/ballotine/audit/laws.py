"""The law of an answer, where it is known: what makes an audit sharp.

A law chooses the neighbours that are compared and says which answers speak for which of them. It
does not enter the bound itself: a law that is wrong, because the mechanism does not do what it
says, makes an audit weaker at worst. The laws come from the oracle, not from the code that prices
the mechanisms.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from ballotine.oracle import gaussian, laplace
from ballotine.oracle.bits import log_bit
from ballotine.oracle.neighbours import Tally
from ballotine.types import FloatArray
from ballotine.voting import ConfidentGNMax, GNMax, LNMax, Mechanism


@singledispatch
def log_law(mechanism: Mechanism, tally: Tally) -> FloatArray | None:  # noqa: ARG001
    """Log-probabilities of (abstain, class 0, class 1, …) for one tally; None when unknown.

    Further mechanisms are added with ``@log_law.register``; without a law the answers themselves,
    counted on half of the trials, take its place.
    """
    return None


@log_law.register
def _(mechanism: GNMax, tally: Tally) -> FloatArray:
    return np.concatenate(([-np.inf], gaussian.argmax_law(tally, mechanism.sigma)))


@log_law.register
def _(mechanism: LNMax, tally: Tally) -> FloatArray:
    return np.concatenate(([-np.inf], laplace.argmax_law(tally, mechanism.gamma)))


@log_law.register
def _(mechanism: ConfidentGNMax, tally: Tally) -> FloatArray:
    position = (max(tally) - mechanism.threshold) / mechanism.sigma_threshold
    fails, passes = log_bit(position)
    return np.concatenate(([fails], passes + gaussian.argmax_law(tally, mechanism.sigma)))
