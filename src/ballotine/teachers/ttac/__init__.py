"""Teachers for heterogeneous data: averaging and control variates (TTAC), with or without noise."""

import ballotine.neural.installed  # noqa: F401 - first: its error says what to install
from ballotine.teachers.together import (
    METHODS,
    PLAIN_ASSUMPTION,
    LearnTogether,
    Method,
    RoundsAccount,
    RoundsPlan,
    plan_rounds,
)
from ballotine.teachers.ttac.local import LocalRecords
from ballotine.teachers.ttac.network import Architecture
from ballotine.teachers.ttac.private import PrivateRounds
from ballotine.teachers.ttac.rounds import Rounds
from ballotine.teachers.ttac.state import RoundsCheckpoint, State
from ballotine.teachers.ttac.trainer import TtacTrainer

__all__ = [
    "METHODS",
    "PLAIN_ASSUMPTION",
    "Architecture",
    "LearnTogether",
    "LocalRecords",
    "Method",
    "PrivateRounds",
    "Rounds",
    "RoundsAccount",
    "RoundsCheckpoint",
    "RoundsPlan",
    "State",
    "TtacTrainer",
    "plan_rounds",
]
