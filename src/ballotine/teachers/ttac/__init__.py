"""Teachers on heterogeneous data: averaging and control variates (TTAC), with or without noise."""

import ballotine.neural.installed  # noqa: F401 - first: it says what to install
from ballotine.teachers.ttac.budget import RoundsPlan, plan_rounds
from ballotine.teachers.ttac.checkpoint import RoundsCheckpoint
from ballotine.teachers.ttac.local import LocalRecords
from ballotine.teachers.ttac.private import PLAIN_ASSUMPTION, PrivateRounds
from ballotine.teachers.ttac.rounds import METHODS, Method, State, Together, TogetherTrainer
from ballotine.teachers.ttac.trainer import TtacTrainer

__all__ = [
    "METHODS",
    "PLAIN_ASSUMPTION",
    "LocalRecords",
    "Method",
    "PrivateRounds",
    "RoundsCheckpoint",
    "RoundsPlan",
    "State",
    "Together",
    "TogetherTrainer",
    "TtacTrainer",
    "plan_rounds",
]
