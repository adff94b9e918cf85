"""Data augmentation: images are moved, rows of tables get values of other rows.

An augmentation is a callable that maps a batch of rows and a generator to a changed batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.nn import functional

from ballotine.errors import ParameterError

Augment = Callable[[torch.Tensor, torch.Generator], torch.Tensor]


@dataclass(frozen=True)
class RotateShift:
    """Rotate and shift each image at random (Individualized PATE: ±7.5°, 7 %).

    Attributes:
        degrees: the largest rotation, either way.
        share: the largest shift, as a share of the image's side, either way.
    """

    degrees: float = 7.5
    share: float = 0.07

    def __call__(self, images: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """Change each image at random."""
        draws = torch.rand((3, len(images)), generator=generator) * 2 - 1
        angle = draws[0] * math.radians(self.degrees)
        shift = draws[1:] * (2 * self.share)  # a side has length 2 in these coordinates
        cos, sin = torch.cos(angle), torch.sin(angle)
        top = torch.stack((cos, -sin, shift[0]), dim=1)
        bottom = torch.stack((sin, cos, shift[1]), dim=1)
        maps = torch.stack((top, bottom), dim=1).to(images)
        grid = functional.affine_grid(maps, list(images.shape), align_corners=False)
        return functional.grid_sample(images, grid, align_corners=False)


@dataclass(frozen=True)
class SwapFeatures:
    """Replace some features of each row by those of another row of the batch.

    Values remain plausible whatever the scale of a feature.

    Attributes:
        share: the expected share of features that are replaced.
    """

    share: float = 0.1

    def __call__(self, rows: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """Change each row at random."""
        swapped = torch.rand(rows.shape, generator=generator).to(rows.device) < self.share
        other = torch.randperm(len(rows), generator=generator).to(rows.device)
        return torch.where(swapped, rows[other], rows)


@dataclass(frozen=True)
class StrongChange:
    """Rotate and shift images further, change their contrast, and mask a square of each.

    Attributes:
        degrees: the largest rotation, either way.
        share: the largest shift, as a share of the image's side, either way.
        contrast: the largest change of contrast, as a share, either way.
        covered: the side of the masked square, as a share of the image's side.
    """

    degrees: float = 25.0
    share: float = 0.15
    contrast: float = 0.4
    covered: float = 0.35

    def __call__(self, images: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """Change each image at random."""
        moved = RotateShift(self.degrees, self.share)(images, generator)
        draws = torch.rand((3, len(images)), generator=generator).to(images.device)
        factor = 1 + self.contrast * (2 * draws[0] - 1)
        height, width = images.shape[-2:]
        rows = _strip(draws[1], height, self.covered)
        columns = _strip(draws[2], width, self.covered)
        hidden = (rows[:, :, None] & columns[:, None, :])[:, None]
        return (moved * factor.reshape(-1, 1, 1, 1)).masked_fill(hidden, 0.0)


def _strip(draws: torch.Tensor, length: int, share: float) -> torch.Tensor:
    """Return, for each draw, which positions of an axis are inside a randomly placed strip."""
    size = round(share * length)
    start = (draws * (length - size + 1)).long()[:, None]
    places = torch.arange(length, device=draws.device)[None]
    return (places >= start) & (places < start + size)


AUGMENTATIONS: dict[str, Augment] = {"rotate-shift": RotateShift()}
WEAK: tuple[Augment, Augment] = (RotateShift(), SwapFeatures(0.05))
STRONG: tuple[Augment, Augment] = (StrongChange(), SwapFeatures(0.25))


def make_augment(
    augment: str | Augment | None, *, images: bool, auto: tuple[Augment, Augment] = WEAK
) -> Augment | None:
    """Return an augmentation by name, the user's own, or the default for such rows.

    Args:
        augment: a name, "auto", a callable, or None.
        images: whether rows are images.
        auto: what "auto" means for images, and for tables.
    """
    if augment is not None and not callable(augment):
        named = {"auto": auto[0] if images else auto[1], **AUGMENTATIONS}
        if augment not in named:
            raise ParameterError(
                f"unknown augmentation {augment!r}; choose one of {', '.join(named)}"
            )
        augment = named[augment]
    if isinstance(augment, RotateShift | StrongChange) and not images:
        raise ParameterError("only images can be rotated and shifted; give the shape of one image")
    return augment
