"""Weak and strong random changes of rows: images are moved, tables get values of other rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from ballotine.errors import ParameterError
from ballotine.neural.augment import Augment, RotateShift, make_augment


@dataclass(frozen=True)
class SwapFeatures:
    """Give some features of each row the values of another row of the batch.

    Values stay plausible whatever the features' scales are.

    Attributes:
        share: of the features.
    """

    share: float = 0.1

    def __call__(self, rows: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """One random change per row."""
        swapped = torch.rand(rows.shape, generator=generator).to(rows.device) < self.share
        other = torch.randperm(len(rows), generator=generator).to(rows.device)
        return torch.where(swapped, rows[other], rows)


@dataclass(frozen=True)
class StrongChange:
    """Rotate and shift images further, change their contrast, and cover a square of them.

    Attributes:
        degrees: the largest rotation, either way.
        share: the largest shift, as a share of the image's side, either way.
        contrast: the largest change of contrast, as a share, either way.
        covered: the side of the covered square, as a share of the image's side.
    """

    degrees: float = 25.0
    share: float = 0.15
    contrast: float = 0.4
    covered: float = 0.35

    def __call__(self, images: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """One random change per image."""
        moved = RotateShift(self.degrees, self.share)(images, generator)
        draws = torch.rand((3, len(images)), generator=generator).to(images.device)
        factor = 1 + self.contrast * (2 * draws[0] - 1)
        height, width = images.shape[-2:]
        rows = _strip(draws[1], height, self.covered)
        columns = _strip(draws[2], width, self.covered)
        hidden = (rows[:, :, None] & columns[:, None, :])[:, None]
        return (moved * factor.reshape(-1, 1, 1, 1)).masked_fill(hidden, 0.0)


def _strip(draws: torch.Tensor, length: int, share: float) -> torch.Tensor:
    """For each draw the places within a strip somewhere along an axis."""
    size = round(share * length)
    start = (draws * (length - size + 1)).long()[:, None]
    places = torch.arange(length, device=draws.device)[None]
    return (places >= start) & (places < start + size)


WEAK: tuple[Augment, Augment] = (RotateShift(), SwapFeatures(0.05))
STRONG: tuple[Augment, Augment] = (StrongChange(), SwapFeatures(0.25))


def choose(augment: Any, images: bool, auto: tuple[Augment, Augment] = WEAK) -> Augment | None:
    """An augmentation by name or the user's own; "auto" is what suits the rows.

    Args:
        augment: "auto", a name, a callable, or None.
        images: whether rows are images.
        auto: for images, and for tables.
    """
    if isinstance(augment, str) and augment == "auto":
        return auto[0] if images else auto[1]
    found = make_augment(augment)
    if isinstance(found, RotateShift | StrongChange) and not images:
        raise ParameterError("only images can be rotated and shifted; give the shape of one")
    return found
