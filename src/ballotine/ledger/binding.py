"""What makes costs comparable: for whom, by which rule and on which queries one account counts.

A slot is not a person: who takes which turn, and whose record a teacher holds, is fixed within
one ensemble only. Costs of one account may therefore be weighed teacher by teacher; those of
different accounts add up.
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
    """An account's identity; all of it can be shown.

    Attributes:
        charge: what one query costs each group.
        ensemble: names the voters, by a keyed hash.
        rule: mechanism, plan and parameters, as canonical text.
        groups: a keyed hash of every record's group, where groups have budgets of their own.
        pool: a digest of all queries, where they were fixed beforehand.
    """

    charge: Charge
    ensemble: str
    rule: str
    groups: str = ""
    pool: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for the ledger's file."""
        return {
            "charge": charge_to(self.charge),
            "ensemble": self.ensemble,
            "groups": self.groups,
            "pool": self.pool,
            "rule": self.rule,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Binding:
        """Read a binding back."""
        texts = [stored.get(key) for key in ("ensemble", "rule", "groups", "pool")]
        if not all(isinstance(text, str) for text in texts):
            raise LedgerTamperedError("the ledger does not say for whom an account counts")
        return cls(charge_from(stored.get("charge")), *map(str, texts))


def pool_digest(ids: Iterable[bytes]) -> str:
    """A name for a set of queries."""
    return entries.digest_of(sorted(set(ids)))


def reservation_digest(rows: Iterable[tuple[bytes, int]], charge: Charge) -> str:
    """A digest of reserved queries, and of their turns where it matters who votes when."""
    turned = charge.turned
    parts = [query + (turn.to_bytes(8, "big") if turned else b"") for query, turn in rows]
    return entries.digest_of(sorted(parts))


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
