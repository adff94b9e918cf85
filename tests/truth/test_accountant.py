"""The separate accountant: separate, and right where the answer is known."""

from __future__ import annotations

import ast
import math
from pathlib import Path

import numpy as np
import pytest
from mpmath import mp

from tests.truth import accountant
from tests.truth.accountant import ORDERS, Paid, PaidByVotes, Query, Record, Rule

GNMAX = Rule("gnmax", (("sigma", 4.0),), 2)
CONFIDENT = Rule(
    "confident-gnmax", (("sigma", 3.0), ("sigma_threshold", 4.0), ("threshold", 6.0)), 3
)


def divergence(p: list[float], q: list[float], order: float) -> float:
    total = mp.fsum(
        mp.mpf(a) ** order * mp.mpf(b) ** (1 - order) for a, b in zip(p, q, strict=True)
    )
    return float(mp.log(total) / (order - 1))


def test_it_imports_nothing_of_what_it_judges() -> None:
    tree = ast.parse(Path(accountant.__file__).read_text())
    modules = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = [a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names]
    own = [module for module in modules + names if module.startswith("ballotine")]
    assert own
    assert all(module.startswith("ballotine.oracle") for module in own)


@pytest.mark.parametrize("place", [60, 200, 300])
def test_two_classes_cost_what_the_worst_split_of_the_others_costs(place: int) -> None:
    """Seven others: their votes differ by an odd number, and the record's own moves it by two."""
    found = accountant.cost(Paid(GNMAX, (1.0,), (1.0,) * 7, True))[place]
    laws = [
        [
            [float(mp.ncdf(x)), float(mp.ncdf(-x))]
            for x in ((d + 1) / mp.sqrt(32), (d - 1) / mp.sqrt(32))
        ]
        for d in range(-7, 8, 2)
    ]
    order = float(ORDERS[place])
    expected = max(max(divergence(p, q, order), divergence(q, p, order)) for p, q in laws)
    assert found == pytest.approx(expected, rel=1e-7)


def test_a_record_pays_for_its_own_teachers_votes_only() -> None:
    record = Record()
    query = Query(GNMAX, (1.0, 0.0, 2.0), (0, 1, 1), (1.0, 2.0), True)
    record.add(query, [1])
    assert record.epsilon(1e-5) == 0.0
    record.add(query, [2])
    (paid,) = record.worst
    assert (paid.own, paid.others) == ((2.0,), (1.0,))


def test_an_abstention_costs_a_check_and_the_whole_law_no_more_than_its_parts() -> None:
    asked = accountant.cost(Paid(CONFIDENT, (1.0,), (1.0,) * 7, False))
    both = accountant.cost(Paid(CONFIDENT, (1.0,), (1.0,) * 7, True))
    assert np.all(asked < both)
    cast = accountant.cost(PaidByVotes(CONFIDENT, (5.0, 3.0, 0.0), ((0, 1.0),), True))
    assert np.all(cast <= both)


def test_the_conversion_is_a_lower_bound_and_near() -> None:
    record = Record()
    for _ in range(9):
        record.add(Query(GNMAX, (1.0,) * 8, (0,) * 8, (8.0, 0.0), True), [0])
    curve = 9 * accountant.cost(Paid(GNMAX, (1.0,), (1.0,) * 7, True))
    order = ORDERS[1:]
    price = np.log1p(-1 / order) - (math.log(1e-5) + np.log(order)) / (order - 1)
    best = float((curve[1:] + price).min())
    assert 0.97 * best < record.epsilon(1e-5) <= best
