"""What a ledger's entries add up to: one account per group, and the queries behind them.

A pure replay: the same entries always give the same sums. An entry that is impossible means
tampering, and one whose kind is not known stops everything.
"""

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
    "the queries of this ledger were fixed beforehand, and these are not the same: other rows, "
    "other teachers or other settings; nothing was charged. Go on with what it was begun with, "
    "or ask through a ledger in strict mode"
)
REGROUPED = (
    "it is not certain that every record stayed in its group: each query is charged to "
    "everybody at what it costs the group it costs most"
)
OLD_GROUPS = (
    "version 0.1 did not write down who was in which group and took which turn: each of its "
    "queries is charged to everybody at what it costs the group it costs most"
)


@dataclass
class Totals:
    """A running sum over the entries of one ledger.

    Attributes:
        terms: what was promised.
        identity: the ledger's random name.
        accounts: of each group.
        bindings: for whom, by which rule and on which queries each account counts.
        turns: how many queries each of these has reserved.
        asked: queries and rounds of training that were paid for.
        recorded: queries whose answer is kept.
        answered: those among them that were not abstentions.
        rounds: rounds of training whose release is recorded.
        void: queries that were given up before any noise was drawn.
        statement: the ε that was published in fixed mode.
        refused: whether the budget has refused a query, and so decided how many were asked.
        doubted: why every query is charged to every record at the most, if it is.
        seeded: whether noise of any query or round, or of a published ε, came from a seed.
        runs: what each run asked and got, in the order of their first entries.
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
        self._start()

    @property
    def pending(self) -> int:
        """Queries and rounds reserved, and neither released nor given up."""
        return self.asked - self.recorded - self.rounds - self.void

    def cost(self, orders: FloatArray) -> FloatArray:
        """What the group that was charged most was charged."""
        costs = np.stack([account.cost(orders) for account in self.accounts.values()])
        most: FloatArray = costs.max(axis=0)
        return most

    def epsilon(self) -> float:
        """The meter's ε, of the group that was charged most."""
        return max(account.epsilon() for account in self.accounts.values())

    def guaranteed(self) -> dict[str, float]:
        """ε that holds for each group; infinite when a private number decided when to stop.

        Once the budget has refused a query, the filter has chosen how many were asked, and its
        ceiling is what holds.
        """
        found = {}
        for name, account in self.accounts.items():
            worst = account.worst_epsilon()
            if self.terms.mode is Mode.PAPER:
                found[name] = math.inf
            elif account.exceeded():  # no ceiling was kept: doubts came after the fact
                found[name] = max(worst, account.budget.epsilon)
            else:
                ceiling = account.budget.epsilon
                found[name] = ceiling if self.refused else min(ceiling, worst)
        return found

    def guaranteed_epsilon(self) -> float:
        """ε that holds for every group."""
        return max(self.guaranteed().values())

    def number_of(self, binding: Binding) -> int | None:
        """The account of this binding, if it has asked before."""
        return next((n for n, known in self.bindings.items() if known == binding), None)

    def require(self, binding: Binding) -> None:
        """Refuse what cannot be charged to this ledger."""
        if set(binding.charge.groups) != set(self.accounts):
            raise ParameterError(
                f"the ledger has budgets for {', '.join(self.accounts)}, and the query charges "
                f"{', '.join(binding.charge.groups)}; they must be the same groups"
            )
        if self.terms.mode is Mode.FIXED and not (
            binding.pool
            and binding.rule == self.terms.mechanism
            and all(known == binding for known in self.bindings.values())
        ):
            raise LedgerMismatchError(OTHER_QUERIES)

    def affordable(self, binding: Binding, most: int = 1 << 40) -> int:
        """How many more queries of this account all groups allow, up to ``most``."""
        self.require(binding)
        if self.terms.queries is not None:
            most = min(most, self.terms.queries - (self.asked - self.void))
        if self.terms.mode is Mode.PAPER:
            return most
        if self._regroups(binding):
            trial = copy.deepcopy(self)
            trial._doubt(REGROUPED)
            return trial._affordable(binding, most, doubted=True)
        return self._affordable(binding, most, doubted=False)

    def affords(self, events: tuple[Any, ...]) -> bool:
        """Whether every group allows one more release of these events."""
        return all(account.affords(events) for account in self.accounts.values())

    def to_state(self) -> dict[str, Any]:
        """Plain values from which the replay can go on, for a checkpoint."""
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
            **({"seeded": True} if self.seeded else {}),  # older checkpoints do not say
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The sums of a checkpoint."""
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
                found._doubt(state["doubted"])
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise LedgerTamperedError("a checkpoint of the ledger cannot be read") from problem
        return found

    def _start(self) -> None:
        orders = dict(self.terms.orders)
        self.accounts = {
            name: Account(budget, orders.get(name)) for name, budget in self.terms.budgets
        }

    def _affordable(self, binding: Binding, most: int, *, doubted: bool) -> int:
        number = self.number_of(binding)
        for name, share in binding.charge.shares:
            account = self.accounts[name]
            tab = Tab(share) if number is None else account.change(number)
            if doubted or self.doubted:
                tab.doubted = binding.charge.dearest
            most = account.affordable(tab, most)
        return most

    def _regroups(self, binding: Binding) -> bool:
        """Whether it is not certain that records are in the groups they were in before."""
        others = [known for known in self.bindings.values() if known != binding]
        # Where nobody told who is in which group, another account may have other groups.
        untold = not binding.groups and len(self.accounts) > 1
        return not self.doubted and any(untold or o.groups != binding.groups for o in others)

    def _doubt(self, why: str) -> None:
        self.doubted = why
        for account in self.accounts.values():
            for number in account.tabs:
                account.change(number).doubted = self.bindings[number].charge.dearest

    def _tab(self, name: str, number: int) -> Tab:
        """The tab of an account, to change it."""
        account = self.accounts[name]
        if number not in account.tabs:
            charge = self.bindings[number].charge
            doubted = charge.dearest if self.doubted else ()
            account.tabs[number] = Tab(dict(charge.shares)[name], doubted=doubted)
        return account.change(number)
