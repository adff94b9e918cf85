"""Published claims about multi-label voting that are false, by how much, and what holds instead."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ballotine.privacy import multilabel
from ballotine.privacy.multilabel import Variant
from tests.privacy.ballot_oracle import (
    VARIANTS,
    bit_divergence,
    margin,
)


def worst_of_the_election(order: float, variant: Variant, tau: float, sigma: float) -> float:
    """50 teachers, 20 labels: a ballot of 3 or 4 labels is replaced by one of as many others.

    The other 49 teachers cast some ballots on the labels that gain, some on those that lose.
    """
    teachers, worst = 50, 0.0
    for size in (3, 4):
        step = min(1.0, tau / math.sqrt(size))
        counts = np.arange(teachers) * step
        low = margin(counts, teachers, sigma, variant)
        high = margin(counts + step, teachers, sigma, variant)
        gain = bit_divergence(low, high, order).max()
        loss = bit_divergence(high, low, order).max()
        worst = max(worst, size * float(gain + loss))
    return worst


def test_false_claim_binary_voting_with_one_noise_against_the_complement() -> None:
    """Claimed kα/σ²: 1.99 times too small."""
    sigma, order, teachers = 2.0, 64.0, 400.0
    counts = np.arange(teachers)
    here = margin(counts, teachers, sigma, "one-against-complement")
    there = margin(counts + 1.0, teachers, sigma, "one-against-complement")
    ratio = float(bit_divergence(here, there, order).max()) / (order / sigma**2)
    assert ratio == pytest.approx(1.99, abs=0.01)
    assert ratio * order / sigma**2 <= multilabel.tight([order], sigma, 1, variant=VARIANTS[0])[0]


@pytest.mark.parametrize(("variant", "limit"), [(VARIANTS[0], 4.0), (VARIANTS[1], 2.0)])
def test_false_claim_clipped_voting(variant: Variant, limit: float) -> None:
    """Claimed ατ²/σ²: up to 4 and 2 times too small; τ = 2, two ballots of four labels."""
    sigma, order, teachers = 1.0, 64.0, 400.0
    counts = np.arange(teachers)
    here = margin(counts, teachers, sigma, variant)
    there = margin(counts + 1.0, teachers, sigma, variant)
    true = 8.0 * float(bit_divergence(here, there, order).max())
    ratio = true / (order * 2.0**2 / sigma**2)
    assert 0.99 * limit < ratio < limit
    assert true <= multilabel.tight([order], sigma, 20, 2.0, variant=variant)[0]


def test_false_claim_clipped_voting_in_the_published_setting() -> None:
    """n = 50, k = 20, τ = 1.8, σ = 9 with both counts noised: 1.25 to 1.67 times too small."""
    tau, sigma = 1.8, 9.0
    orders = np.array([2.0, 4.0, 8.0, 16.0, 24.0, 32.0, 48.0, 64.0])
    true = np.array([worst_of_the_election(float(a), "both", tau, sigma) for a in orders])
    ratios = true / (orders * tau**2 / sigma**2)
    assert ratios.min() == pytest.approx(1.25, abs=0.01)
    assert ratios.max() == pytest.approx(1.67, abs=0.01)
    assert np.all(true <= multilabel.tight(orders, sigma, 20, tau))


def test_false_claim_minimum_per_label() -> None:
    """Σ_i min(DD_i, αΔ²/(kσ²)) is 1.85 times too small; the minimum over the release holds."""
    teachers, labels, tau, sigma, order = 50, 20, 1.8, 9.0, 2.0
    # Six labels are open, fourteen are named by three teachers.
    counts = np.full(labels, 3.0)
    counts[:6] = 25.0
    places = margin(counts, teachers, sigma, "both")
    step = math.sqrt(2.0) / sigma
    up = np.maximum(
        bit_divergence(places, places + step, order), bit_divergence(places + step, places, order)
    )
    down = np.maximum(
        bit_divergence(places, places - step, order), bit_divergence(places - step, places, order)
    )
    per_label = np.maximum(up, down)
    share = order * 6.48 / sigma**2 / labels
    claimed = float(np.minimum(per_label, share).sum())
    # A ballot of three of the six open labels is replaced by one of the other three.
    gain = bit_divergence(places[:3], places[:3] + step, order).sum()
    loss = bit_divergence(places[3:6], places[3:6] - step, order).sum()
    true = float(gain + loss)
    assert true / claimed == pytest.approx(1.85, abs=0.03)
    found = multilabel.data_dependent(counts, teachers, [order], sigma, tau)[0, 0]
    assert true <= found
    assert found <= min(float(per_label.sum()), order * 6.48 / sigma**2)


def test_false_claim_confident_check_per_query() -> None:
    """Claimed α/(2σ_T²) for the checks of all labels of a query: 3.8 times too small."""
    sigma, order, teachers, threshold = 9.0, 2.0, 50.0, 30.0
    counts = np.arange(25.0, 49.0, 0.25)
    here = (np.maximum(counts, teachers - counts) - threshold) / sigma
    gain = float(bit_divergence(here, here + 1.0 / sigma, order).max())
    loss = float(bit_divergence(here + 1.0 / sigma, here, order).max())
    true = 3.0 * (gain + loss)
    assert true / (order / (2.0 * sigma**2)) == pytest.approx(3.8, abs=0.05)
    assert true <= multilabel.tight_check([order], sigma, 20, 1.8)[0]
