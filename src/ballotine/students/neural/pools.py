"""The training data of a neural student: public rows, answered and unanswered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from ballotine.errors import DataError
from ballotine.neural.targets import Targets, as_targets, read_targets
from ballotine.neural.training import MISSING, slices
from ballotine.students.fitting import MORE_ANSWERS
from ballotine.types import BoolArray, IntArray, Labels


@dataclass(frozen=True)
class Pools:
    """Public rows in one tensor, and which of them are answered.

    Attributes:
        inputs: all rows, in the shape of the network's input: those of ``X`` first.
        labelled: which rows have an answer.
        codes: their answers, as class numbers or as rows of 0, 1 and MISSING.
        unlabelled: which rows are used without an answer.
    """

    inputs: torch.Tensor
    labelled: torch.Tensor
    codes: torch.Tensor
    unlabelled: torch.Tensor

    def without(self, places: IntArray) -> Pools:
        """Return the pools without some answers, whose rows become unanswered."""
        removed = torch.zeros(len(self.labelled), dtype=torch.bool, device=self.inputs.device)
        removed[torch.from_numpy(places).to(self.inputs.device)] = True
        kept = ~removed
        return replace(
            self,
            labelled=self.labelled[kept],
            codes=self.codes[kept],
            unlabelled=torch.unique(torch.cat((self.unlabelled, self.labelled[removed]))),
        )


@dataclass(frozen=True)
class Batch:
    """The rows of one step: as many unanswered as answered ones.

    Attributes:
        places: the positions of the answers in the labelled pool.
        codes: the answers.
        inputs: the answered rows, then the unanswered ones.
    """

    places: torch.Tensor
    codes: torch.Tensor
    inputs: torch.Tensor

    @property
    def labelled(self) -> torch.Tensor:
        """The answered rows."""
        return self.inputs[: len(self.places)]

    @property
    def unlabelled(self) -> torch.Tensor:
        """The unanswered rows."""
        return self.inputs[len(self.places) :]


def read_answers(y: Any, rows: int) -> tuple[BoolArray, Targets]:
    """Return which rows have an answer, and these answers; −1 means no answer.

    Args:
        y: a class per row; or 0 and 1 per label. A row of labels is unanswered if none of
            its labels is answered.
        rows: the expected number of rows.
    """
    y = as_targets(y, rows)
    known = _known(y)
    if not known.any():
        raise DataError("no row has an answer, so there is nothing for a student to learn")
    targets = read_targets(y[known], int(known.sum()))
    if targets.outputs < 2 and not targets.multilabel:
        raise DataError(
            f"all answers name one class, and a student needs at least two classes; {MORE_ANSWERS}"
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
    """Split rows into pools; if all rows are answered, they are used as unanswered ones too.

    Args:
        inputs: all rows, in the shape of the network's input.
        answered: which of the first rows have an answer; those after them have none.
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
    pools: Pools, size: int, generator: torch.Generator, *, unlabelled: bool = True
) -> Iterator[Batch]:
    """Yield the batches of one epoch: the larger pool once, the smaller one repeated.

    Args:
        pools: the rows.
        size: answered rows per batch, and as many unanswered ones.
        generator: draws the order.
        unlabelled: whether to include unanswered rows.
    """
    answered, others = len(pools.labelled), len(pools.unlabelled)
    length = max(answered, others) if unlabelled else answered
    device = pools.inputs.device
    first = _repeated(answered, length, generator).to(device)
    second = _repeated(others, length if unlabelled else 0, generator).to(device)
    for part in slices(length, size):
        places = first[part]
        rows = torch.cat((pools.labelled[places], pools.unlabelled[second[part]]))
        yield Batch(places, pools.codes[places], pools.inputs[rows])


def _repeated(rows: int, length: int, generator: torch.Generator) -> torch.Tensor:
    """Return random permutations of all rows, concatenated and cut to a length."""
    rounds = -(-length // rows)
    orders = [torch.randperm(rows, generator=generator) for _ in range(rounds)]
    return torch.cat([torch.empty(0, dtype=torch.int64), *orders])[:length]
