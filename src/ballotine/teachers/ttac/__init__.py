"""Teachers on heterogeneous data: averaging and control variates (TTAC), with or without noise."""

from ballotine.teachers.ttac.budget import RoundsPlan, plan_rounds
from ballotine.teachers.ttac.checkpoint import Checkpoint
from ballotine.teachers.ttac.local import Records
from ballotine.teachers.ttac.private import PLAIN_ASSUMPTION, PrivateRounds
from ballotine.teachers.ttac.rounds import METHODS, Method, State, Together, TogetherTrainer
from ballotine.teachers.ttac.trainer import TtacTrainer

__all__ = [
    "METHODS",
    "PLAIN_ASSUMPTION",
    "Checkpoint",
    "Method",
    "PrivateRounds",
    "Records",
    "RoundsPlan",
    "State",
    "Together",
    "TogetherTrainer",
    "TtacTrainer",
    "plan_rounds",
]
