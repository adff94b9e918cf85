"""Predictions that depend on a row only, not on the other rows of its batch.

The order of summation in a matrix product, and with it the rounding, depends on the number of
rows, on the memory alignment of a row and on the number of threads. A ballot near a tie could then
depend on which rows are predicted together. Here every product has the same size, every row is
aligned to the processor's vectors, and one thread works on it: on one machine, the same row gives
the same bits, alone or among a million.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from ballotine.errors import ParameterError
from ballotine.neural.layers import pooled_first

TABLES, IMAGES, LARGE = 256, 64, 16
"""Rows per batch: for tables, for images, and for large networks.

It depends on the model, never on the number of rows. Larger batches cost less per row, but a
single row costs as much as a whole batch, and a layer's output should fit into the cache.
"""
MANY_WEIGHTS = 1_000_000
"""Networks with at least this many weights count as large."""
VECTOR = 16
"""Numbers in a processor's longest vector: 512 bits in single precision."""

Work = Callable[[torch.Tensor], torch.Tensor]


def logits_of(module: nn.Module, inputs: torch.Tensor) -> torch.Tensor:
    """Return the module's logits for all rows, in evaluation mode."""
    module.eval()
    return row_by_row(lambda batch: module(batch).float(), inputs, _rows_at_once(module, inputs))


def probabilities(module: nn.Module, inputs: torch.Tensor, *, several: bool) -> torch.Tensor:
    """Return a trained module's probabilities for all rows, in double precision.

    Args:
        module: returns logits.
        inputs: rows, on the module's device.
        several: whether outputs are independent labels instead of classes.
    """
    quick = pooled_first(module.eval())

    def chances(batch: torch.Tensor) -> torch.Tensor:
        logits = quick(batch).double()
        return torch.sigmoid(logits) if several else torch.softmax(logits, dim=1)

    return row_by_row(chances, inputs, _rows_at_once(module, inputs))


def check_network(module: nn.Module, inputs: torch.Tensor, outputs: int) -> None:
    """Refuse a network of the wrong shape, or one whose logits for a row depend on other rows.

    Args:
        module: trained or not.
        inputs: at least one row.
        outputs: the number of logits it must return.
    """
    row = inputs[:1]
    alone = logits_of(module, row)
    if tuple(alone.shape) != (1, outputs):
        raise ParameterError(
            f"the network returns {tuple(alone.shape)[1:]} for one row; "
            f"it must return {outputs} logits"
        )
    beside = logits_of(module, torch.cat([row, torch.ones_like(row)]))[:1]
    if not torch.allclose(alone, beside, rtol=0, atol=0, equal_nan=True):
        raise ParameterError(
            "the network's logits for a row depend on other rows; in evaluation mode they must not "
            "(batch norm needs track_running_stats=True)"
        )


def row_by_row(work: Work, inputs: torch.Tensor, size: int = IMAGES) -> torch.Tensor:
    """Apply a function to all rows, in batches of a fixed size and without gradients.

    The last batch is padded with zeros. Several threads process whole batches at the same time,
    so the function must not change the module it uses.

    Args:
        work: maps a batch of rows to one row of numbers each, without mixing rows.
        inputs: all rows.
        size: of a batch; the same for all rows that are ever compared.
    """
    starts = range(0, max(len(inputs), 1), size)
    if not inputs.is_cpu:
        return torch.cat(_batches(work, inputs, starts))
    workers = min(torch.get_num_threads(), len(starts))
    each = -(-len(starts) // workers)
    shares = [starts[first : first + each] for first in range(0, len(starts), each)]
    with _one_thread():
        if len(shares) == 1:
            return torch.cat(_batches(work, inputs, starts))
        with ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            parts = pool.map(partial(_batches, work, inputs), shares)
            return torch.cat([batch for share in parts for batch in share])


def _rows_at_once(module: nn.Module, inputs: torch.Tensor) -> int:
    if sum(weight.numel() for weight in module.parameters()) >= MANY_WEIGHTS:
        return LARGE
    return TABLES if inputs.ndim == 2 else IMAGES


def _batches(work: Work, inputs: torch.Tensor, starts: range) -> list[torch.Tensor]:
    """Return the results for the batches that begin at these rows."""
    size = starts.step
    found = []
    with torch.inference_mode(), _AlignedProducts():
        for start in starts:
            rows = inputs[start : start + size]
            # A copy is aligned to vectors; a slice of the caller's array need not be.
            full = inputs.new_empty((size, *inputs.shape[1:]))
            full[: len(rows)], full[len(rows) :] = rows, 0
            batch = work(full)
            if len(batch) != size:
                raise ParameterError(
                    f"the network returns {len(batch)} rows for {size}; it must return one for each"
                )
            found.append(batch[: len(rows)])
    return found


@contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class _AlignedProducts(TorchFunctionMode):
    """Dense layers whose rows are padded with zeros to whole vectors.

    Libraries treat the numbers before the first vector boundary separately. Where a row does not
    fill whole vectors, their number would differ from row to row.
    """

    def __torch_function__(
        self, func: Any, _types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        chosen = _aligned_linear if func is functional.linear else func
        return chosen(*args, **(kwargs or {}))


def _aligned_linear(
    input: torch.Tensor,  # noqa: A002  # torch's names: modules may pass them as keywords
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
) -> torch.Tensor:
    missing = -weight.shape[-1] % VECTOR
    if missing:
        input, weight = (functional.pad(part, (0, missing)) for part in (input, weight))  # noqa: A001
    return functional.linear(input.contiguous(), weight.contiguous(), bias)
