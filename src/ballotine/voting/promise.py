"""The guarantee that a ledger supports, by its mode, with what it rests on."""

from __future__ import annotations

from typing import Any

from ballotine.ledger import Ledger, Mode, Spending
from ballotine.noise import NoiseSource
from ballotine.privacy.guarantee import GroupGuarantee, Guarantee, Kind

NOT_ADAPTIVE = (
    "how many queries were asked, and with which settings, was not decided by looking at "
    "earlier answers; without this, the ceiling enforced by the ledger holds instead"
)
FIXED_POOL = (
    "the queries, their number and the way of publishing ε were fixed before any vote was seen"
)
OTHER_USES = (
    "the published ε counts the answers of this ledger; it is not a ceiling for anything else"
)
THIS_DATA = (
    "the published ε is about this data set and its neighbours; it says nothing about several "
    "records at once, nor about other data sets: for those, only the ceiling holds"
)
FAILURE = "δ covers the chance of {:g} that the noise of the publication made ε too small"
CONFIDENCE = (
    "the published ε is at least the true one with probability {:g}, over its own noise; this is "
    "not part of δ (a ledger of version 0.1)"
)
UNPUBLISHED = "the smaller, data-dependent ε of the fixed mode has not been published"
NOT_RELEASABLE = (
    "answering stopped when a data-dependent cost reached the budget, so the number of answers "
    "itself depends on private votes and nothing protects it: for reproducing published tables "
    "only, release neither the answers nor a student that learned from them"
)
GROUPS_PUBLIC = (
    "how many records each group has, and which budget each record's owner chose, is public or "
    "chosen without looking at the record; teachers of a group see records of that group only, "
    "or as many copies as the plan says"
)
FLOATING_POINT = (
    "noise is drawn in floating point; only the winning answer leaves, never a noisy count"
)

NOISED_AVERAGES = (
    "noise is drawn in floating point; of a vote only the winning answer leaves, of a round of "
    "training the noised average of the teachers' weights"
)


def guarantee_of(
    ledger: Ledger,
    noise: NoiseSource,
    *,
    conditional: tuple[str, ...] = (),
    usual: tuple[str, ...] = (),
    where: str = "everything in this ledger",
) -> Guarantee:
    """The guarantee of everything in the ledger.

    Args:
        ledger: what was released, and by which rule.
        noise: whether it was seeded.
        conditional: assumptions that a reader may well doubt.
        usual: assumptions that every run makes.
        where: which releases are counted.
    """
    spending, mode = ledger.spending(), ledger.terms.mode
    epsilon, kind, stated, notes = _by_mode(ledger, spending)
    if len(spending.accounts) > 1:
        stated = (*stated, GROUPS_PUBLIC)
    if conditional and kind is Kind.DATA_INDEPENDENT:
        kind = Kind.CONDITIONAL
    return Guarantee(
        epsilon=epsilon,
        delta=ledger.budget.delta,
        budget=ledger.budget,
        kind=kind,
        mode=mode.value,
        assumptions=(*conditional, *usual, *stated),
        scope=f"{where}: {_counted(spending)}",
        seeded=noise.seeded,
        notes=(NOISED_AVERAGES if spending.rounds else FLOATING_POINT, *notes),
        groups=_groups(spending),
    )


def _by_mode(
    ledger: Ledger, spending: Spending
) -> tuple[float, Kind, tuple[str, ...], tuple[str, ...]]:
    """ε, its kind, what it rests on, and what to know about it."""
    if ledger.terms.mode is Mode.PAPER:
        return ledger.budget.epsilon, Kind.NOT_RELEASABLE, (), (NOT_RELEASABLE,)
    epsilon = spending.guaranteed_epsilon()
    assumed = (NOT_ADAPTIVE,) if epsilon < ledger.budget.epsilon else ()
    if ledger.terms.mode is Mode.STRICT:
        return epsilon, Kind.DATA_INDEPENDENT, assumed, ()
    if spending.statement is None:
        return epsilon, Kind.DATA_INDEPENDENT, assumed, (UNPUBLISHED,)
    return _published(ledger, spending.statement, epsilon, assumed)


def _published(
    ledger: Ledger, statement: dict[str, Any], epsilon: float, assumed: tuple[str, ...]
) -> tuple[float, Kind, tuple[str, ...], tuple[str, ...]]:
    """The same once an ε is published.

    The smaller of two numbers is stated at δ, so both must hold at what the failure leaves of
    δ. The ceiling does (`fixed_terms`); the worst case of what was asked, at δ, does not.
    """
    published, ceiling = float(statement["epsilon"]), ledger.budget.epsilon
    if "confidence" in statement:
        if published >= epsilon:
            return epsilon, Kind.DATA_INDEPENDENT, assumed, ()
        sure = CONFIDENCE.format(statement["confidence"])
        return published, Kind.SANITISED, (FIXED_POOL, sure), (THIS_DATA, OTHER_USES)
    if published >= ceiling:
        return ceiling, Kind.DATA_INDEPENDENT, (), ()
    folded = FAILURE.format(statement["failure"])
    return published, Kind.SANITISED, (FIXED_POOL,), (THIS_DATA, folded, OTHER_USES)


def _counted(spending: Spending) -> str:
    """How much was released, in words."""
    queries = f"{spending.recorded} queries, {spending.answered} of them answered"
    if not spending.rounds:
        return queries
    return f"{spending.rounds} noised rounds of training, {queries}"


def _groups(spending: Spending) -> tuple[GroupGuarantee, ...]:
    if len(spending.accounts) == 1 or spending.terms.mode is Mode.PAPER:
        return ()
    return tuple(
        GroupGuarantee(name, account.guaranteed_epsilon(), account.budget.epsilon)
        for name, account in spending.accounts.items()
    )
