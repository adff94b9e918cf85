"""Costs of groups with individual budgets: vectorised against loops, and rules compared.

    python benchmarks/bench_groups.py [--repeats 5] [--rules]

Prints the speed-up, for the ε of three groups after each of 2,000 votes of 250 teachers, over
two plain loops that compute the same numbers (Theorem 6 in both directions, improved
conversion) from the same ballots: one prices every teacher in every vote; the other
prices each vote once per group and only adds up teacher by teacher. The loops run over the first
200 votes, where their results are compared with ours, and are scaled to 2,000; all times are CPU
times. Exits with 1 if we are not 100 times as fast as the loop over teachers.

`--rules` prints how well the groups of the standard case run out together, by scheme and rule.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import get_args

import numpy as np
from scipy.special import log_ndtr

from ballotine.noise import QueryNoise, SeededNoise
from ballotine.types import FloatArray, IntArray
from ballotine.voting import ConfidentGNMax, GNMax
from ballotine.voting.individual import (
    GroupPlan,
    Plan,
    Scheme,
    Upsampling,
    Vanishing,
    Weighting,
    budgets_of_levels,
    history,
)
from ballotine.voting.individual.upsampling import CopyRule
from ballotine.voting.individual.vanishing import TurnRule
from ballotine.voting.individual.weighting import WeightRule

RECORDS = {"high": 20_400, "average": 25_800, "low": 13_800}  # 34, 43 and 23 % of 60,000
BUDGETS = budgets_of_levels(RECORDS)
CLASSES, TEACHERS, DELTA = 10, 250, 1e-5
MECHANISM = ConfidentGNMax(40.0, threshold=200.0, sigma_threshold=150.0)
ORDERS = np.arange(2.0, 51.0)
VOTINGS, LOOPED = 2000, 200
PRICE = math.log(1 / DELTA) / (ORDERS - 1) + np.log1p(-1 / ORDERS) - np.log(ORDERS) / (ORDERS - 1)


def planned(scheme: Scheme) -> Plan:
    """Return a plan whose noise and threshold fit the number of voters."""
    plan = scheme.plan(RECORDS, TEACHERS, MECHANISM, CLASSES, DELTA)
    if not isinstance(scheme, Vanishing):
        return plan
    share = plan.voters / plan.teachers
    fewer = ConfidentGNMax(40.0 * share, threshold=200.0 * share, sigma_threshold=150.0 * share)
    return scheme.plan(RECORDS, TEACHERS, fewer, CLASSES, DELTA)


def election(plan: Plan) -> tuple[IntArray, IntArray]:
    """Return ballots of teachers that mostly agree, and the answers."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, CLASSES, size=(VOTINGS, 1))
    agreed = rng.random((VOTINGS, plan.teachers)) < rng.beta(2.66, 0.25, size=(VOTINGS, 1))
    ballots = np.where(agreed, truth, rng.integers(0, CLASSES, size=agreed.shape))
    noise = QueryNoise(SeededNoise(0), [i.to_bytes(8, "big") for i in range(VOTINGS)])
    answers = plan.mechanism.release(plan.tally(ballots, CLASSES, np.arange(VOTINGS)), noise)
    return ballots, answers


def ours(plan: Plan, ballots: IntArray, answers: IntArray) -> dict[str, FloatArray]:
    turns = np.arange(len(ballots))
    tallies = plan.tally(ballots, CLASSES, turns)
    found = history(plan, tallies, answers, ORDERS, "published", turns)
    return {name: values.unlock(reason="benchmark") for name, values in found.items()}


def looped(
    plan: Plan, ballots: IntArray, answers: IntArray, per_teacher: bool
) -> dict[str, FloatArray]:
    """Price one vote after the other, one teacher after the other."""
    mechanism = plan.mechanism
    assert isinstance(mechanism, ConfidentGNMax)
    totals = {g.name: [np.zeros(ORDERS.size) for _ in g.teachers] for g in plan.groups}
    epsilons = {group.name: np.zeros(len(ballots)) for group in plan.groups}
    for voting, (votes, answer) in enumerate(zip(ballots, answers, strict=True)):
        counts = np.zeros(CLASSES)
        for group in plan.groups:
            for seat, teacher in enumerate(group.teachers):
                if takes_part(group, seat, voting):
                    counts[votes[teacher]] += group.reach.weight
        for group in plan.groups:
            price = cost(mechanism, counts, answer, group.reach.weight)
            for seat in range(len(group.teachers)):
                if takes_part(group, seat, voting):
                    if per_teacher:
                        price = cost(mechanism, counts, answer, group.reach.weight)
                    totals[group.name][seat] += price
            worst = np.max(totals[group.name], axis=0)
            epsilons[group.name][voting] = np.min(worst + PRICE) if worst.any() else 0.0
    return epsilons


def takes_part(group: GroupPlan, seat: int, turn: int) -> bool:
    return (seat - turn * group.voters) % len(group.teachers) < group.voters


def cost(mechanism: ConfidentGNMax, counts: FloatArray, answer: int, weight: float) -> FloatArray:
    """Price the check of every vote, and Theorem 6 for an answer."""
    check = ORDERS * weight**2 / (2 * mechanism.sigma_threshold**2)
    return check + theorem_six(counts, mechanism.sigma, weight) if answer >= 0 else check


def theorem_six(counts: FloatArray, sigma: float, weight: float) -> FloatArray:
    """Scalable PATE's Theorem 6 at the worst neighbour; else α s²/σ²."""
    scale = sigma / weight
    plain = ORDERS / scale**2
    ranked = np.sort(counts)[::-1]
    if ranked[0] - ranked[1] < 2 * weight:
        return plain
    ranked[0] -= weight
    ranked[1] += weight
    tails = log_ndtr((ranked[1:] - ranked[0]) / (np.sqrt(2.0) * sigma))
    log_q = min(np.logaddexp.reduce(tails), np.log1p(-1.0 / counts.size))
    mu2 = scale * np.sqrt(-log_q)
    mu1 = mu2 + 1.0
    eps1, eps2 = mu1 / scale**2, mu2 / scale**2
    if mu2 <= 1.0 or log_q + eps2 >= 0.0:
        return plain
    if log_q > (mu2 - 1.0) * eps2 - mu2 * np.log(mu1 / (mu1 - 1.0) * mu2 / (mu2 - 1.0)):
        return plain
    beta = ORDERS - 1.0
    stay = np.log1p(-np.exp(log_q))
    kept = stay + beta * (stay - np.log1p(-np.exp((log_q + eps2) * (mu2 - 1.0) / mu2)))
    lost = log_q + beta * (eps1 - log_q / (mu1 - 1.0))
    return np.where(mu1 >= ORDERS, np.minimum(np.logaddexp(kept, lost) / beta, plain), plain)


def seconds(job: Callable[[], dict[str, FloatArray]]) -> tuple[float, dict[str, FloatArray]]:
    start = time.process_time()
    result = job()
    return time.process_time() - start, result


def compare(scheme: Scheme, repeats: int) -> bool:
    """Print the median times and ratios; return whether the target is met."""
    plan = planned(scheme)
    ballots, answers = election(plan)
    part = ballots[:LOOPED], answers[:LOOPED]
    times = []
    for _ in range(repeats):
        taken, found = seconds(partial(ours, plan, ballots, answers))
        times.append(taken)
    median = float(np.median(times))
    print(f"{scheme.name}: {VOTINGS} votings, {plan.teachers} teachers, {ORDERS.size} orders")
    met = True
    for label, per_teacher in (("loop over teachers", True), ("loop, priced by group", False)):
        taken, plain = seconds(partial(looped, plan, *part, per_teacher))
        for name, values in plain.items():
            np.testing.assert_allclose(found[name][:LOOPED], values, rtol=1e-9)
        ratio = taken * VOTINGS / LOOPED / median
        print(f"  {label:<22} {taken * VOTINGS / LOOPED * 1e3:9.1f} ms   {ratio:7.0f}× ours")
        met = met and (not per_teacher or ratio >= 100)
    print(f"  {'ours':<22} {median * 1e3:9.1f} ms")
    return met


def rules() -> None:
    """Print how well the groups run out together, by scheme and rule."""
    schemes: list[Scheme] = [Upsampling(BUDGETS, rule=rule) for rule in get_args(CopyRule)]
    schemes += [Weighting(BUDGETS, rule) for rule in get_args(WeightRule)]
    schemes += [Vanishing(BUDGETS, rule) for rule in get_args(TurnRule)]
    everyone = Weighting({"all": min(BUDGETS.values())})
    alone = everyone.plan({"all": sum(RECORDS.values())}, TEACHERS, GNMax(40.0), CLASSES, DELTA)
    print("| scheme | rule | σ | factors | queries | " + " | ".join(RECORDS) + " |")
    print("|---|---|---:|---|---:|" + "---:|" * len(RECORDS))
    print(f"| smallest ε for all | | 40 | | {alone.exhaustion(CLASSES).queries} | 100 % | | |")
    for scheme in schemes:
        show(scheme, GNMax(40.0))
        if isinstance(scheme, Vanishing):  # as much noise per voter as the others
            voters = scheme.plan(RECORDS, TEACHERS, GNMax(40.0), CLASSES, DELTA).voters
            show(scheme, GNMax(round(40.0 * voters / TEACHERS, 1)))


def show(scheme: Scheme, mechanism: GNMax) -> None:
    plan = scheme.plan(RECORDS, TEACHERS, mechanism, CLASSES, DELTA)
    ends = plan.exhaustion(CLASSES)
    used = " | ".join(f"{end.used / end.epsilon:.1%}".replace("%", " %") for end in ends.groups)
    assert isinstance(plan.mechanism, GNMax)
    rule = getattr(scheme, "rule", "")
    row = f"{scheme.name} | {rule} | {plan.mechanism.sigma:.3g} | {factors(plan)} | {ends.queries}"
    print(f"| {row} | {used} |")


def factors(plan: Plan) -> str:
    """Return what the scheme gives each group: copies, weights, or voting teachers."""
    if plan.scheme == "upsampling":
        return ", ".join(f"{g.reach.teachers}×" for g in plan.groups)
    if plan.scheme == "weighting":
        return ", ".join(f"{g.reach.weight:.3g}" for g in plan.groups)
    return ", ".join(f"{g.voters}/{len(g.teachers)}" for g in plan.groups)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rules", action="store_true")
    arguments = parser.parse_args()
    if arguments.rules:
        rules()
        return 0
    # Upsampling needs no loop over teachers: its groups differ only by their copies.
    schemes = (Weighting(BUDGETS), Vanishing(BUDGETS))
    met = [compare(scheme, arguments.repeats) for scheme in schemes]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
