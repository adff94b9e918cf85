"""The totals of a ledger: what each group was charged, what is guaranteed, what is affordable."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from ballotine.errors import LedgerMismatchError, LedgerTamperedError, ParameterError
from ballotine.ledger.account import Account, Tab
from ballotine.ledger.binding import Binding
from ballotine.ledger.terms import Mode, Terms
from ballotine.privacy.events import from_json
from ballotine.types import FloatArray

OTHER_QUERIES = (
    "the queries of this ledger were fixed beforehand, and these are not the same: the rows, "
    "teachers or settings differ; nothing was charged. Use the original rows, teachers and "
    "settings, or a ledger in strict mode"
)
# Checkpoints contain the next two texts, and are compared when a ledger is verified: never edit
# them.
REGROUPED = (
    "it is not certain that every record stayed in its group: each query is charged to "
    "everybody at what it costs the group it costs most"
)
OLD_GROUPS = (
    "version 0.1 did not write down who was in which group and took which turn: each of its "
    "queries is charged to everybody at what it costs the group it costs most"
)


@dataclass
class SpendingTotals:
    """What the entries of one ledger add up to.

    Attributes:
        terms: what was promised.
        identity: the ledger's random name.
        accounts: one per group.
        bindings: by account number, the ensemble, rule and queries it belongs to.
        turns: by account number, how many queries were reserved.
        asked: queries and rounds of training that were paid for.
        recorded: queries whose answer is recorded.
        answered: recorded queries that were not abstentions.
        rounds: rounds of training whose release is recorded.
        void: queries that were given up before any noise was drawn.
        statement: the ε that was published in fixed mode.
        refused: whether the budget has refused a query, and so decided how many were asked.
        doubted: why every query is charged at its most expensive group's cost; empty if not.
        seeded: whether any noise (of a query, a round or a published ε) came from a seed.
        runs: the counts of each run, in the order of their first entries.
    """

    terms: Terms
    identity: str = ""
    accounts: dict[str, Account] = field(init=False)
    bindings: dict[int, Binding] = field(default_factory=dict)
    turns: Counter[int] = field(default_factory=Counter)
    asked: int = 0
    recorded: int = 0
    answered: int = 0
    rounds: int = 0
    void: int = 0
    statement: dict[str, Any] | None = None
    refused: bool = False
    doubted: str = ""
    seeded: bool = False
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)

    COUNTS: ClassVar = ("asked", "recorded", "answered", "rounds", "void")

    def __post_init__(self) -> None:
        self._open_accounts()

    @property
    def pending(self) -> int:
        """Queries and rounds that are reserved and neither recorded nor given up."""
        return self.asked - self.recorded - self.rounds - self.void

    def cost(self, orders: FloatArray) -> FloatArray:
        """The cost to the group charged most."""
        costs = np.stack([account.cost(orders) for account in self.accounts.values()])
        most: FloatArray = costs.max(axis=0)
        return most

    def epsilon(self) -> float:
        """The meter: ε of the group charged most."""
        return max(account.epsilon() for account in self.accounts.values())

    def guaranteed(self) -> dict[str, float]:
        """The guaranteed ε of each group; infinite if a private number decided when to stop.

        Once the budget has refused a query, the number of queries depended on the filter, and
        only its ceiling is guaranteed.
        """
        found = {}
        for name, account in self.accounts.items():
            worst = account.worst_epsilon()
            if self.terms.mode is Mode.PAPER:
                found[name] = math.inf
            elif account.exceeded():  # charged at the worst case only after the fact
                found[name] = max(worst, account.budget.epsilon)
            else:
                ceiling = account.budget.epsilon
                found[name] = ceiling if self.refused else min(ceiling, worst)
        return found

    def guaranteed_epsilon(self) -> float:
        """The ε guaranteed to every group."""
        return max(self.guaranteed().values())

    def number_of(self, binding: Binding) -> int | None:
        """The account number of this binding, if it has reserved anything."""
        return next((n for n, known in self.bindings.items() if known == binding), None)

    def require_chargeable(self, binding: Binding) -> None:
        """Raise if this binding cannot be charged to this ledger."""
        if set(binding.charge.groups) != set(self.accounts):
            raise ParameterError(
                f"the ledger has budgets for {', '.join(self.accounts)}, but the query charges "
                f"{', '.join(binding.charge.groups)}; they must be the same groups"
            )
        if self.terms.mode is Mode.FIXED and not (
            binding.pool
            and binding.rule == self.terms.mechanism
            and all(known == binding for known in self.bindings.values())
        ):
            raise LedgerMismatchError(OTHER_QUERIES)

    def affordable(self, binding: Binding, most: int = 1 << 40) -> int:
        """How many more queries of this account all budgets allow, up to ``most``."""
        self.require_chargeable(binding)
        if self.terms.queries is not None:
            most = min(most, self.terms.queries - (self.asked - self.void))
        if self.terms.mode is Mode.PAPER:
            return most
        if self._may_regroup(binding):
            trial = copy.deepcopy(self)
            trial._charge_worst_case(REGROUPED)
            return trial._affordable(binding, most, doubted=True)
        return self._affordable(binding, most, doubted=False)

    def affords(self, events: tuple[Any, ...]) -> bool:
        """Whether every budget allows one more release of these events."""
        return all(account.affords(events) for account in self.accounts.values())

    def to_state(self) -> dict[str, Any]:
        """The totals as JSON values, for a checkpoint from which a replay can continue."""
        return {
            "accounts": {
                name: {
                    "extra": [[event.to_json(), n] for event, n in account.extra.items()],
                    "order": account.order,
                    "tabs": {str(n): tab.to_state() for n, tab in account.tabs.items()},
                }
                for name, account in self.accounts.items()
            },
            "bindings": {str(n): binding.to_dict() for n, binding in self.bindings.items()},
            "doubted": self.doubted,
            "identity": self.identity,
            "refused": self.refused,
            "runs": list(self.runs.values()),
            "statement": self.statement,
            "terms": self.terms.to_dict(),
            "turns": {str(n): turns for n, turns in self.turns.items()},
            **{name: getattr(self, name) for name in self.COUNTS},
            **({"seeded": True} if self.seeded else {}),  # older checkpoints lack it
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Restore the totals from a checkpoint."""
        try:
            found = cls(Terms.from_dict(state["terms"]), str(state["identity"]))
            for n, binding in state["bindings"].items():
                found.bindings[int(n)] = Binding.from_dict(binding)
            found.turns = Counter({int(n): turns for n, turns in state["turns"].items()})
            for name, account in found.accounts.items():
                stored = state["accounts"][name]
                account.order = stored["order"]
                account.extra = Counter({from_json(text): n for text, n in stored["extra"]})
                for n, tab in stored["tabs"].items():
                    found._tab(name, int(n)).restore(tab)
            for name in cls.COUNTS:
                setattr(found, name, int(state[name]))
            found.refused, found.statement = bool(state["refused"]), state["statement"]
            found.seeded = bool(state.get("seeded"))
            found.runs = {run["run"]: dict(run) for run in state["runs"]}
            if state["doubted"]:
                found._charge_worst_case(state["doubted"])
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise LedgerTamperedError("a checkpoint of the ledger cannot be read") from problem
        return found

    def _open_accounts(self) -> None:
        orders = dict(self.terms.orders)
        self.accounts = {
            name: Account(budget, orders.get(name)) for name, budget in self.terms.budgets
        }

    def _affordable(self, binding: Binding, most: int, *, doubted: bool) -> int:
        number = self.number_of(binding)
        for name, charge in binding.charge.by_group:
            account = self.accounts[name]
            tab = Tab(charge) if number is None else account.change(number)
            if doubted or self.doubted:
                tab.possible_events = binding.charge.distinct_events
            most = account.affordable(tab, most)
        return most

    def _may_regroup(self, binding: Binding) -> bool:
        """Whether records may be in other groups than they were for earlier accounts."""
        others = [known for known in self.bindings.values() if known != binding]
        # Without a digest of the groups, another account may have other groups.
        unknown = not binding.groups and len(self.accounts) > 1
        return not self.doubted and any(unknown or o.groups != binding.groups for o in others)

    def _charge_worst_case(self, why: str) -> None:
        self.doubted = why
        for account in self.accounts.values():
            for number in account.tabs:
                charge = self.bindings[number].charge
                account.change(number).possible_events = charge.distinct_events

    def _tab(self, name: str, number: int) -> Tab:
        """The tab of an account in a group, created if missing, to be changed."""
        account = self.accounts[name]
        if number not in account.tabs:
            charge = self.bindings[number].charge
            possible = charge.distinct_events if self.doubted else ()
            account.tabs[number] = Tab(dict(charge.by_group)[name], possible_events=possible)
        return account.change(number)
