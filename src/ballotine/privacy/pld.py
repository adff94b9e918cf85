"""A cross-check: (ε, δ) by privacy-loss distributions, where a dominating pair is known.

There are two such pairs: the Gaussian one (the noisy histogram or a noisy count, of which the
released winner or bit is a post-processing) and one released bit at a known position. The
computation is dp-accounting's, with pessimistic discretisation; our tests check that library.
Needs the extra: ``pip install 'ballotine[pld]'``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scipy.special import log_ndtr

from ballotine.errors import ParameterError
from ballotine.privacy._validate import as_delta, as_real, as_sigma

STEP = 1e-4  # discretisation step of the privacy loss


@dataclass(frozen=True)
class Gaussian:
    """N(0, 1) against N(shift, 1): noise of deviation σ on counts that move by shift·σ.

    GNMax moves one vote between two counts: shift √2·s/σ. The check moves one: s/σ₁.
    """

    shift: float

    def distribution(self) -> Any:
        """Return the privacy-loss distribution of one release."""
        return _library().from_gaussian_mechanism(
            as_sigma(1.0 / self.shift), value_discretization_interval=STEP
        )


@dataclass(frozen=True)
class OneBit:
    """A bit that is 1 with probability Φ(position) against Φ(position + shift).

    Both directions are covered; the position makes the result data-dependent.
    """

    position: float
    shift: float

    def distribution(self) -> Any:
        """Return the privacy-loss distribution of one release."""
        here = as_real(self.position, "position")
        there = here + as_real(self.shift, "shift")
        lower = {0: float(log_ndtr(-here)), 1: float(log_ndtr(here))}
        upper = {0: float(log_ndtr(-there)), 1: float(log_ndtr(there))}
        return _library().from_two_probability_mass_functions(
            lower, upper, value_discretization_interval=STEP, symmetric=False
        )


def epsilon(parts: Sequence[tuple[Gaussian | OneBit, int]], delta: float) -> float:
    """Return ε at δ of all parts together, each released as often as its count says."""
    total: Any = None
    for part, count in parts:
        if count < 1:
            raise ParameterError(f"a part must be released at least once, got {count}")
        composed = part.distribution().self_compose(count)
        total = composed if total is None else total.compose(composed)
    if total is None:
        raise ParameterError("a privacy loss needs at least one part")
    return float(total.get_epsilon_for_delta(as_delta(delta)))


def gnmax_shift(sigma: float, sensitivity: float = 1.0) -> float:
    """Return the Gaussian shift of one vote that moves between two noisy counts."""
    return math.sqrt(2.0) * sensitivity / as_sigma(sigma)


def _library() -> Any:
    try:
        from dp_accounting.pld import privacy_loss_distribution
    except ImportError as problem:
        raise ParameterError(
            "privacy-loss distributions need the extra: pip install 'ballotine[pld]'"
        ) from problem
    return privacy_loss_distribution
