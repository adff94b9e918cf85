"""Audits of mechanisms: sharp where they are right, loud where they are wrong."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
from scipy import stats

from ballotine.audit import AuditResult, audit_mechanism, default_cases, require
from ballotine.audit.mechanism import claimed_epsilon, described
from ballotine.errors import DataError, ParameterError, VerificationError
from ballotine.noise import SeededNoise
from ballotine.oracle.epsilon import response_epsilon
from ballotine.privacy.events import GaussianArgmax
from ballotine.privacy.plan import epsilon_of
from ballotine.voting import MECHANISMS, ConfidentGNMax, GNMax, LNMax
from tests.audit.faults import (
    CheapGNMax,
    Labels,
    MirroredGNMax,
    OddGNMax,
    PlainVote,
    QuietGNMax,
    Stream,
)


@pytest.mark.parametrize(
    ("teachers", "sigma"), [(2, 1.0), (2, 2.0), (2, 4.0), (3, 2.0), (4, 2.0), (6, 4.0), (10, 2.0)]
)
def test_gnmax_is_within_a_factor_two_and_never_above(teachers: int, sigma: float) -> None:
    found = audit_mechanism(GNMax(sigma), teachers=teachers, noise=Stream(teachers))
    assert found.claimed == pytest.approx(epsilon_of([(GaussianArgmax(sigma, 2), 20)], 1e-5))
    assert found.ratio is not None
    assert 0.75 < found.ratio < 1.0
    assert not found.exceeded
    require([found])


def test_with_seeded_noise_an_audit_repeats() -> None:
    runs = [audit_mechanism(GNMax(2.0), trials=2_000, noise=SeededNoise(5)) for _ in range(2)]
    assert runs[0] == runs[1]
    other = audit_mechanism(GNMax(2.0), trials=2_000, noise=SeededNoise(6))
    assert other.lower != runs[0].lower


def test_whole_transcripts_alone_are_within_a_factor_two_at_a_larger_delta() -> None:
    found = audit_mechanism(GNMax(4.0), delta=0.01, noise=Stream(1))
    assert found.claimed is not None
    assert 0.5 * found.claimed < found.whole < found.claimed


@pytest.mark.parametrize("teachers", [2, 4, 10])
def test_noise_that_is_a_fifth_too_small_is_caught(teachers: int) -> None:
    found = audit_mechanism(QuietGNMax(2.0), teachers=teachers, noise=Stream(teachers))
    assert found.claimed is not None
    assert found.lower > 1.1 * found.claimed
    assert found.exceeded
    with pytest.raises(VerificationError, match=r"1 of 1 audits failed: gnmax\(sigma=2\): the "):
        require([found])


def test_noise_that_is_too_small_is_caught_with_seeded_noise() -> None:
    found = audit_mechanism(QuietGNMax(2.0), noise=SeededNoise(0))
    assert found.claimed is not None
    assert found.lower > 1.1 * found.claimed


def test_accounting_that_charges_too_little_is_caught() -> None:
    found = audit_mechanism(CheapGNMax(2.0), noise=Stream(1))
    assert found.claimed is not None
    assert found.lower > 1.1 * found.claimed


def test_noise_that_cancels_between_queries_is_seen_in_whole_transcripts_only() -> None:
    """Every answer alone is as it should be; together they give the vote away."""
    found = audit_mechanism(MirroredGNMax(4.0), teachers=2, noise=Stream(1))
    assert found.claimed is not None
    assert found.composed is not None
    assert found.composed < found.claimed < found.whole
    assert found.exceeded


@pytest.mark.parametrize("case", default_cases(), ids=lambda case: case.mechanism.name)
def test_every_default_case_is_sharp_and_stands(case) -> None:  # type: ignore[no-untyped-def]
    found = audit_mechanism(
        case.mechanism,
        teachers=case.teachers,
        classes=case.classes,
        queries=case.queries,
        trials=6_000,
        noise=Stream(1),
    )
    assert found.ratio is not None
    assert 0.5 < found.ratio < 1.0
    assert described(case.mechanism) == found.subject


def test_there_is_a_default_case_for_every_mechanism() -> None:
    assert [case.mechanism.name for case in default_cases()] == list(MECHANISMS)


def test_checks_that_are_too_quiet_are_caught() -> None:
    @dataclasses.dataclass(frozen=True)
    class QuietCheck(ConfidentGNMax):
        def release(self, tallies, noise):  # type: ignore[no-untyped-def]
            honest = ConfidentGNMax(self.sigma, self.threshold, 0.7 * self.sigma_threshold)
            return honest.release(tallies, noise)

    found = audit_mechanism(QuietCheck(2.0, 2.0, 1.0), teachers=2, noise=Stream(1))
    assert found.exceeded


def test_laplace_noise_that_is_a_third_too_small_is_caught() -> None:
    @dataclasses.dataclass(frozen=True)
    class QuietLNMax(LNMax):
        def release(self, tallies, noise):  # type: ignore[no-untyped-def]
            return LNMax(self.gamma / 0.66).release(tallies, noise)

    assert audit_mechanism(QuietLNMax(1.0), queries=3, noise=Stream(1)).exceeded


def test_one_answer_of_lnmax_is_close_to_its_claim_when_votes_are_far_apart() -> None:
    """Far out, Laplace noise gives away nearly all of 2γ: the claim's ε, whatever the δ."""
    found = audit_mechanism(LNMax(1.5), queries=1, trials=400_000, noise=Stream(1))
    assert found.claimed == pytest.approx(3.0, abs=1e-3)
    assert 0.75 * 3.0 < found.lower < 3.0


@pytest.mark.parametrize(("classes", "least"), [(2, 0.75), (3, 0.6)])
def test_without_a_law_the_answers_themselves_show_what_to_look_at(
    classes: int, least: float
) -> None:
    found = audit_mechanism(PlainVote(2.0), teachers=6, classes=classes, noise=Stream(1))
    assert found.ratio is not None
    assert least < found.ratio < 1.0


@pytest.mark.parametrize("labels", [2, 3])
def test_answers_with_several_labels(labels: int) -> None:
    honest = audit_mechanism(Labels(3.0, 4), classes=labels, noise=Stream(1))
    quiet = audit_mechanism(Labels(3.0, 4, 0.8), classes=labels, noise=Stream(1))
    assert honest.ratio is not None
    assert 0.75 < honest.ratio < 1.0
    assert quiet.exceeded
    assert "teachers name all" in honest.pair


def test_many_teachers_classes_and_queries() -> None:
    found = audit_mechanism(
        GNMax(40.0), teachers=250, classes=10, queries=100, trials=1_000, noise=Stream(1)
    )
    assert found.ratio is not None
    assert 0.3 < found.ratio < 1.0


def test_audits_exceed_the_truth_as_seldom_as_they_say() -> None:
    """Few trials, little confidence, and the true ε of the very pair that is compared."""
    bits = [stats.binom(5, stats.norm.cdf(votes / math.sqrt(2.0))) for votes in (0.0, 2.0)]
    first, second = (bit.pmf(np.arange(6)) for bit in bits)
    truth = max(
        math.log((p[chosen].sum() - 0.01) / q[chosen].sum())
        for p, q in ((first, second), (second, first))
        for size in range(1, 6)
        for chosen in [np.argsort(-p / q)[:size]]
        if p[chosen].sum() > 0.01
    )
    noise, audits, allowed = Stream(2), 150, 0.5
    found = [
        audit_mechanism(
            GNMax(1.0),
            teachers=2,
            queries=5,
            delta=0.01,
            trials=60,
            confidence=1 - allowed,
            noise=noise,
        )
        for _ in range(audits)
    ]
    assert {one.pair for one in found} <= {
        "tally (2, 0) against (1, 1)",
        "tally (1, 1) against (0, 2)",
    }
    wrong = sum(one.lower > truth for one in found)
    assert stats.binomtest(wrong, audits, allowed, alternative="greater").pvalue > 1e-3
    assert max(one.lower for one in found) > 0.8 * truth, "not by being of no use"


def test_the_claim_is_that_of_the_events() -> None:
    claimed, order = claimed_epsilon(LNMax(0.3), 2, 7, 1e-6)
    assert order > 1
    assert claimed >= response_epsilon(1e-6, 0.6, 7)
    assert claimed <= 7 * 0.6


def test_bad_parameters() -> None:
    for wrong in (
        {"trials": 19},
        {"confidence": 1.0},
        {"confidence": 0.0},
        {"queries": 0},
        {"teachers": 0},
        {"delta": 0.0},
    ):
        with pytest.raises(ParameterError):
            audit_mechanism(GNMax(2.0), **wrong)
    with pytest.raises(ParameterError, match="fewer labels"):
        audit_mechanism(Labels(2.0, 4), classes=8, trials=20)
    with pytest.raises(DataError, match="not a class or label"):
        audit_mechanism(OddGNMax(2.0), trials=20)


def result(**changes: object) -> AuditResult:
    facts = {
        "subject": "gnmax(sigma=2)",
        "pair": "(1, 1) against (0, 2)",
        "queries": 20,
        "trials": 100,
        "delta": 1e-5,
        "confidence": 0.99,
        "claimed": 10.0,
        "whole": 2.0,
        "composed": 6.0,
        "event": "score ≥ 1",
    }
    return AuditResult(**(facts | changes))  # type: ignore[arg-type]


def test_verdicts() -> None:
    assert "would have refuted any claim below 6" in result().verdict
    assert "weak" in result(composed=None).verdict
    assert result(composed=None).lower == 2.0
    wrong = result(composed=10.5)
    assert wrong.ratio == pytest.approx(1.05)
    assert "ε = 10 is false: the releases show at least 10.5" in wrong.verdict
    assert "any claim below ε = 6 would be false" in result(claimed=None).verdict
    assert result(claimed=None).ratio is None
    assert not result(claimed=None).exceeded
    with pytest.raises(VerificationError, match="1 of 3 audits failed") as problem:
        require([result(), wrong, result(claimed=None)])
    assert problem.value.exit_code == 1


def test_results_are_json() -> None:
    told = json.loads(json.dumps(result().as_dict()))
    assert told["lower"] == 6.0
    assert told["ratio"] == 0.6
    assert told["exceeded"] is False
    assert told["claimed"] == 10.0


def test_a_claim_of_nothing_is_refuted_by_anything() -> None:
    nothing = result(claimed=0.0)
    assert nothing.exceeded
    assert nothing.ratio is None
