"""What to know when reading the tables."""

from __future__ import annotations

from ballotine_reproduction.experiment import Setting
from ballotine_reproduction.patepp.methods import schedule_of

CELLS = "student's accuracy on the evaluation slice: mean ± standard deviation over seeds"


def schedule_note(setting: Setting, *, long: bool = False) -> str:
    """How long everybody trained."""
    schedule = schedule_of(quick=setting.quick, long=long)
    falling = "" if schedule.decay == "none" else f"falling to zero by {schedule.decay}, "
    return (
        f"schedule: the network {schedule.network}, batch 100, Adam {schedule.learning_rate:g}, "
        f"{falling}{schedule.epochs} epochs over all public rows, or "
        f"{schedule.answered_epochs} over the answered ones for students that see no others; "
        f"co-teaching reaches its full β after {schedule.ramp} epochs. The paper: seven "
        "convolutions, 400 epochs and more, Adam 0.01"
    )
