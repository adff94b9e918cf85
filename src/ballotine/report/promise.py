"""The guarantee in words that a data-protection officer can sign, and what it does not cover.

(ε, δ)-differential privacy bounds probabilities: for every set S of outcomes,
Pr[S | D] ≤ e^ε · Pr[S | D′] + δ. It does not bound the *odds* p/(1−p) of an outcome, and it
does not say that a bound e^ε holds "except with probability δ" outcome by outcome; the
sentences here therefore state how likely an outcome is, and an *added* probability δ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Any

from ballotine.privacy.guarantee import NEIGHBOURING, THIS_DATA_SET, Kind
from ballotine.report.formatting import factor, number, one_in, plain, tidy

_LARGEST_EXPONENT = 700.0

MEANING = {
    Kind.DATA_INDEPENDENT.value: "ε was computed without looking at the private data, so the "
    "number itself reveals nothing.",
    Kind.CONDITIONAL.value: "ε holds if every assumption listed below holds; whoever doubts "
    "one of them must doubt the number.",
    Kind.SANITISED.value: "ε was computed from private data and then published with its own "
    "noise; the cost of publishing it is included. It applies to this data set and its neighbours.",
    Kind.NOT_RELEASABLE.value: "Nothing is promised. The ε above is counted as in the papers; "
    "such a count is no guarantee when it also decides where to stop.",
}

_SEVERAL_ROWS = "People with several rows"
NOT_PROTECTED = tuple(
    {
        _SEVERAL_ROWS: "The promise is made for one record. Someone with k records "
        "is protected only by the factor e^(k·ε), and δ grows as well.",
        "What is published elsewhere": "Other statistics, models or copies that the holder "
        "releases from the same data are not counted here.",
        "The private folder": "Records, teachers and ballots are not released. Anyone who can "
        "read the folder that contains them needs no attack.",
        "Side channels": "Running time, memory, logs and power consumption of the machine are "
        "outside the proof.",
        "Floating-point noise": "The proof is about real numbers; the noise is drawn in floating "
        "point.",
        "What is true of many": "A pattern that holds for a population reveals something about its "
        "members, whether or not their records were used.",
    }.items()
)
_ONE_RECORD_ONLY = (
    "The promise is made for one record of this data set. The published ε says nothing about "
    "someone with several records: for them, only the ceiling holds."
)
EXPERIMENT = (
    "This run was declared an experiment: it may show numbers that are not private. "
    "Neither this page nor its model is a private release."
)
SEEDED = (
    "The noise came from a seed. Whoever knows or guesses the seed can remove it, and "
    "then the promise below protects nobody."
)
NOT_RELEASABLE = (
    "This run stopped where the papers stop, when a cost that depends on private votes reached "
    "the budget. The number of answers therefore reveals something about these votes, and nothing "
    "protects it. The run is for reproducing published tables: release neither the answers nor "
    "the student."
)


@dataclass(frozen=True)
class PromiseText:
    """The guarantee of a card in words.

    Attributes:
        change: what is changed ("Changing any one person's record").
        factor: how many times as likely an outcome may become, e^ε rounded up.
        chance: the added probability δ as "1 in N".
        guess: how often a fully informed observer may guess right, in percent, rounded up;
            empty for a published ε, which bounds no average over what else could have been
            published.
        remark: how large ε is, in words.
        meaning: what kind of number ε is.
        holds: False if nothing is promised at all.
        reach: the data sets that ε applies to, if not all of them.
        included: the chance that a published ε is too small, as "1 in N", if δ includes it.
        sure: the confidence in a published ε, if δ does not include its failure (version 0.1).
    """

    change: str
    factor: str
    chance: str
    guess: str
    remark: str
    meaning: str
    holds: bool = True
    reach: str = ""
    included: str = ""
    sure: str = ""


@dataclass(frozen=True)
class ModeWords:
    """When answering stopped, and what the numbers next to ε are called.

    Attributes:
        name: the mode.
        stops: the rule, in a sentence or two.
        charged: what to call the meter.
        stated: what to call ε.
        ceiling: what to call the budget.
    """

    name: str
    stops: str
    charged: str
    stated: str
    ceiling: str


MODES = {
    "strict": ModeWords(
        "strict",
        "Every query is charged, answered or not, and the ledger refuses to answer once the "
        "budget would be exceeded. What has been charged so far is never more than the "
        "guaranteed ε.",
        "charged so far",
        "guaranteed",
        "budget",
    ),
    "fixed": ModeWords(
        "fixed",
        "The number of queries was fixed before any vote was seen. Their cost whatever the votes "
        "are is charged, and is the ceiling. Their actual cost is smaller where teachers agree; "
        "it depends on the votes, so it is published once, with its own noise.",
        "charged, whatever the votes",
        "stated",
        "ceiling",
    ),
    "paper": ModeWords(
        "paper",
        "Answering stopped when the data-dependent ε reached the budget, as in papers. What is "
        "charged here is the cost of the same answers whatever the votes are; it may be far above "
        "the budget.",
        "charged, whatever the votes",
        "the papers' count",
        "budget",
    ),
}


def mode_of(card: Mapping[str, Any]) -> ModeWords:
    """The wording for the mode of the card's run."""
    return MODES.get(str(card["guarantee"].get("mode", "strict")), MODES["strict"])


def promise(card: Mapping[str, Any]) -> PromiseText:
    """Express the guarantee of a card in words."""
    guarantee = card["guarantee"]
    epsilon, delta = float(guarantee["epsilon"]), float(guarantee["delta"])
    published = _published(card)
    return PromiseText(
        change=_change(
            guarantee["neighbouring"],
            groups=bool(guarantee.get("groups")),
            exempt=bool((card.get("individual") or {}).get("exempt")),
            here=published is not None,
        ),
        factor=likelihood_factor(epsilon),
        chance=one_in(delta),
        guess=guess(epsilon, delta) if published is None else "",
        remark=_remark(epsilon) if published is None else _size(epsilon),
        meaning=MEANING.get(guarantee["kind"], ""),
        holds=guarantee["kind"] != Kind.NOT_RELEASABLE.value,
        reach="" if published is None else THIS_DATA_SET,
        included=one_in(published["failure"]) if published and "failure" in published else "",
        sure=f"{number(100 * published['confidence'])} %"
        if published and "confidence" in published
        else "",
    )


def not_protected(card: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """What the promise does not cover, as (heading, sentence)."""
    if _published(card) is None:
        return NOT_PROTECTED
    return tuple(
        (heading, _ONE_RECORD_ONLY if heading == _SEVERAL_ROWS else text)
        for heading, text in NOT_PROTECTED
    )


def likelihood_factor(epsilon: float) -> str:
    """The factor e^ε for the printed ε, so that readers can check one against the other."""
    if epsilon > _LARGEST_EXPONENT:
        return f"e^{number(epsilon)}"
    return factor(math.exp(epsilon))


def guess(epsilon: float, delta: float) -> str:
    """The highest probability of a right guess between two equally likely versions of a record.

    Such an observer is right with probability (1 + total variation)/2, and (ε, δ) bounds the
    total variation by (e^ε − 1 + 2δ)/(e^ε + 1); together (e^ε + δ)/(e^ε + 1).
    """
    miss = (1 - delta) / (1 + math.exp(min(epsilon, _LARGEST_EXPONENT)))
    places = 1 if miss > 0.01 else 2
    share = (100 * (1 - Decimal(repr(miss)))).quantize(Decimal(1).scaleb(-places), ROUND_CEILING)
    return "100 %" if share == 100 else f"{share} %"


def warnings_of(card: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What must be read before anything else, as (heading, sentence)."""
    found = []
    if card["guarantee"]["kind"] == Kind.NOT_RELEASABLE.value:
        found.append(("Not releasable", NOT_RELEASABLE))
    if card["run"]["experiment"]:
        found.append(("Experiment", EXPERIMENT))
    if card["run"]["seeded"] or card["guarantee"]["seeded"]:
        found.append(("Seeded: for experiments only", SEEDED))
    return found


def _published(card: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """How a sanitised ε was published (older cards may not say); None for other kinds."""
    if card["guarantee"]["kind"] != Kind.SANITISED.value:
        return None
    return card.get("published") or {}


def _change(neighbouring: str, *, groups: bool, exempt: bool, here: bool) -> str:
    if here and neighbouring == NEIGHBOURING:
        return "Changing any one person’s record of this data set"
    if here:
        return f"Moving from this data set to a neighbour ({tidy(plain(neighbouring), 120)})"
    if neighbouring == NEIGHBOURING:
        whose = (
            "Changing any one protected record" if exempt else "Changing any one person’s record"
        )
        return f"{whose}, even one of the least protected group," if groups else whose
    return f"Moving to any neighbouring data set ({tidy(plain(neighbouring), 120)})"


def _size(epsilon: float) -> str:
    if epsilon <= 1:
        return "This is a tight limit."
    return "This is a moderate limit." if epsilon <= 3 else "This ε is large."


def _remark(epsilon: float) -> str:
    if epsilon <= 1:
        return "This is a tight limit: even such an observer stays far from certain."
    if epsilon <= 3:
        return "This is a moderate limit: such an observer may become fairly sure, not certain."
    return (
        "This ε is large: in the worst case the bound alone does not keep such an observer from "
        "being nearly certain about one record. It is a ceiling for someone who already knows "
        "everything else, not a measurement of what can be learnt in practice."
    )
