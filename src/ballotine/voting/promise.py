"""The guarantee that a ledger supports, by its mode, with its assumptions."""

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
UNBOUND = (
    "version 0.1 published a smaller ε without writing down which queries it is about; the worst "
    "case of everything asked stands instead"
)
REFUSED = (
    "the budget has refused a query, and so decided how many were asked: its ceiling is what holds"
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
UNRECORDED_SEEDS = (
    "no answer of version 0.1 in this ledger came from seeded noise: that version did not write "
    "it down"
)
UNRECORDED_REFUSALS = (
    "the budget refused no query of version 0.1 in this ledger: that version did not write it "
    "down; without this, the ceiling enforced by the ledger holds instead"
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
    """Return the guarantee of everything in the ledger.

    Args:
        ledger: the releases and their terms.
        noise: the source of further noise; whether earlier noise was seeded is in the ledger.
        conditional: assumptions that a reader may doubt.
        usual: assumptions that every run makes.
        where: which releases are counted.
    """
    spending, mode = ledger.spending(), ledger.terms.mode
    epsilon, kind, rests_on, notes = stated(spending)
    if len(spending.accounts) > 1:
        rests_on = (*rests_on, GROUPS_PUBLIC)
    if any(not binding.ensemble for binding in spending.bindings.values()):
        unrecorded = (UNRECORDED_REFUSALS,) if NOT_ADAPTIVE in rests_on else ()
        rests_on = (*rests_on, UNRECORDED_SEEDS, *unrecorded)
    if conditional and kind is Kind.DATA_INDEPENDENT:
        kind = Kind.CONDITIONAL
    return Guarantee(
        epsilon=epsilon,
        delta=ledger.budget.delta,
        budget=ledger.budget,
        kind=kind,
        mode=mode.value,
        assumptions=(*conditional, *usual, *rests_on),
        scope=f"{where}: {_counted(spending)}",
        seeded=noise.seeded or spending.seeded,
        notes=(
            NOISED_AVERAGES if spending.rounds else FLOATING_POINT,
            *notes,
            *((spending.doubted,) if spending.doubted else ()),
        ),
        groups=_groups(spending),
    )


def stated(spending: Spending) -> tuple[float, Kind, tuple[str, ...], tuple[str, ...]]:
    """Return what may be stated about a ledger: ε, its kind, assumptions and notes."""
    mode, ceiling = spending.terms.mode, spending.terms.loosest.epsilon
    if mode is Mode.PAPER:
        return ceiling, Kind.NOT_RELEASABLE, (), (NOT_RELEASABLE,)
    epsilon = spending.guaranteed_epsilon()
    below = not spending.refused and epsilon < ceiling
    assumed = (NOT_ADAPTIVE,) if below else ()
    if mode is Mode.STRICT:
        return epsilon, Kind.DATA_INDEPENDENT, assumed, (REFUSED,) if spending.refused else ()
    if spending.statement is None:
        return epsilon, Kind.DATA_INDEPENDENT, assumed, (UNPUBLISHED,)
    if spending.statement.get("unbound"):
        return epsilon, Kind.DATA_INDEPENDENT, assumed, (UNBOUND,)
    return _published(spending.statement, ceiling)


def _published(
    statement: dict[str, Any], ceiling: float
) -> tuple[float, Kind, tuple[str, ...], tuple[str, ...]]:
    """Return what may be stated once an ε is published.

    The smaller of two numbers is stated at δ, so both must hold at δ minus the probability of
    failure. The ceiling does (`fixed_terms`); the worst case of what was asked, at δ, does not.
    """
    published = float(statement["epsilon"])
    if published >= ceiling:
        return ceiling, Kind.DATA_INDEPENDENT, (), ()
    folded = FAILURE.format(statement["failure"])
    return published, Kind.SANITISED, (FIXED_POOL,), (THIS_DATA, folded, OTHER_USES)


def _counted(spending: Spending) -> str:
    """Return how much was released, in words."""
    queries = f"{spending.recorded:,} queries, {spending.answered:,} of them answered"
    if not spending.rounds:
        return queries
    return f"{spending.rounds:,} noised rounds of training, {queries}"


def _groups(spending: Spending) -> tuple[GroupGuarantee, ...]:
    if len(spending.accounts) == 1 or spending.terms.mode is Mode.PAPER:
        return ()
    return tuple(
        GroupGuarantee(name, epsilon, spending.accounts[name].budget.epsilon)
        for name, epsilon in spending.guaranteed().items()
    )
