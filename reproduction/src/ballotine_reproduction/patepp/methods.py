"""The students that are compared, each by name, and how long they train."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from sklearn.svm import SVC

from ballotine.students.neural import (
    CoTeaching,
    FixMatch,
    MixMatch,
    PatePlus,
    SemiSupervisedGAN,
    Supervised,
)
from ballotine_reproduction.patepp.ensemble import VotedPool

BETA = 0.2
"""The paper's noise rate in its Table I."""
CAUTIOUS_BETA = 0.1
"""Of two networks on answered rows; too small a share is the safer error."""
CHOICE = "MixMatch on patches"
"""What we recommend for images: chosen on rows and seeds that the tables do not use."""
PATCH_NETWORK: dict[str, Any] = {"network": "mlp", "shape": None}
PATCH_EFFORT: dict[str, Any] = {"epochs": 10, "learning_rate": 1e-3}
PATCH_WIDTH, PATCH_RAMP = 200, 5
"""Students that see patches instead of pixels: a small network, trained for a short time."""
TAU = {"tight": 0.318, "loose": 0.182}
"""The removed share: the paper's best at the tight budget; it prints none for the loose one."""


@dataclass(frozen=True)
class StudentSchedule:
    """How long and on which network everybody trains.

    Attributes:
        network: a name of the zoo.
        epochs: passes over the rows without an answer, which are the larger pool.
        answered_epochs: passes of students that look at answered rows only.
        ramp: epochs over which co-teaching lowers the share it keeps.
        generator_width: of the hidden layers of generators.
        learning_rate: Adam's.
        decay: how it falls.
    """

    network: str
    epochs: int
    answered_epochs: int
    ramp: int
    generator_width: int = 500
    learning_rate: float = 3e-3
    decay: str = "cosine"


FULL = StudentSchedule("small-cnn", epochs=12, answered_epochs=40, ramp=5)
QUICK = StudentSchedule("mlp", epochs=10, answered_epochs=25, ramp=4, generator_width=100)
LONG = StudentSchedule(
    "small-cnn", epochs=400, answered_epochs=400, ramp=15, learning_rate=1e-2, decay="none"
)
"""The paper's schedule; its network of seven convolutions would take days."""
QUICK_LONG = replace(QUICK, epochs=12, learning_rate=1e-2, decay="none")


def schedule_of(*, quick: bool, long: bool = False) -> StudentSchedule:
    """The schedule of the tables, of the paper, or of a quick run."""
    if long:
        return QUICK_LONG if quick else LONG
    return QUICK if quick else FULL


@dataclass(frozen=True)
class Training:
    """One training: everything it depends on besides the rows and the schedule.

    Attributes:
        method: one of `METHODS`, or "PATE++".
        level: the noise level of its answers.
        seed: of queries, noise and student.
        beta: the noise rate it assumes, where it does.
        tau: the share of answers it forgets, where it does.
        long: whether it trains as long as in the paper.
    """

    method: str
    level: str
    seed: int
    beta: float | None = None
    tau: float | None = None
    long: bool = False


def case(method: str, level: str, seed: int) -> Training:
    """A method as Table I has it."""
    beta = BETA if method.startswith(("co-teaching", "PATE+")) else None
    return Training(method, level, seed, beta, TAU[level] if method.startswith("PATE++") else None)


def on_patches(method: str) -> bool:
    """Whether the student sees patches instead of pixels."""
    return method.endswith("on patches")


Shared: TypeAlias = dict[str, Any]
Maker: TypeAlias = Callable[[Training, Shared, StudentSchedule], Any]


def make(which: Training, pool: VotedPool, schedule: StudentSchedule) -> Any:
    """A student that has learnt nothing yet."""
    shared: Shared = {
        "network": schedule.network,
        "shape": pool.rows.shape,
        "epochs": schedule.epochs,
        "learning_rate": schedule.learning_rate,
        "decay": schedule.decay,
        "random_state": which.seed,
    }
    if on_patches(which.method):
        shared |= PATCH_NETWORK
        schedule = replace(schedule, generator_width=PATCH_WIDTH)
        if not which.long:
            shared |= PATCH_EFFORT
            schedule = replace(schedule, ramp=PATCH_RAMP)
    return METHODS[which.method](which, shared, schedule)


def _supervised(schedule: StudentSchedule, shared: Shared, **options: Any) -> Any:
    return Supervised(**{**shared, "epochs": schedule.answered_epochs}, **options)


def _two_networks(_: Training, shared: Shared, schedule: StudentSchedule) -> Any:
    return CoTeaching(
        noise_rate=CAUTIOUS_BETA,
        ramp=schedule.ramp,
        augment="rotate-shift",
        ema=0.99,
        **{**shared, "epochs": schedule.answered_epochs},
    )


def _original(_: Training, shared: Shared, schedule: StudentSchedule) -> Any:
    return SemiSupervisedGAN(generator_width=schedule.generator_width, **shared)


def _peers(which: Training, shared: Shared, schedule: StudentSchedule) -> Any:
    return PatePlus(
        noise_rate=BETA if which.beta is None else which.beta,
        ramp=schedule.ramp,
        by_disagreement=which.method != "co-teaching",
        generator_width=schedule.generator_width,
        **shared,
    )


METHODS: dict[str, Maker] = {
    "SVM": lambda *_: SVC(C=1.0, gamma=0.02),
    "supervised": lambda _, shared, schedule: _supervised(schedule, shared),
    "original": _original,
    "co-teaching": _peers,
    "PATE+": _peers,
    "PATE++": _peers,
    "FixMatch": lambda _, shared, __: FixMatch(threshold=0.8, ema=0.99, **shared),
    "augmented": lambda _, shared, schedule: _supervised(
        schedule, shared, augment="rotate-shift", ema=0.99
    ),
    "two networks": _two_networks,
    "SVM on patches": lambda *_: SVC(C=1.0),
    "original on patches": _original,
    "PATE+ on patches": _peers,
    "PATE++ on patches": _peers,
    CHOICE: lambda _, shared, __: MixMatch(ema=0.99, **shared),
}
"""By the name that tables use."""
