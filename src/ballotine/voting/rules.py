"""Rules for counting and charging votes and for when to stop: fixed before any vote is seen."""

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
    """Everything that determines an answer except the votes and the noise: public.

    Attributes:
        plan: the teachers, the weights of their votes, and what each group pays.
        classes: the number of classes, or labels.
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
            raise ParameterError("give a number of queries in fixed mode, and only there")
        if self.queries is not None and self.queries < 1:
            raise ParameterError(f"fixed mode needs at least one query, got {self.queries}")
        self.mechanism.require_votes(self.plan.votes)
        if self.mode is not Mode.FIXED:
            self.promise()
        elif self.plan.individual or math.isfinite(self.plan.groups[0].epsilon):
            raise ParameterError(
                "fixed mode promises no ε beforehand: leave out the budget's ε; individual "
                "budgets need strict mode"
            )

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that turns tallies into answers."""
        return self.plan.mechanism

    @property
    def charge(self) -> Charge:
        """The worst-case cost of one query for each group."""
        return self.plan.charge(self.classes)

    def promise(self) -> Promise:
        """Return the terms to open the ledger with."""
        plan = self.plan
        if self.queries is not None:
            return FixedPromise(
                plan.mechanism, plan.teachers, self.classes, self.queries, plan.delta
            )
        return Terms(tuple(plan.budgets.items()), self.mode)

    def describe(self) -> str:
        """Return everything that determines how a query is counted and charged, as text."""
        # A plan that is standard PATE in every respect has the same queries as standard PATE.
        return self.mechanism.describe() + ("" if self.plan.standard else self.plan.describe())

    def query_ids(self, keys: Sequence[bytes], ensemble: bytes) -> list[bytes]:
        """Return query ids: the same row, ensemble and rules are the same query."""
        rule = len(ensemble).to_bytes(4, "big") + ensemble + self.describe().encode()
        context = hashlib.sha256(rule).digest()
        return [hashlib.sha256(context + key).digest() for key in keys]

    def binding(
        self, ensemble: bytes = b"", groups: str = "", pool: Iterable[bytes] | None = None
    ) -> Binding:
        """Return the account that queries by these rules belong to.

        Args:
            ensemble: the identity of the voters, as a keyed hash, so that it may be shown.
            groups: a keyed hash of every record's group, if budgets are individual.
            pool: ids of all queries, if they are fixed beforehand.
        """
        digest = "" if pool is None else pool_digest(pool)
        return Binding(self.charge, ensemble.hex(), self.describe(), groups, digest)
