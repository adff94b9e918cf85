"""Augmentation: a callable from a batch of images and a generator to a changed batch."""

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
        """One random change per image."""
        draws = torch.rand((3, len(images)), generator=generator) * 2 - 1
        angle = draws[0] * math.radians(self.degrees)
        shift = draws[1:] * (2 * self.share)  # the side is 2 long in these coordinates
        cos, sin = torch.cos(angle), torch.sin(angle)
        top = torch.stack((cos, -sin, shift[0]), dim=1)
        bottom = torch.stack((sin, cos, shift[1]), dim=1)
        maps = torch.stack((top, bottom), dim=1).to(images)
        grid = functional.affine_grid(maps, list(images.shape), align_corners=False)
        return functional.grid_sample(images, grid, align_corners=False)


AUGMENTATIONS: dict[str, Augment] = {"rotate-shift": RotateShift()}


def make_augment(augment: str | Augment | None) -> Augment | None:
    """An augmentation by name, or the user's own."""
    if augment is None or callable(augment):
        return augment
    if augment not in AUGMENTATIONS:
        raise ParameterError(
            f"unknown augmentation {augment!r}; choose one of {', '.join(AUGMENTATIONS)}"
        )
    return AUGMENTATIONS[augment]
