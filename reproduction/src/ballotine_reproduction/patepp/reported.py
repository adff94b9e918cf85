"""Numbers printed in the paper on PATE++ (Zhang, Ma, Lou, Xiong, Jiang)."""

from __future__ import annotations

TABLE1: dict[str, dict[str, float]] = {
    "tight": {"original": 74.8, "co-teaching": 77.3, "PATE+": 76.5, "PATE++": 79.6},
    "loose": {"original": 82.1, "co-teaching": 82.5, "PATE+": 82.7, "PATE++": 82.9},
}
"""Student's accuracy in percent, by budget and method."""

EPSILONS = {"tight": 4.05, "loose": 5.04}
"""The paper's ε at δ = 1e-5: data-independent, without its T, σ1 and σ2."""

BETAS = (0.1, 0.2, 0.3, 0.4)
TABLE2: dict[str, tuple[float, ...]] = {
    "co-teaching": (76.2, 77.3, 77.0, 76.2),
    "PATE+": (76.4, 76.5, 77.3, 77.4),
}
"""Accuracy in percent at the tight budget, for each assumed noise rate β."""

TAUS = (0.091, 0.182, 0.227, 0.273, 0.318, 0.364)
TABLE3: tuple[float, ...] = (78.1, 78.6, 79.0, 79.5, 79.6, 78.2)
"""Accuracy in percent of PATE++ with β = 0.2 at the tight budget, for each removed share τ."""

FIGURE3_SAYS = (
    "paper, a picture without a table: 726 of 2,200 answers wrong (0.33); after 400 epochs the "
    "two discriminators disagree on fewer than 50 answered rows, and among these the share of "
    "wrong answers is much higher than 0.33"
)
