"""What identifies an account: its voters, its rule and, if they are fixed, its queries.

Which teacher holds a record, and which turns that teacher takes, is fixed only within one
ensemble. Costs within one account may therefore be compared teacher by teacher; costs of
different accounts must be added.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ballotine.errors import LedgerTamperedError, ParameterError
from ballotine.ledger import entries
from ballotine.ledger.charge import EVERYONE, Charge
from ballotine.privacy.events import from_json


@dataclass(frozen=True)
class Binding:
    """The identity of an account. None of it is private.

    Attributes:
        charge: what one query costs each group.
        ensemble: a keyed hash that identifies the voters.
        rule: mechanism, plan and parameters, as canonical text.
        groups: a keyed hash of every record's group, if there are individual budgets.
        pool: a digest of all queries, if they were fixed beforehand.
    """

    charge: Charge
    ensemble: str
    rule: str
    groups: str = ""
    pool: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The binding as JSON values, for the ledger."""
        return {
            "charge": charge_to_json(self.charge),
            "ensemble": self.ensemble,
            "groups": self.groups,
            "pool": self.pool,
            "rule": self.rule,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Binding:
        """Read a binding from the ledger."""
        texts = [stored.get(key) for key in ("ensemble", "rule", "groups", "pool")]
        if not all(isinstance(text, str) for text in texts):
            raise LedgerTamperedError(
                "the ledger does not say which ensemble and rule an account belongs to"
            )
        return cls(charge_from_json(stored.get("charge")), *map(str, texts))


def pool_digest(ids: Iterable[bytes]) -> str:
    """A digest of a set of queries."""
    return entries.digest_of(sorted(set(ids)))


def reservation_digest(rows: Iterable[tuple[bytes, int]], charge: Charge) -> str:
    """A digest of reserved queries, and of their turns if teachers take turns voting."""
    with_turns = charge.takes_turns
    parts = [query + (turn.to_bytes(8, "big") if with_turns else b"") for query, turn in rows]
    return entries.digest_of(sorted(parts))


def charge_to_json(charge: Charge) -> Any:
    """A charge as stored in the ledger: only the events if everyone is charged the same."""
    if charge.groups == (EVERYONE,) and charge.by_group[0][1].units == 1:
        return charge.by_group[0][1].to_dict()["events"]
    return charge.to_dict()


def charge_from_json(stored: Any) -> Charge:
    """Read a stored charge."""
    try:
        if isinstance(stored, list):
            return Charge.of(tuple(from_json(text) for text in stored))
        return Charge.from_dict(stored)
    except (KeyError, TypeError, AttributeError, ParameterError) as problem:
        raise LedgerTamperedError("the ledger contains a charge that cannot be read") from problem
