"""What a guarantee rests on, in words; collected from every step of the road."""

from __future__ import annotations

from ballotine.data.partition import Partition
from ballotine.noise import NoiseSource
from ballotine.privacy.guarantee import Guarantee, Kind
from ballotine.privacy.ledger import Ledger

ALWAYS = (
    (
        "each private record is one row, seen by one teacher; a person with several rows is "
        "protected row by row, not as a whole"
    ),
    "the number of private records and of teachers is public",
    (
        "the settings (teachers, noise, threshold, budget) were chosen without looking at the "
        "private data"
    ),
)
NOT_ADAPTIVE = (
    "how many queries were asked, and with which settings, was not decided by looking at "
    "earlier answers; without this, the ceiling enforced by the ledger holds instead"
)
CLASSES_FROM_PRIVATE = (
    "the set of classes was read from the private labels; that this set exists is taken as public"
)
PUBLIC_FROM_PRIVATE = (
    "the public rows were taken out of the private file, by a choice that does not look at "
    "them; they are protected no longer, and the guarantee speaks of the rows that stay private"
)
PREPARED_ELSEWHERE = (
    "the arrays were used as given; if their features were prepared with statistics of all "
    "private records (scaling, selection, embeddings), that is not counted"
)
ALONE = "this object's ledger in memory (other uses of these records are not counted)"
FLOATING_POINT = (
    "noise is drawn in floating point; only the winning class leaves, never a noisy count"
)


def make_guarantee(
    ledger: Ledger,
    partition: Partition,
    noise: NoiseSource,
    *,
    classes_from_private: bool,
    extra: tuple[str, ...] = (),
) -> Guarantee:
    """The guarantee of everything in the ledger, with all that it rests on."""
    spending = ledger.spending()
    epsilon = spending.guaranteed_epsilon()
    conditional = [text for text in (partition.assumption,) if text]
    if classes_from_private:
        conditional.append(CLASSES_FROM_PRIVATE)
    conditional += extra
    usual = list(ALWAYS)
    if epsilon < ledger.budget.epsilon:
        usual.append(NOT_ADAPTIVE)
    where = ALONE if ledger.path is None else "all runs in the ledger of these records"
    return Guarantee(
        epsilon=epsilon,
        delta=ledger.budget.delta,
        budget=ledger.budget,
        kind=Kind.CONDITIONAL if conditional else Kind.DATA_INDEPENDENT,
        assumptions=tuple(conditional + usual),
        scope=f"{where}: {spending.recorded} queries, {spending.answered} of them answered",
        seeded=noise.seeded,
        notes=(FLOATING_POINT,),
    )
