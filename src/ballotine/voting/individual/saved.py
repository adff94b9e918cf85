"""Individual budgets for saved votes: a file says which teacher belongs to which group.

The file is a CSV. For weighting and vanishing it has a line per teacher, in the order of the
ballots' columns: ``teacher,group`` and, if the weights are given instead of planned, ``weight``.
For upsampling it has a line per group: ``group,copies``.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ballotine.data.partition import Partition
from ballotine.errors import DataError, ParameterError
from ballotine.privacy.reach import Reach
from ballotine.voting.individual.levels import as_pairs, budget_of, group_numbers
from ballotine.voting.individual.plan import GroupPlan, Plan
from ballotine.voting.individual.vanishing import Vanishing
from ballotine.voting.individual.weighting import Weighting
from ballotine.voting.mechanism import Mechanism

Rows = list[dict[str, str]]


def read_groups(path: str | Path) -> Rows:
    """Return the lines of a file of groups, as mappings from column to text."""
    where = Path(path)
    try:
        with where.open(encoding="utf-8-sig", newline="") as stream:
            rows = [dict(row) for row in csv.DictReader(stream, restval="", restkey="more")]
    except OSError as problem:
        raise DataError(f"the groups in {where} cannot be read: {problem.strerror}") from None
    except (ValueError, csv.Error):
        raise DataError(
            f"the groups in {where} are not UTF-8 text of comma-separated values"
        ) from None
    columns = set(rows[0]) if rows else set()
    if not ({"teacher", "group"} <= columns or {"group", "copies"} == columns):
        raise DataError(
            f"{where} needs the columns teacher,group (and optionally weight), one line per "
            "teacher; or, for upsampling, group,copies, one line per group"
        )
    return rows


def parse_budgets(text: str, groups: Sequence[str]) -> dict[str, float]:
    """Parse budgets of a command line: ``1,2,3`` in the order of groups, or ``a=1,b=2``."""
    parts = [part.strip() for part in text.split(",")]
    if all("=" in part for part in parts):
        given = dict(part.split("=", 1) for part in parts)
    elif len(parts) == len(groups):
        given = dict(zip(groups, parts, strict=True))
    else:
        raise ParameterError(f"got {len(parts)} budgets for {len(groups)} groups; give one each")
    if set(given) != set(groups):
        raise ParameterError("give one budget for each group of the file, by its name")
    return {name: budget_of(value) for name, value in given.items()}


def group_names(rows: Rows) -> list[str]:
    """Return the groups of a file: numbers in numerical order, then names in alphabetical order."""
    names = {row["group"] for row in rows}
    if "" in names:
        raise DataError("a line in the file of groups has no group")
    return sorted(names, key=lambda name: (0, int(name), "") if name.isdecimal() else (1, 0, name))


def plan_saved(
    rows: Rows,
    budgets: Mapping[str, float],
    teachers: int,
    mechanism: Mechanism,
    classes: int,
    delta: float,
    method: str = "weighting",
) -> Plan:
    """Return the plan for teachers that have voted already.

    Args:
        rows: from `read_groups`.
        budgets: ε by group.
        teachers: the number of ballots on each query.
        mechanism: the mechanism that answers; for upsampling, with its noise already scaled.
        classes: the number of classes.
        delta: the δ of every group.
        method: weighting or vanishing; files with copies are upsampling.
    """
    if any(math.isinf(epsilon) for epsilon in budgets.values()):
        raise ParameterError("teachers of records that need no privacy do not vote: leave them out")
    if "copies" in rows[0]:
        return _upsampled(rows, budgets, teachers, mechanism, delta)
    if len(rows) != teachers:
        raise DataError(f"the file of groups has {len(rows)} lines, but {teachers} teachers voted")
    if "weight" in rows[0]:
        return _weighted(rows, budgets, mechanism, delta)
    scheme = Weighting(dict(budgets)) if method == "weighting" else Vanishing(dict(budgets))
    if method not in ("weighting", "vanishing"):
        raise ParameterError(f"saved votes need weighting or vanishing, not {method}")
    numbers = group_numbers(np.array([row["group"] for row in rows]), budgets)
    # One record per teacher stands for all of its records, which have the same budget.
    alone = Partition(tuple(np.array([place]) for place in range(teachers)), False)
    return scheme.plan_for(alone, numbers, mechanism, classes, delta)


def _weighted(rows: Rows, budgets: Mapping[str, float], mechanism: Mechanism, delta: float) -> Plan:
    groups = []
    for name, epsilon in as_pairs(dict(budgets)):
        places = tuple(i for i, row in enumerate(rows) if row["group"] == name)
        weights = {_number(rows[place]["weight"], "weight") for place in places}
        if len(weights) != 1:
            raise DataError("all teachers of a group must have the same weight")
        reach = Reach(weights.pop())
        groups.append(GroupPlan(name, epsilon, len(places), places, reach, len(places)))
    names = tuple(group.name for group in groups)
    return Plan("weighting", mechanism, len(rows), tuple(groups), delta, names)


def _upsampled(
    rows: Rows, budgets: Mapping[str, float], teachers: int, mechanism: Mechanism, delta: float
) -> Plan:
    copies = {row["group"]: _number(row["copies"], "number of copies") for row in rows}
    if len(copies) != len(rows) or any(number != int(number) for number in copies.values()):
        raise DataError("every group needs one line, with a whole number of copies")
    if any(not 1 <= number <= teachers for number in copies.values()):
        raise DataError(
            f"the number of copies must be between 1 and the number of teachers, {teachers}"
        )
    everyone = tuple(range(teachers))
    groups = tuple(
        GroupPlan(name, epsilon, 1, everyone, Reach(teachers=int(copies[name])), teachers)
        for name, epsilon in as_pairs(dict(budgets))
    )
    names = tuple(group.name for group in groups)
    return Plan("upsampling", mechanism, teachers, groups, delta, names)


def _number(text: str, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise DataError(f"a {what} in the file of groups is not a number")
    return number
