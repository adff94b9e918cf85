"""Averaged weights: what a student predicts with is steadier than its last step."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel


def averaged(module: nn.Module, decay: float) -> AveragedModel:
    """A copy whose weights follow slowly: average ← d·average + (1 − d)·weight.

    In the beginning d is smaller, (1 + t)/(10 + t) at step t, so that the average forgets the
    random start within a few steps.

    Args:
        module: what learns.
        decay: the largest d.
    """

    def follow(
        averages: Sequence[torch.Tensor], current: Sequence[torch.Tensor], steps: torch.Tensor | int
    ) -> None:
        keep = min(decay, (1 + int(steps)) / (10 + int(steps)))
        for average, value in zip(averages, current, strict=True):
            if average.is_floating_point():
                average.lerp_(value, 1 - keep)
            else:
                average.copy_(value)

    return AveragedModel(module, multi_avg_fn=follow, use_buffers=True)
