"""The assumptions that the pipeline adds to a guarantee."""

from __future__ import annotations

from dataclasses import replace

from ballotine.data.partition import Partition
from ballotine.ledger import Ledger
from ballotine.noise import NoiseSource
from ballotine.privacy.guarantee import Guarantee
from ballotine.text import quoted
from ballotine.voting.individual import NOTE, Plan
from ballotine.voting.promise import guarantee_of

ONE_TEACHER = (
    "each private record is one row, seen by one teacher; a person with several rows is "
    "protected row by row, not as a whole"
)
SEVERAL_TEACHERS = (
    "each private record is one row, seen by as many teachers as its group's plan says; a person "
    "with several rows is protected row by row, not as a whole"
)
ALWAYS = (
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
TEST_FROM_PRIVATE = (
    "the test rows were taken out of the private file, by a choice that does not look at them; "
    "what is measured on them is released as it is, they are protected no longer, and the "
    "guarantee speaks of the rows that stay private"
)
PREPARED_ELSEWHERE = (
    "the arrays were used as given; if their features were prepared with statistics of all "
    "private records (scaling, selection, embeddings), that is not counted"
)
EXEMPT = (
    "records of {} need no privacy, which is public and their owners' choice: they "
    "may reach the student as they are, and no guarantee covers them"
)
ALONE = "this object's ledger in memory (other uses of these records are not counted)"


def make_guarantee(
    ledger: Ledger,
    partition: Partition,
    noise: NoiseSource,
    *,
    classes_from_private: bool,
    plan: Plan,
    extra: tuple[str, ...] = (),
) -> Guarantee:
    """Return the guarantee for everything in the ledger, with its assumptions."""
    conditional = [text for text in (partition.assumption,) if text]
    if classes_from_private:
        conditional.append(CLASSES_FROM_PRIVATE)
    guarantee = guarantee_of(
        ledger,
        noise,
        conditional=(*conditional, *extra),
        usual=_usual(plan),
        where=ALONE if ledger.path is None else "all runs in the ledger of these records",
    )
    if plan.standard:
        return guarantee
    return replace(guarantee, notes=(*guarantee.notes, NOTE))


def _usual(plan: Plan) -> tuple[str, ...]:
    """Return what every run assumes, and what its plan adds."""
    copies = any(group.reach.teachers > 1 for group in plan.groups)
    exempt = (EXEMPT.format(quoted(plan.exempt)),) if plan.exempt else ()
    return (SEVERAL_TEACHERS if copies else ONE_TEACHER, *ALWAYS, *exempt)
