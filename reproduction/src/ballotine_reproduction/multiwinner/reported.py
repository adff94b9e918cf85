"""Numbers as the multi-winner paper prints them, for its own sets: answered queries and σ."""

from __future__ import annotations

from typing import TypeAlias

ByLabels: TypeAlias = dict[tuple[str, int], tuple[int, float]]
"""(mechanism, labels) to (answered queries, σ)."""

Printed: TypeAlias = dict[int, tuple[tuple[int, float], tuple[int, float]]]


def _by_labels(rows: Printed) -> ByLabels:
    """From rows of a table: labels, then queries and σ of Binary and of Powerset voting."""
    return {
        (mechanism, labels): cell
        for labels, cells in rows.items()
        for mechanism, cell in zip(("Binary", "Powerset"), cells, strict=True)
    }


# Table 5. In its last two rows the σ stand in the other order than in Section I.1.
_CHEXPERT: Printed = {
    1: ((988, 8), (988, 8)),
    2: ((898, 18), (872, 12)),
    3: ((399, 13), (674, 10)),
    4: ((554, 17), (323, 5)),
    5: ((320, 17), (582, 10)),
    6: ((299, 18), (392, 7)),
    7: ((157, 12), (338, 7)),
    8: ((145, 13), (200, 5)),
    9: ((159, 16), (241, 6)),
    10: ((105, 11), (146, 4)),
    11: ((201, 5), (152, 20)),
}

# Table 6.
_PASCAL_VOC: Printed = {
    1: ((5464, 2), (5464, 2)),
    2: ((5442, 5), (5464, 5)),
    3: ((3437, 7), (3416, 7)),
    5: ((2398, 8), (2040, 8)),
    8: ((1543, 7), (1192, 7)),
    11: ((1190, 11), (702, 4)),
    14: ((888, 12), (417, 3)),
    15: ((465, 8), (165, 3)),
    16: ((461, 7), (94, 2)),
    18: ((446, 2), (94, 2)),
    20: ((427, 7), (78, 2)),
}

BY_LABELS: dict[str, ByLabels] = {
    "CheXpert": _by_labels(_CHEXPERT),
    "Pascal VOC": _by_labels(_PASCAL_VOC),
}

# Table 8, Pascal VOC: labels to τ to answered queries.
_POWERSET: dict[int, dict[int, int]] = {
    1: {1: 5464},
    2: {1: 5464, 2: 5464},
    3: {1: 3437, 2: 3421, 3: 3416},
    5: {1: 2321, 2: 2151, 3: 2077, 4: 2048, 5: 2040},
    10: {1: 947, 2: 896, 3: 895, 5: 877, 10: 848},
    20: {1: 111, 2: 99, 3: 81, 5: 78, 10: 78, 20: 78},
}
POWERSET_TAU: dict[tuple[int, int], int] = {
    (labels, tau): queries for labels, row in _POWERSET.items() for tau, queries in row.items()
}

# Table 10, Pascal VOC, Binary, σ = 7: answered queries for ε from 1 to 20.
_QUERIES = (
    0,
    6,
    13,
    22,
    31,
    40,
    64,
    81,
    101,
    113,
    135,
    165,
    199,
    217,
    239,
    272,
    306,
    332,
    362,
    403,
)
BY_EPSILON: dict[int, int] = dict(enumerate(_QUERIES, start=1))
