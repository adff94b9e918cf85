"""Which answers are learnt from when some of them are wrong.

Networks fit right answers before wrong ones. Co-teaching (Han et al. 2018) has two of them show
each other the answers they find easiest; co-teaching+ (Yu et al. 2019) takes these among the
rows the two disagree on, so that they stay two.
"""

from __future__ import annotations

import math

import torch

RAMP = 15
"""Epochs until the full share of answers is left out."""


def kept_share(epoch: int, noise_rate: float, ramp: int = RAMP) -> float:
    """R(e) = 1 − β·min(e/15, 1): the share of answers that is learnt from.

    Args:
        epoch: from 1.
        noise_rate: β, the share of answers believed to be wrong.
        ramp: epochs until that share is left out.
    """
    return 1 - noise_rate * min(epoch / ramp, 1.0)


def smallest(losses: torch.Tensor, share: float) -> torch.Tensor:
    """The places of the smallest losses: at least that share of them."""
    count = math.ceil(share * len(losses) - 1e-9)
    return torch.topk(losses, count, largest=False).indices


def exchanged(
    losses: tuple[torch.Tensor, torch.Tensor], candidates: torch.Tensor, share: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """The places each of two peers learns from: those the other finds easiest.

    Args:
        losses: of each peer, one per row.
        candidates: the places to choose from; none is fine.
        share: how many of them are kept.
    """
    first, second = (smallest(each.detach()[candidates], share) for each in losses)
    return candidates[second], candidates[first]
