"""The contract of every mechanism: a rule from tallies to answers that knows its cost."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import asdict, dataclass
from typing import ClassVar

from ballotine.noise import QueryNoise
from ballotine.privacy.events import Event
from ballotine.privacy.ledger import Events
from ballotine.types import IntArray
from ballotine.voting.tally import Tallies


@dataclass(frozen=True)
class Mechanism(ABC):
    """A frozen set of parameters; the engine, the planner and the ledger use only this."""

    name: ClassVar[str]

    @abstractmethod
    def events(self, classes: int) -> Events:
        """Everything one query may release: its data-independent cost, before the fact."""

    @abstractmethod
    def realised(self, answers: IntArray, classes: int) -> Counter[Event]:
        """What a set of answers did release, read from the (public) answers alone."""

    @abstractmethod
    def release(self, tallies: Tallies, noise: QueryNoise) -> IntArray:
        """One class number per query, or ABSTAIN."""

    def describe(self) -> str:
        """Canonical text of name and parameters; part of what makes a query the same."""
        return json.dumps({"mechanism": self.name, **asdict(self)}, sort_keys=True)
