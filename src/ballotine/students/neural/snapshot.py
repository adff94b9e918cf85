"""The state that a training needs to resume as if it had never stopped."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch.optim.swa_utils import AveragedModel

from ballotine.students.neural.checkpoint import Record
from ballotine.students.neural.learner import Learner
from ballotine.students.neural.teaching import Rows


def capture(learner: Learner, average: AveragedModel | None, *, finished: bool = False) -> Record:
    """Copy all weights and counts, and the state of all random number generators.

    Args:
        learner: after an epoch.
        average: the moving average of the weights.
        finished: whether this stage is over: the next one then needs only its counts and
            the generators.
    """
    counts = learner.teaching.counts()
    kept = {
        "counts": {name: torch.from_numpy(found.copy()) for name, found in counts.items()},
        "generator": learner.setting.generator.get_state(),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }
    if finished:
        return kept
    learning = {
        "modules": [module.state_dict() for module in learner.modules],
        "optimisers": [optimiser.state_dict() for optimiser in learner.optimisers],
        "average": None if average is None else average.state_dict(),
    }
    return {**kept, **deepcopy(learning)}


def restore(kept: Record, learner: Learner, average: AveragedModel | None) -> None:
    """Put back what `capture` copied."""
    if "modules" in kept:
        for module, state in zip(learner.modules, kept["modules"], strict=True):
            module.load_state_dict(state)
        for optimiser, state in zip(learner.optimisers, kept["optimisers"], strict=True):
            optimiser.load_state_dict(deepcopy(state))  # the optimiser would modify these tensors
        if average is not None:
            average.load_state_dict(kept["average"])
    learner.teaching.recount({name: np.array(c.numpy()) for name, c in kept["counts"].items()})
    learner.setting.generator.set_state(kept["generator"])
    torch.set_rng_state(kept["torch"])
    if torch.cuda.is_available() and len(kept["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(kept["cuda"])


def packed(rows: list[Rows]) -> dict[str, Any]:
    """Pack the notable rows of all epochs into two tensors per name."""
    names = rows[0] if rows else {}
    return {
        name: {
            "sizes": torch.tensor([len(each[name]) for each in rows]),
            "rows": torch.from_numpy(np.concatenate([each[name] for each in rows])),
        }
        for name in names
    }


def unpacked(kept: dict[str, Any], epochs: int) -> list[Rows]:
    """Return the notable rows of each epoch."""
    parts = {
        name: [part.numpy() for part in both["rows"].split(both["sizes"].tolist())]
        for name, both in kept.items()
    }
    return [{name: found[epoch] for name, found in parts.items()} for epoch in range(epochs)]
