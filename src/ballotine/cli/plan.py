"""``ballotine plan``: noise for a budget, before anything is released."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from ballotine.cli.console import console
from ballotine.cli.options import AsJson, Delta, Epsilon, MechanismName, SigmaThreshold, Threshold
from ballotine.errors import ParameterError

HELP = """Find the smallest noise with which so many queries fit a budget.

Data-independent: nothing private is read, and the result may be shown to anyone.
Example: `ballotine plan --teachers 250 --classes 10 --queries 1000 --epsilon 3 --delta 1e-5`

With assumed votes it also compares noises: how many answers would be wrong, and what they would
cost in strict and in fixed mode. Assume how often teachers are right, or give votes of
teachers that learnt from public records. Example: `ballotine plan --teachers 250 --queries 4250
--epsilon 3 --delta 1e-5 --mode fixed --teacher-accuracy 0.74 --plurality-accuracy 0.8`
"""
CURVE_POINTS = 8
TEACHERS, CLASSES, ANSWERED = 50, 10, 0.7
PLANNED = ("gnmax", "confident-gnmax")


def plan(
    queries: Annotated[
        int, typer.Option(min=1, max=10**12, help="How many queries will be asked.")
    ],
    epsilon: Epsilon,
    delta: Delta,
    teachers: Annotated[
        int | None,
        typer.Option(min=1, max=10**7, help=f"How many teachers vote; {TEACHERS} if absent."),
    ] = None,
    classes: Annotated[
        int | None,
        typer.Option(min=2, max=1 << 16, help=f"How many classes there are; {CLASSES} if absent."),
    ] = None,
    mechanism: MechanismName = "confident-gnmax",
    answered: Annotated[
        float | None,
        typer.Option(
            help="Share of the queries expected to pass the check: a guess, "
            f"{ANSWERED} if absent. Assumed votes say it themselves."
        ),
    ] = None,
    mode: Annotated[
        str, typer.Option(help="strict, or fixed: advice on noise for it needs assumed votes.")
    ] = "strict",
    teacher_accuracy: Annotated[
        float | None,
        typer.Option(help="Assumed votes: how often one teacher is right; a public guess."),
    ] = None,
    plurality_accuracy: Annotated[
        float | None,
        typer.Option(help="Assumed votes: how often the most frequent vote is right."),
    ] = None,
    public_votes: Annotated[
        Path | None,
        typer.Option(
            help="Assumed votes: a file of ballots of teachers that learnt from public records "
            "only, by which you declare it public; an array y holds the right classes."
        ),
    ] = None,
    threshold: Threshold = None,
    sigma_threshold: SigmaThreshold = None,
    as_json: AsJson = False,
) -> None:
    """Find the smallest noise for a budget."""
    from ballotine.privacy.guarantee import Budget

    if mechanism not in PLANNED:
        raise ParameterError(f"cannot plan {mechanism!r}; choose {' or '.join(PLANNED)}")
    budget = Budget(epsilon, delta)
    if (teacher_accuracy, plurality_accuracy, public_votes) != (None, None, None):
        from ballotine.cli.noise_advice import Assumption, advise

        if answered is not None:
            raise ParameterError("leave --answered out: the assumed votes say it")
        assumption = Assumption(
            teachers, classes, teacher_accuracy, plurality_accuracy, public_votes
        )
        check = (threshold, sigma_threshold)
        advise(assumption, queries, budget, mechanism, mode, check, as_json=as_json)
        return
    if mode != "strict" or (threshold, sigma_threshold) != (None, None):
        raise ParameterError(
            "advice for the fixed mode or for a given check needs assumed votes: give "
            "--teacher-accuracy and --plurality-accuracy, or --public-votes"
        )
    found, charges = _smallest(
        queries,
        budget,
        mechanism,
        teachers or TEACHERS,
        classes or CLASSES,
        ANSWERED if answered is None else answered,
    )
    found["curve"] = _curve(charges, queries, delta)
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        _show(found, budget)


def _smallest(
    queries: int, budget: Any, mechanism: str, teachers: int, classes: int, answered: float
) -> tuple[dict[str, Any], Any]:
    """The smallest noise, and what a query is charged with it."""
    from ballotine.privacy import plan as planner
    from ballotine.privacy.events import GaussianArgmax, GaussianCheck

    found: dict[str, Any] = {"mechanism": mechanism, "queries": queries, "teachers": teachers}
    charges: planner.Charges
    if mechanism == "gnmax":
        sigma = planner.gnmax_sigma(queries, budget, classes)
        charges = [(GaussianArgmax(sigma, classes), 1.0)]
        spent = planner.epsilon_of([(charges[0][0], queries)], budget.delta)
        found |= {"sigma": sigma, "epsilon": spent}
    else:
        made = planner.confident_gnmax(queries, answered, budget, teachers, classes)
        found |= {**asdict(made), "answered": answered}
        charges = [
            (GaussianCheck(made.sigma_threshold), 1.0),
            (GaussianArgmax(made.sigma, classes), answered),
        ]
    found["noise_in_votes"] = found["sigma"] / teachers
    return found, charges


def _curve(charges: Any, queries: int, delta: float) -> list[dict[str, float]]:
    import numpy as np

    from ballotine.privacy import plan as planner

    numbers = np.unique(np.linspace(queries / CURVE_POINTS, queries, CURVE_POINTS).astype(int))
    numbers = numbers[numbers > 0]
    values = planner.curve(charges, numbers, delta)
    return [{"queries": int(n), "epsilon": float(e)} for n, e in zip(numbers, values, strict=True)]


def _show(found: dict[str, Any], budget: Any) -> None:
    from rich.table import Table

    console.print(f"{found['queries']} queries within {budget}:", markup=False)
    noise = f"σ = {found['sigma']:.2f} votes ({found['noise_in_votes']:.1%} of the teachers)"
    if "threshold" in found:
        noise += (
            f", threshold = {found['threshold']:g}, σ of the check = "
            f"{found['sigma_threshold']:.2f}; if {found['answered']:.0%} are answered"
        )
    console.print(noise, markup=False)
    table = Table("queries asked", "ε so far")
    for point in found["curve"]:
        table.add_row(str(point["queries"]), f"{point['epsilon']:.3f}")
    console.print(table)
