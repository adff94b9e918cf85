"""What a training needs to go on later as if it had never stopped."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch.optim.swa_utils import AveragedModel

from ballotine.students.neural.checkpoint import Record
from ballotine.students.neural.learner import Learner, Rows


def learning(learner: Learner, generator: torch.Generator, average: AveragedModel | None) -> Record:
    """A copy of everything that learns and of where random numbers come from.

    Args:
        learner: after an epoch.
        generator: the training's own.
        average: of the weights.
    """
    return deepcopy(
        {
            **drawn(learner, generator),
            "modules": [module.state_dict() for module in learner.modules()],
            "optimisers": [optimiser.state_dict() for optimiser in learner.optimisers],
            "average": None if average is None else average.state_dict(),
        }
    )


def drawn(learner: Learner, generator: torch.Generator) -> Record:
    """What of a finished stage matters to the next one: its counts, and what was drawn."""
    return {
        "counts": {name: torch.from_numpy(c.copy()) for name, c in learner.counts().items()},
        "generator": generator.get_state(),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def put_back(
    kept: Record, learner: Learner, generator: torch.Generator, average: AveragedModel | None
) -> None:
    """Make a learner, its average and all sources of random numbers what they were."""
    for module, state in zip(learner.modules(), kept["modules"], strict=True):
        module.load_state_dict(state)
    for optimiser, state in zip(learner.optimisers, kept["optimisers"], strict=True):
        optimiser.load_state_dict(deepcopy(state))  # it would go on with these very tensors
    if average is not None:
        average.load_state_dict(kept["average"])
    redraw(kept, learner, generator)


def redraw(kept: Record, learner: Learner, generator: torch.Generator) -> None:
    """Make a learner's counts and all sources of random numbers what they were."""
    learner.recount({name: np.array(c.numpy()) for name, c in kept["counts"].items()})
    generator.set_state(kept["generator"])
    torch.set_rng_state(kept["torch"])
    if torch.cuda.is_available() and len(kept["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(kept["cuda"])


def packed(rows: list[Rows]) -> dict[str, Any]:
    """The notable rows of all epochs, as two tensors a name instead of one an epoch."""
    names = rows[0] if rows else {}
    return {
        name: {
            "sizes": torch.tensor([len(each[name]) for each in rows]),
            "rows": torch.from_numpy(np.concatenate([each[name] for each in rows])),
        }
        for name in names
    }


def unpacked(kept: dict[str, Any], epochs: int) -> list[Rows]:
    """The notable rows of each epoch."""
    parts = {
        name: [part.numpy() for part in both["rows"].split(both["sizes"].tolist())]
        for name, both in kept.items()
    }
    return [{name: found[epoch] for name, found in parts.items()} for epoch in range(epochs)]
