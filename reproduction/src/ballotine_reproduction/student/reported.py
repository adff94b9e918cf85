"""Numbers printed in the multi-winner paper (Dziedzic et al.) about students and DP-SGD."""

from __future__ import annotations

TABLE2: dict[str, tuple[float, float, float, float]] = {
    "non-private": (0.97, 0.85, 0.97, 0.85),
    "DP-SGD": (0.92, 0.50, 0.68, 0.40),
    "Powerset": (0.94, 0.58, 0.70, 0.29),
    "Binary": (0.94, 0.62, 0.85, 0.57),
}
"""ACC, BAC, AUC and mAP on Pascal VOC, 20 labels."""

TABLE2_EPSILON = 20.0
TABLE9_EPSILON = 8.0
TABLE9: dict[str, float] = {
    "non-private": 0.87,
    "DP-SGD": 0.58,
    "adaptive DP-SGD": 0.78,
    "Binary": 0.79,
}
"""AUC on five labels of CheXpert, ε = 8, δ = 1e-4."""


def auc(method: str, epsilon: float | None) -> float | None:
    """The AUC that is printed for a method at this ε (None: without privacy)."""
    if epsilon in (None, TABLE2_EPSILON) and method in TABLE2:
        return TABLE2[method][2]
    return TABLE9.get(method) if epsilon == TABLE9_EPSILON else None
