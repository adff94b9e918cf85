"""What a ledger's entries add up to: one account per group, and the queries behind them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ballotine.errors import InsufficientBudgetError, LedgerTamperedError, ParameterError
from ballotine.ledger import chain
from ballotine.ledger.account import Account, Realised, Tab
from ballotine.ledger.chain import Entry
from ballotine.ledger.charge import EVERYONE, Charge, Share, cost_of
from ballotine.ledger.terms import Mode, Terms
from ballotine.privacy.best import best_epsilon
from ballotine.privacy.events import from_json
from ballotine.privacy.guarantee import round_up
from ballotine.types import FloatArray


@dataclass
class Spending:
    """A running sum over the entries of one ledger.

    Attributes:
        terms: what was promised.
        accounts: of each group.
        turns: how many queries were charged alike.
        asked: queries and rounds of training that were paid for.
        recorded: queries whose answer is kept.
        answered: those among them that were not abstentions.
        rounds: rounds of training whose release is recorded.
        statement: the ε that was published in fixed mode.
    """

    terms: Terms
    accounts: dict[str, Account] = field(init=False)
    turns: Counter[Charge] = field(default_factory=Counter)
    asked: int = 0
    recorded: int = 0
    answered: int = 0
    rounds: int = 0
    statement: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        self.accounts = {name: Account(budget) for name, budget in self.terms.budgets}

    @property
    def pending(self) -> int:
        """Queries and rounds reserved, and not released."""
        return self.asked - self.recorded - self.rounds

    def apply(self, entry: Entry) -> None:
        """Take one entry into account; an impossible one means tampering."""
        if entry.kind == "reserve":
            self._reserve(entry)
        elif entry.kind == "record":
            self._record(entry)
        elif entry.kind == "publish":
            self._publish(entry)
        elif entry.kind not in ("open", "migrate"):
            raise LedgerTamperedError(f"the ledger holds an entry of unknown kind {entry.kind!r}")

    def cost(self, orders: FloatArray) -> FloatArray:
        """What the group that was charged most was charged."""
        costs = np.stack([account.cost(orders) for account in self.accounts.values()])
        most: FloatArray = costs.max(axis=0)
        return most

    def epsilon(self) -> float:
        """The meter's ε, of the group that was charged most."""
        return max(account.epsilon() for account in self.accounts.values())

    def guaranteed_epsilon(self) -> float:
        """ε that holds for every group; infinite when a private number decided when to stop."""
        if self.terms.mode is Mode.PAPER:
            return math.inf
        return max(account.guaranteed_epsilon() for account in self.accounts.values())

    def orders(self, charge: Charge) -> dict[str, float]:
        """The order of each group's stop rule."""
        return {
            name: self.accounts[name].filter_order(share.events) for name, share in charge.shares
        }

    def affordable(self, charge: Charge, most: int = 1 << 40) -> int:
        """How many more queries charged like this all groups allow, up to ``most``."""
        self.require_groups(charge)
        if self.terms.queries is not None:
            most = min(most, self.terms.queries - self.asked)
        if self.terms.mode is Mode.PAPER:
            return most
        for name, share in charge.shares:
            most = self.accounts[name].affordable(charge, share, most)
        return most

    def require_groups(self, charge: Charge) -> None:
        """A query costs every group something, and nobody else."""
        if set(charge.groups) != set(self.accounts):
            raise ParameterError(
                f"the ledger has budgets for {', '.join(self.accounts)}, and the query charges "
                f"{', '.join(charge.groups)}; they must be the same groups"
            )

    def refusal(self, charge: Charge) -> InsufficientBudgetError:
        """The error for a query that does not fit, in the user's terms."""
        self.require_groups(charge)
        if self.terms.queries is not None and self.asked >= self.terms.queries:
            return InsufficientBudgetError(
                f"all {self.terms.queries} queries that were decided on beforehand are asked; "
                "a fixed number of queries cannot grow afterwards",
                requested=1.0,
                remaining=0.0,
            )
        name, share = min(charge.shares, key=lambda pair: self._room(*pair))
        account = self.accounts[name]
        each, left = account.left(share.events)
        alone = best_epsilon(lambda orders: cost_of(share.events, orders), account.budget.delta)[0]
        spent = round_up(account.epsilon()) if self.asked else 0.0
        whose = "the budget" if name == EVERYONE else f"the budget of group {name}"
        return InsufficientBudgetError(
            f"{whose}, {account.budget}, does not allow another answer: one costs "
            f"ε = {round_up(alone):g} on its own at this δ, and ε = {spent:g} is spent already; "
            "raise the budget before anything is released, add teachers, or use more noise",
            requested=each,
            remaining=left,
        )

    def _room(self, name: str, share: Share) -> float:
        each, left = self.accounts[name].left(share.events)
        return left / each

    def _reserve(self, entry: Entry) -> None:
        charge = charge_from(entry.payload["events"])
        orders = entry.payload["order"]
        orders = orders if isinstance(orders, dict) else {EVERYONE: orders}
        count = _count(entry.payload["queries"], entry)
        if set(charge.groups) != set(self.accounts) or set(orders) != set(self.accounts):
            raise LedgerTamperedError(f"entry {entry.seq} of the ledger charges other groups")
        for name, share in charge.shares:
            account, order = self.accounts[name], float(orders[name])
            if account.order not in (None, order) or not order > 1:
                raise LedgerTamperedError(f"entry {entry.seq} of the ledger changes the stop rule")
            account.order = order
            account.tabs.setdefault(charge, Tab(share)).asked += count
        self.turns[charge] += count
        self.asked += count

    def _record(self, entry: Entry) -> None:
        charge = charge_from(entry.payload["reserved_as"])
        count = _count(entry.payload["queries"], entry)
        for name, share in charge.shares:
            if name not in self.accounts or charge not in self.accounts[name].tabs:
                raise LedgerTamperedError(
                    f"entry {entry.seq} of the ledger answers unreserved queries"
                )
            votes, realised = released_from(entry.payload, name, share)
            self.accounts[name].tabs[charge].record(votes, realised)
        answered = _count(entry.payload["answered"], entry)
        if charge.is_training:
            self.rounds += count
        else:
            self.recorded += count
            self.answered += answered

    def _publish(self, entry: Entry) -> None:
        if self.statement is not None:
            raise LedgerTamperedError(f"entry {entry.seq} of the ledger publishes a second ε")
        self.statement = dict(entry.payload["statement"])
        for account in self.accounts.values():
            account.extra.update(from_json(text) for text in entry.payload["events"])


def charge_to(charge: Charge) -> Any:
    """A charge as the ledger stores it: events alone when everyone is charged them."""
    if charge.groups == (EVERYONE,) and charge.shares[0][1].units == 1:
        return charge.shares[0][1].to_dict()["events"]
    return charge.to_dict()


def charge_from(stored: Any) -> Charge:
    """Read a stored charge."""
    try:
        if isinstance(stored, list):
            return Charge.of(tuple(from_json(text) for text in stored))
        return Charge.from_dict(stored)
    except (KeyError, TypeError, AttributeError, ParameterError) as problem:
        raise LedgerTamperedError("the ledger holds a charge that cannot be read") from problem


def reservation_digest(rows: Iterable[tuple[bytes, int]], charge: Charge) -> str:
    """A digest of reserved queries, and of their turns where it matters who votes when."""
    turned = any(share.units > 1 for _, share in charge.shares)
    parts = (query + (turn.to_bytes(8, "big") if turned else b"") for query, turn in rows)
    return chain.digest_of(sorted(parts))


def released_to(realised: Realised) -> list[list[Any]]:
    """Released events as the ledger stores them: one number, or one per unit."""
    return [
        [event.to_json(), int(times[0]) if len(times) == 1 else times.tolist()]
        for event, times in realised.items()
    ]


def released_from(payload: dict[str, Any], name: str, share: Share) -> tuple[Any, Realised]:
    """How often each unit voted on recorded queries, and what that released."""
    stored = payload["realised"]
    if isinstance(stored, list):
        stored = {EVERYONE: {"released": stored, "votes": payload["queries"]}}
    try:
        votes = _per_unit(stored[name]["votes"], share)
        released: dict[Any, Any] = {}
        for text, times in stored[name]["released"]:
            event = from_json(text)
            released[event] = released.get(event, 0) + _per_unit(times, share)
    except (KeyError, TypeError, ValueError) as problem:
        raise LedgerTamperedError("the ledger holds releases that cannot be read") from problem
    return votes, released


def _per_unit(stored: Any, share: Share) -> Any:
    numbers = stored if isinstance(stored, list) else [stored]
    if len(numbers) != share.units or any(
        not isinstance(n, int) or isinstance(n, bool) or n < 0 for n in numbers
    ):
        raise ValueError("impossible count")
    return np.array(numbers, dtype=np.int64)


def _count(value: object, entry: Entry) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise LedgerTamperedError(f"entry {entry.seq} of the ledger holds an impossible count")
    return value
