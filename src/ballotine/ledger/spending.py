"""What a ledger's entries add up to: one account per group, and the queries behind them.

A pure replay: the same entries always give the same sums. An entry that is impossible means
tampering, and one whose kind is not known stops everything.
"""

from __future__ import annotations

from typing import Any

from ballotine.errors import LedgerTamperedError
from ballotine.ledger.account import counted
from ballotine.ledger.binding import Binding, charge_from
from ballotine.ledger.charge import EVERYONE
from ballotine.ledger.entries import Entry
from ballotine.ledger.payloads import released_from
from ballotine.ledger.terms import Mode, Terms, plan_order
from ballotine.ledger.totals import OLD_GROUPS, REGROUPED, Totals
from ballotine.privacy.events import from_json


class Spending(Totals):
    """The totals of a ledger, kept up by taking its entries one by one."""

    @classmethod
    def begin(cls, entry: Entry) -> Spending:
        """What a ledger's first entry promises."""
        if entry.seq != 1 or entry.kind != "open":
            raise LedgerTamperedError("the ledger has lost its first entry")
        try:
            return cls(Terms.from_dict(entry.payload), str(entry.payload["ledger"]))
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise LedgerTamperedError("the ledger's terms cannot be read") from problem

    def apply(self, entry: Entry) -> None:
        """Take one entry into account; an impossible one means tampering."""
        take = _KINDS.get(entry.kind)
        if take is None:
            raise LedgerTamperedError(f"the ledger holds an entry of unknown kind {entry.kind!r}")
        try:
            take(self, entry)
            self.seeded = self.seeded or entry.seeded
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise LedgerTamperedError(f"entry {entry.seq} of the ledger is malformed") from problem

    def distrust(self) -> None:
        """Charge a ledger of version 0.1 at the worst where it did not say enough.

        It did not say which ensemble took which turn, nor whether records kept their groups,
        nor which queries a published ε is about.
        """
        for account in self.accounts.values():
            if account.order is None:
                account.order = plan_order(account.budget)
        if len(self.accounts) > 1 or any(b.charge.turned for b in self.bindings.values()):
            self._doubt(OLD_GROUPS)
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
            raise LedgerTamperedError(f"entry {entry.seq} of the ledger changes its promise")
        self.terms, self.refused = Terms.from_dict(entry.payload), False
        self._start()

    def _migrate(self, _entry: Entry) -> None:
        self.distrust()

    def _bind(self, entry: Entry) -> None:
        binding = Binding.from_dict(entry.payload)
        if set(binding.charge.groups) != set(self.accounts):
            raise LedgerTamperedError(f"entry {entry.seq} of the ledger charges other groups")
        if self.terms.mode is Mode.FIXED and self.bindings:
            raise LedgerTamperedError(f"entry {entry.seq} of the ledger asks other queries")
        if self._regroups(binding):
            self._doubt(REGROUPED)
        self.bindings[entry.seq] = binding

    def _reserve(self, entry: Entry) -> None:
        number, count = self._reserved_for(entry), _count(entry.payload["queries"])
        for name in self.accounts:
            self._tab(name, number).asked += count
        self.turns[number] += count
        self.asked += count
        training = self.bindings[number].charge.is_training
        # A round is counted once it is paid: whether its release was recorded or not.
        self._run(entry)["rounds" if training else "asked"] += count

    def _reserved_for(self, entry: Entry) -> int:
        """The account that an entry reserves for; version 0.1 wrote the charge itself."""
        if "account" in entry.payload:
            number = int(entry.payload["account"])
            if number not in self.bindings:
                raise LedgerTamperedError(f"entry {entry.seq} of the ledger charges nobody")
            return number
        charge, orders = charge_from(entry.payload["events"]), entry.payload["order"]
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
        for name, share in charge.shares:
            self._tab(name, number).settle(*released_from(entry.payload, name, share))
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
            number = self.number_of(Binding(charge_from(entry.payload["reserved_as"]), "", ""))
        if number is None or not self.turns[number]:
            raise LedgerTamperedError(f"entry {entry.seq} of the ledger answers unreserved queries")
        return number

    def _void(self, entry: Entry) -> None:
        number, count = self._answered_for(entry), _count(entry.payload["queries"])
        for name, _ in self.bindings[number].charge.shares:
            tab, votes = self._tab(name, number), counted(entry.payload["votes"][name])
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
        """An entry that costs nothing."""


_KINDS = {
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
    found = counted(value)
    if not isinstance(found, int):
        raise LedgerTamperedError("the ledger holds an impossible count")
    return found
