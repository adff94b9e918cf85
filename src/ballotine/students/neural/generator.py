"""The generator: three dense layers from noise to rows (Salimans et al. 2016)."""

from __future__ import annotations

import math

import torch
from torch import nn


class Generator(nn.Module):
    """Makes up rows within the range of the public ones.

    Parameters:
        rows: public rows; the range of each feature is all that is taken from them.
        noise: numbers that one made-up row is drawn from.
        width: of the hidden layers.
    """

    low: torch.Tensor
    range: torch.Tensor

    def __init__(self, rows: torch.Tensor, noise: int = 100, width: int = 500) -> None:
        super().__init__()
        self.noise = noise
        self.shape = tuple(rows.shape[1:])
        self.layers = nn.Sequential(
            nn.Linear(noise, width, bias=False),
            nn.BatchNorm1d(width),
            nn.Softplus(),
            nn.Linear(width, width, bias=False),
            nn.BatchNorm1d(width),
            nn.Softplus(),
            nn.Linear(width, math.prod(self.shape)),
            nn.Sigmoid(),
        )
        low, high = rows.flatten(1).amin(dim=0), rows.flatten(1).amax(dim=0)
        self.register_buffer("low", low)
        self.register_buffer("range", high - low)

    def forward(self, noise: torch.Tensor) -> torch.Tensor:
        """One row for each row of noise."""
        rows: torch.Tensor = self.low + self.range * self.layers(noise)
        return rows.reshape(-1, *self.shape)

    def draw(self, count: int, generator: torch.Generator) -> torch.Tensor:
        """So many made-up rows."""
        noise = torch.rand((count, self.noise), generator=generator)
        made: torch.Tensor = self(noise.to(self.low.device))
        return made
