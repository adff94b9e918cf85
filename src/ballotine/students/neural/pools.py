"""What a neural student learns from: public rows, some with an answer and some without."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from ballotine.errors import DataError
from ballotine.neural.targets import Targets, as_targets, read_targets
from ballotine.neural.training import MISSING, slices
from ballotine.types import BoolArray, IntArray, Labels


@dataclass(frozen=True)
class Pools:
    """Public rows in one tensor, and which of them are answered.

    Attributes:
        inputs: all rows, in the shape a network takes: first those given with answers.
        labelled: which rows have an answer.
        codes: the answers of these, as class numbers or as rows of 0, 1 and MISSING.
        unlabelled: which rows are learnt from without an answer.
    """

    inputs: torch.Tensor
    labelled: torch.Tensor
    codes: torch.Tensor
    unlabelled: torch.Tensor

    def without(self, places: IntArray) -> Pools:
        """Some answers forgotten: their rows join those without one."""
        forgotten = torch.zeros(len(self.labelled), dtype=torch.bool, device=self.inputs.device)
        forgotten[torch.from_numpy(places).to(self.inputs.device)] = True
        kept = ~forgotten
        return replace(
            self,
            labelled=self.labelled[kept],
            codes=self.codes[kept],
            unlabelled=torch.unique(torch.cat((self.unlabelled, self.labelled[forgotten]))),
        )


@dataclass(frozen=True)
class Batch:
    """One step's rows: as many without an answer as with one.

    Attributes:
        places: which answers these are, counted within the labelled pool.
        codes: the answers.
        inputs: the rows with an answer, then those without.
    """

    places: torch.Tensor
    codes: torch.Tensor
    inputs: torch.Tensor

    @property
    def labelled(self) -> torch.Tensor:
        """The rows with an answer."""
        return self.inputs[: len(self.places)]

    @property
    def unlabelled(self) -> torch.Tensor:
        """The rows without one."""
        return self.inputs[len(self.places) :]


def read_answers(y: Any, rows: int) -> tuple[BoolArray, Targets]:
    """Which rows have an answer, and the answers of these: −1 stands for no answer.

    Args:
        y: a class per row; or 0 and 1 per label. A row of labels is without an answer when
            none of its labels has one.
        rows: how many there must be.
    """
    y = as_targets(y, rows)
    known = _known(y)
    if not known.any():
        raise DataError("no row has an answer, so there is nothing for a student to learn")
    targets = read_targets(y[known], int(known.sum()))
    if targets.outputs < 2 and not targets.multilabel:
        raise DataError(
            "all answers name one class, and a student needs at least two classes; ask more "
            "queries, lower the threshold, or give the budget more room"
        )
    return known, targets


def _known(y: Labels) -> BoolArray:
    if y.dtype.kind not in "iuf":
        return np.ones(len(y), dtype=np.bool_)
    missing: BoolArray = y == MISSING
    if y.ndim == 2 and y.shape[1] > 1:
        known: BoolArray = ~np.all(missing | np.isnan(y), axis=1)
        return known
    return ~missing.reshape(-1)


def make_pools(inputs: torch.Tensor, answered: BoolArray, codes: torch.Tensor) -> Pools:
    """All rows in pools. Without any unanswered row, the answered ones serve as such too.

    Args:
        inputs: all rows, as a network takes them.
        answered: which of the first ones have an answer; those after them have none.
        codes: the answers.
    """
    known = np.zeros(len(inputs), dtype=np.bool_)
    known[: len(answered)] = answered
    labelled, unlabelled = (
        torch.from_numpy(np.flatnonzero(part)).to(inputs.device) for part in (known, ~known)
    )
    others = unlabelled if len(unlabelled) else labelled
    return Pools(inputs, labelled, codes.to(inputs.device), others)


def draw(
    pools: Pools, size: int, generator: torch.Generator, *, both: bool = True
) -> Iterator[Batch]:
    """One epoch: every row of the larger pool once, the smaller one repeated.

    Args:
        pools: the rows.
        size: answers per batch, and as many rows without one.
        generator: where the order comes from.
        both: whether rows without an answer are wanted.
    """
    answered, others = len(pools.labelled), len(pools.unlabelled)
    length = max(answered, others) if both else answered
    device = pools.inputs.device
    first = _repeated(answered, length, generator).to(device)
    second = _repeated(others, length if both else 0, generator).to(device)
    for part in slices(length, size):
        places = first[part]
        rows = torch.cat((pools.labelled[places], pools.unlabelled[second[part]]))
        yield Batch(places, pools.codes[places], pools.inputs[rows])


def _repeated(rows: int, length: int, generator: torch.Generator) -> torch.Tensor:
    """Random orders of all rows, one after another, up to a length."""
    rounds = -(-length // rows)
    orders = [torch.randperm(rows, generator=generator) for _ in range(rounds)]
    return torch.cat([torch.empty(0, dtype=torch.int64), *orders])[:length]
