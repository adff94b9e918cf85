"""The ε of a fixed number of queries, published through a sanitised release.

The parameters of the publication (order, noise, shape of the envelope) are chosen from assumed
votes before any vote is seen, and stored in the ledger when it is opened. After the last answer,
the exact cost is replaced by a proven envelope, and the sum is released with noise on its
logarithm and a margin for that noise. The margin may fail with a probability that is part of δ.
Proofs: docs/proofs/envelope.md and smooth.md.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

import numpy as np

from ballotine.errors import DataError, LedgerError, ParameterError
from ballotine.ledger import EVERYONE, Binding, Ledger, Mode, Terms
from ballotine.ledger.charge import cost_of
from ballotine.noise import NoiseSource
from ballotine.privacy import envelope
from ballotine.privacy.best import best_epsilon
from ballotine.privacy.events import GaussianNumber
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.smooth import LogRelease, Sanitised, plan_log
from ballotine.types import FloatArray, IntArray
from ballotine.voting.mechanism import Mechanism
from ballotine.voting.tally import Tallies

ORDERS = (4.0, 5.0, 7.0, 10.0, 14.0, 20.0)
"""Orders to choose from: large ones suit small budgets, small ones suit few teachers."""
AGREEMENT = ((0.96, 0.6), (0.8, 0.25), (0.5, 0.15))
"""Assumed votes: the share of teachers that agree, and the share of queries where they do."""


@dataclass(frozen=True)
class Publication:
    """The parameters of publishing ε, all fixed beforehand.

    Attributes:
        order: the Rényi order at which costs are computed.
        rate: the largest change of the logarithm of the cost by one teacher.
        offset: a number added to each query's cost before taking the logarithm.
        sigma: noise on the logarithm, in units of the rate.
        failure: probability that the noise makes the published ε too small.
        teachers: the number of teachers.
        classes: the number of classes.
        folded: whether δ covers the failure. Ledgers of version 0.1 state a confidence with the
            number instead.
    """

    order: float
    rate: float
    offset: float
    sigma: float
    failure: float
    teachers: int
    classes: int
    folded: bool = True

    def to_json(self) -> str:
        """Return canonical text for the ledger."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Publication:
        """Read the text from the ledger."""
        try:
            stored = json.loads(text)
            if "confidence" in stored:  # version 0.1
                stored |= {"failure": 1.0 - stored.pop("confidence"), "folded": False}
            return cls(**stored)
        except (ValueError, TypeError) as problem:
            raise LedgerError("the ledger does not say how its ε is published") from problem

    def converted_at(self, delta: float) -> float:
        """Return what is left of δ after the probability of failure."""
        return delta - self.failure if self.folded else delta

    def log_release(self, mechanism: Mechanism, delta: float) -> LogRelease:
        """Return the sanitised release, with the mechanism's envelope."""
        costs = envelope_of(mechanism, self.teachers, self.classes, self.order)
        return LogRelease(
            g=envelope.shape(costs, self.rate, self.offset),
            offset=self.offset,
            order=self.order,
            delta=delta,
            sigma=self.sigma,
            failure=self.failure,
            folded=self.folded,
        )


def plan_publication(
    mechanism: Mechanism,
    teachers: int,
    classes: int,
    queries: int,
    delta: float,
    *,
    failure: float | None = None,
) -> tuple[Publication, float]:
    """Choose how to publish from assumed votes; return that and the ε to expect on those votes.

    Args:
        mechanism: the mechanism that will answer.
        teachers: the number of teachers.
        classes: the number of classes.
        queries: how many queries will be asked.
        delta: δ of the published (ε, δ), including the failure.
        failure: probability that the noise makes the published ε too small; by default a tenth
            of δ.
    """
    places = assumed_places(teachers, classes, queries)
    way, expected = plan_log(
        lambda order: envelope_of(mechanism, teachers, classes, order),
        places,
        ORDERS,
        delta,
        failure,
    )
    publication = Publication(
        way.order, way.rate, way.offset, way.sigma, way.failure_probability, teachers, classes
    )
    return publication, expected


def fixed_terms(
    mechanism: Mechanism, publication: Publication, queries: int, delta: float
) -> Terms:
    """Return terms of a ledger for this many queries; the ceiling is their worst-case cost."""
    events = mechanism.events(publication.classes)
    number = GaussianNumber(publication.sigma)

    def cost(orders: FloatArray) -> FloatArray:
        return queries * cost_of(events, orders) + number.cost(orders)

    # Converted at what the publication leaves of δ, so that the smaller of the ceiling and the
    # published ε may be stated at δ; slightly increased, so that the sum of rounded costs fits.
    ceiling, order = best_epsilon(cost, publication.converted_at(delta))
    budget = Budget(ceiling * (1.0 + 1e-9), delta)
    return Terms(
        ((EVERYONE, budget),),
        Mode.FIXED,
        queries,
        publication.to_json(),
        mechanism.describe(),
        # The order of the ceiling itself, so that the publication passes the filter too.
        ((EVERYONE, order),),
    )


@dataclass(frozen=True)
class FixedPromise:
    """What a ledger in fixed mode is opened with; its ceiling is computed when it is created.

    Attributes:
        mechanism: the mechanism that answers.
        teachers: the number of teachers.
        classes: the number of classes.
        queries: how many are asked.
        delta: the δ of the ceiling and of the published ε.
    """

    mechanism: Mechanism
    teachers: int
    classes: int
    queries: int
    delta: float

    def settle(self) -> Terms:
        """Return terms with a ceiling and a plan for publishing, which takes a while."""
        plan, _ = plan_publication(
            self.mechanism, self.teachers, self.classes, self.queries, self.delta
        )
        return fixed_terms(self.mechanism, plan, self.queries, self.delta)

    def disagreement(self, stored: Terms) -> str | None:
        """Return why a ledger with these terms does not match, or None if it does."""
        if stored.mode is not Mode.FIXED:
            return f"it is in {stored.mode} mode, not in fixed mode"
        plan = Publication.from_json(stored.plan)
        pairs = (
            ("number of queries", stored.queries, self.queries),
            ("δ", stored.loosest.delta, self.delta),
            ("number of teachers", plan.teachers, self.teachers),
            ("number of classes", plan.classes, self.classes),
            ("mechanism", stored.mechanism or "unknown", self.mechanism.describe()),
        )
        for name, fixed, asked in pairs:
            if fixed != asked:
                return f"its {name} was fixed beforehand as {fixed}, but {asked} was requested"
        return None


def publish(
    ledger: Ledger, mechanism: Mechanism, places: IntArray, noise: NoiseSource, binding: Binding
) -> dict[str, float | bool]:
    """Publish the ε of a ledger whose queries are all answered; this happens only once.

    Args:
        ledger: in FIXED mode, with all of its queries answered.
        mechanism: the mechanism that answered them.
        places: top count and runner-up of every query: private.
        noise: the source of the noise on the release.
        binding: the account of these queries.
    """
    terms, spending = ledger.terms, ledger.spending()
    if terms.mode is not Mode.FIXED:
        raise ParameterError("ε is published only in fixed mode; strict mode needs no publication")
    if spending.statement is not None:
        return spending.statement
    if spending.recorded != terms.queries or len(places) != terms.queries:
        raise LedgerError(
            f"{spending.recorded} of {terms.queries} queries are answered; ε is published when all "
            "of them are"
        )
    plan = Publication.from_json(terms.plan)
    released = plan.log_release(mechanism, ledger.budget.delta).release(
        places, noise, key=ledger.identity.encode()
    )
    return ledger.publish(_statement(released), (GaussianNumber(plan.sigma),), binding)


def require_publishable(tallies: Tallies, teachers: int) -> None:
    """Refuse counts that envelopes do not cover: each teacher must have one whole vote."""
    counts = tallies.unlock(reason="checking that what the answers cost can be published")
    if np.any(counts != np.round(counts)) or np.any(counts.sum(axis=1) != teachers):
        raise DataError(
            "in fixed mode every row of counts must add up to the number of teachers, one whole "
            "vote each; otherwise ε cannot be published. Use strict mode for other counts"
        )


def places_of(tallies: Tallies, teachers: int) -> IntArray:
    """Return the top count and runner-up of each query, on which the envelope depends: private."""
    require_publishable(tallies, teachers)
    counts = tallies.unlock(reason="the sanitised release of what the answers cost")
    return np.sort(counts, axis=1)[:, :-3:-1].astype(np.int64)


def envelope_of(mechanism: Mechanism, teachers: int, classes: int, order: float) -> FloatArray:
    """Return a proven upper bound on the exact cost by top count and runner-up."""
    return mechanism.envelope(teachers, classes, order)


def assumed_places(teachers: int, classes: int, queries: int) -> IntArray:
    """Return votes assumed for planning: teachers agree on most queries, but not on all."""
    places = []
    for agreeing, share in AGREEMENT:
        top = max(round(agreeing * teachers), -(-teachers // classes))
        rest = teachers - top
        second = rest if classes == 2 else -(-rest // 2)
        places += [[top, min(top, second)]] * max(1, round(share * queries))
    return np.array(places, dtype=np.int64)


def _statement(released: Sanitised) -> dict[str, float | bool]:
    certainty = (
        {"failure": released.failure} if released.folded else {"confidence": 1.0 - released.failure}
    )
    return {
        "epsilon": released.epsilon,
        "delta": released.delta,
        "order": released.order,
        **certainty,
        "seeded": released.seeded,
    }
