"""What a guarantee rests on, in words; collected from every step of the road."""

from __future__ import annotations

from ballotine.data.partition import Partition
from ballotine.noise import NoiseSource
from ballotine.privacy.guarantee import Guarantee
from ballotine.privacy.ledger import Ledger
from ballotine.voting.promise import guarantee_of

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


def make_guarantee(
    ledger: Ledger,
    partition: Partition,
    noise: NoiseSource,
    *,
    classes_from_private: bool,
    extra: tuple[str, ...] = (),
) -> Guarantee:
    """The guarantee of everything in the ledger, with all that it rests on."""
    conditional = [text for text in (partition.assumption,) if text]
    if classes_from_private:
        conditional.append(CLASSES_FROM_PRIVATE)
    return guarantee_of(
        ledger,
        noise,
        conditional=(*conditional, *extra),
        usual=ALWAYS,
        where=ALONE if ledger.path is None else "all runs in the ledger of these records",
    )
