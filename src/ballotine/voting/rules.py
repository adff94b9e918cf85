"""How votes are counted, charged and stopped: settled before any of them is seen."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

from ballotine.errors import ParameterError
from ballotine.ledger import Binding, Charge, Mode, Promise, Terms, pool_digest
from ballotine.privacy.conversion import Method
from ballotine.voting.individual.plan import Plan
from ballotine.voting.mechanism import Bounds, Mechanism
from ballotine.voting.publication import FixedPromise


@dataclass(frozen=True)
class Rules:
    """Everything that decides an answer but the votes and the noise; all of it is public.

    Attributes:
        plan: who votes with which weight and pays what.
        classes: how many classes, or labels, are voted on.
        mode: when answering stops.
        queries: how many different queries are asked in fixed mode.
        bounds: the analysis that stops the paper mode.
        conversion: the conversion that stops the paper mode.
    """

    plan: Plan
    classes: int
    mode: Mode = Mode.STRICT
    queries: int | None = None
    bounds: Bounds = "published"
    conversion: Method = "classic"

    def __post_init__(self) -> None:
        for name, value, known in (
            ("bounds", self.bounds, get_args(Bounds)),
            ("conversion", self.conversion, get_args(Method)),
        ):
            if value not in known:
                raise ParameterError(f"{name} must be one of {', '.join(known)}")
        if (self.queries is not None) != (self.mode is Mode.FIXED):
            raise ParameterError("the fixed mode, and no other, needs a number of queries")
        if self.queries is not None and self.queries < 1:
            raise ParameterError("the fixed mode needs the number of queries, beforehand")
        self.mechanism.require_votes(self.plan.votes)
        if self.mode is not Mode.FIXED:
            self.promise()
        elif self.plan.individual or math.isfinite(self.plan.groups[0].epsilon):
            raise ParameterError(
                "the fixed mode promises no ε beforehand: leave the budget's ε away; individual "
                "budgets need the strict mode"
            )

    @property
    def mechanism(self) -> Mechanism:
        """What turns tallies into answers."""
        return self.plan.mechanism

    @property
    def charge(self) -> Charge:
        """What one query costs each group, at worst."""
        return self.plan.charge(self.classes)

    def promise(self) -> Promise:
        """What the ledger is opened with."""
        plan = self.plan
        if self.queries is not None:
            return FixedPromise(
                plan.mechanism, plan.teachers, self.classes, self.queries, plan.delta
            )
        return Terms(tuple(plan.budgets.items()), self.mode)

    def describe(self) -> str:
        """Canonical text of all that decides how a query is counted and charged."""
        # A plan that is standard PATE in every respect asks standard PATE's queries.
        return self.mechanism.describe() + ("" if self.plan.standard else self.plan.describe())

    def query_ids(self, keys: Sequence[bytes], ensemble: bytes) -> list[bytes]:
        """Names of queries: the same row, ensemble and rule are the same query."""
        rule = len(ensemble).to_bytes(4, "big") + ensemble + self.describe().encode()
        context = hashlib.sha256(rule).digest()
        return [hashlib.sha256(context + key).digest() for key in keys]

    def binding(
        self, ensemble: bytes = b"", groups: str = "", pool: Iterable[bytes] | None = None
    ) -> Binding:
        """The account that queries by these rules belong to.

        Args:
            ensemble: names the voters; keyed, so that it may be shown.
            groups: a keyed hash of every record's group, where they have budgets of their own.
            pool: names of all queries, where they are fixed beforehand.
        """
        digest = "" if pool is None else pool_digest(pool)
        return Binding(self.charge, ensemble.hex(), self.describe(), groups, digest)
