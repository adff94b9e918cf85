"""Adding up a ledger's entries.

The same entries always give the same totals. An impossible entry, or one of an unknown kind,
means tampering and raises.
"""

from __future__ import annotations

from typing import Any

from ballotine.errors import LedgerTamperedError
from ballotine.ledger.account import count_from_json
from ballotine.ledger.binding import Binding, charge_from_json
from ballotine.ledger.charge import EVERYONE
from ballotine.ledger.entries import Entry
from ballotine.ledger.payloads import read_released
from ballotine.ledger.terms import Mode, Terms, plan_order
from ballotine.ledger.totals import OLD_GROUPS, REGROUPED, SpendingTotals
from ballotine.privacy.events import from_json


class Spending(SpendingTotals):
    """The totals of a ledger, updated entry by entry."""

    @classmethod
    def begin(cls, entry: Entry) -> Spending:
        """Start from a ledger's first entry, which holds its terms."""
        if entry.seq != 1 or entry.kind != "open":
            raise LedgerTamperedError("the ledger's first entry is missing")
        try:
            return cls(Terms.from_dict(entry.payload), str(entry.payload["ledger"]))
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise LedgerTamperedError("the ledger's terms cannot be read") from problem

    def apply(self, entry: Entry) -> None:
        """Add the next entry; an impossible one means tampering."""
        handle = _HANDLERS.get(entry.kind)
        if handle is None:
            raise LedgerTamperedError(
                f"the ledger contains an entry of unknown kind {entry.kind!r}"
            )
        try:
            handle(self, entry)
            self.seeded = self.seeded or entry.seeded
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise LedgerTamperedError(f"entry {entry.seq} of the ledger is malformed") from problem

    def assume_worst(self) -> None:
        """Charge a ledger of version 0.1 at the worst case where its entries are incomplete.

        They do not say which ensemble took which turn, whether records stayed in their groups,
        or which queries a published ε covers.
        """
        for account in self.accounts.values():
            if account.order is None:
                account.order = plan_order(account.budget)
        if len(self.accounts) > 1 or any(b.charge.takes_turns for b in self.bindings.values()):
            self._charge_worst_case(OLD_GROUPS)
        if self.statement is not None:
            self.statement = {**self.statement, "unbound": True}

    def _run(self, entry: Entry) -> dict[str, Any]:
        name = str(entry.payload["run"])
        if name not in self.runs:
            nothing = {"asked": 0, "recorded": 0, "answered": 0, "rounds": 0}
            self.runs[name] = {"run": name, "first": entry.time, **nothing}
        return self.runs[name]

    def _amend(self, entry: Entry) -> None:
        if self.bindings:
            raise LedgerTamperedError(
                f"entry {entry.seq} of the ledger changes its terms after use"
            )
        self.terms, self.refused = Terms.from_dict(entry.payload), False
        self._open_accounts()

    def _migrate(self, _entry: Entry) -> None:
        self.assume_worst()

    def _bind(self, entry: Entry) -> None:
        binding = Binding.from_dict(entry.payload)
        if set(binding.charge.groups) != set(self.accounts):
            raise LedgerTamperedError(f"entry {entry.seq} of the ledger charges other groups")
        if self.terms.mode is Mode.FIXED and self.bindings:
            raise LedgerTamperedError(f"entry {entry.seq} of the ledger asks other queries")
        if self._may_regroup(binding):
            self._charge_worst_case(REGROUPED)
        self.bindings[entry.seq] = binding

    def _reserve(self, entry: Entry) -> None:
        number, count = self._reserved_for(entry), _count(entry.payload["queries"])
        for name in self.accounts:
            self._tab(name, number).asked += count
        self.turns[number] += count
        self.asked += count
        training = self.bindings[number].charge.is_training
        # A round counts as soon as it is paid for, whether or not its release was recorded.
        self._run(entry)["rounds" if training else "asked"] += count

    def _reserved_for(self, entry: Entry) -> int:
        """The account that an entry reserves for; version 0.1 wrote the charge instead."""
        if "account" in entry.payload:
            number = int(entry.payload["account"])
            if number not in self.bindings:
                raise LedgerTamperedError(
                    f"entry {entry.seq} of the ledger charges an unknown account"
                )
            return number
        charge, orders = charge_from_json(entry.payload["events"]), entry.payload["order"]
        orders = orders if isinstance(orders, dict) else {EVERYONE: orders}
        if set(charge.groups) != set(self.accounts) or set(orders) != set(self.accounts):
            raise LedgerTamperedError(f"entry {entry.seq} of the ledger charges other groups")
        for name, account in self.accounts.items():
            order = float(orders[name])
            if account.order not in (None, order) or not order > 1:
                raise LedgerTamperedError(f"entry {entry.seq} of the ledger changes the stop rule")
            account.order = order
        old = Binding(charge, "", "")
        number = self.number_of(old) or entry.seq
        self.bindings[number] = old
        return number

    def _record(self, entry: Entry) -> None:
        number, count = self._answered_for(entry), _count(entry.payload["queries"])
        charge = self.bindings[number].charge
        for name, group_charge in charge.by_group:
            votes, realised = read_released(entry.payload, name, group_charge)
            self._tab(name, number).settle(votes, realised)
        answered, run = _count(entry.payload["answered"]), self._run(entry)
        if charge.is_training:
            self.rounds += count
        else:
            self.recorded += count
            self.answered += answered
            run["recorded"] += count
            run["answered"] += answered

    def _answered_for(self, entry: Entry) -> int:
        if "account" in entry.payload:
            number: int | None = int(entry.payload["account"])
        else:
            number = self.number_of(Binding(charge_from_json(entry.payload["reserved_as"]), "", ""))
        if number is None or not self.turns[number]:
            raise LedgerTamperedError(f"entry {entry.seq} of the ledger answers unreserved queries")
        return number

    def _void(self, entry: Entry) -> None:
        number, count = self._answered_for(entry), _count(entry.payload["queries"])
        for name, _ in self.bindings[number].charge.by_group:
            tab, votes = self._tab(name, number), count_from_json(entry.payload["votes"][name])
            tab.settle(votes, {})
            tab.void = tab.void + votes
        self.void += count

    def _refuse(self, _entry: Entry) -> None:
        self.refused = True

    def _publish(self, entry: Entry) -> None:
        if self.statement is not None:
            raise LedgerTamperedError(f"entry {entry.seq} of the ledger publishes a second ε")
        self.statement = dict(entry.payload["statement"])
        for account in self.accounts.values():
            account.extra.update(from_json(text) for text in entry.payload["events"])

    def _nothing(self, entry: Entry) -> None:
        """Ignore an entry that changes no totals."""


_HANDLERS = {
    "open": Spending._nothing,
    "amend": Spending._amend,
    "migrate": Spending._migrate,
    "bind": Spending._bind,
    "reserve": Spending._reserve,
    "record": Spending._record,
    "undrawn": Spending._nothing,
    "void": Spending._void,
    "refuse": Spending._refuse,
    "publish": Spending._publish,
    "checkpoint": Spending._nothing,
}


def _count(value: object) -> int:
    found = count_from_json(value)
    if not isinstance(found, int):
        raise LedgerTamperedError("the ledger contains an impossible count")
    return found
