"""``ballotine plan``: find the noise for a budget before anything is released."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ballotine.cli.console import console
from ballotine.cli.mechanism_options import typed_parameters
from ballotine.cli.options import AsJson, Delta, Epsilon, MechanismName
from ballotine.errors import ParameterError

if TYPE_CHECKING:
    from ballotine.voting.planning import NoiseTarget

HELP = """Find the smallest noise with which a number of queries fits a budget.

Data-independent: nothing private is read, and the result may be shown to anyone.
Example: `ballotine plan --teachers 250 --classes 10 --queries 1000 --epsilon 3 --delta 1e-5`

With assumed votes it also compares noise levels: how many answers would be wrong, and what they
would cost in strict and in fixed mode. Assume how often teachers are right, or give votes of
teachers that learned from public records. Example: `ballotine plan --teachers 250 --queries 4250
--epsilon 3 --delta 1e-5 --mode fixed --teacher-accuracy 0.74 --plurality-accuracy 0.8`
"""
CURVE_POINTS = 8
TEACHERS, CLASSES, ANSWERED = 50, 10, 0.7


def plan(
    ctx: typer.Context,
    queries: Annotated[
        int, typer.Option(min=1, max=10**12, help="How many queries will be asked.")
    ],
    epsilon: Epsilon,
    delta: Delta,
    teachers: Annotated[
        int | None,
        typer.Option(min=1, max=10**7, help=f"Number of teachers; {TEACHERS} by default."),
    ] = None,
    classes: Annotated[
        int | None,
        typer.Option(min=2, max=1 << 16, help=f"Number of classes; {CLASSES} by default."),
    ] = None,
    mechanism: MechanismName = "confident-gnmax",
    answered: Annotated[
        float | None,
        typer.Option(
            help="Share of queries expected to pass the check: a guess, "
            f"{ANSWERED} by default. Not with assumed votes, which determine it."
        ),
    ] = None,
    mode: Annotated[
        str, typer.Option(help="strict, or fixed, which needs assumed votes.")
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
            help="Assumed votes: a file of ballots of teachers that learned from public records "
            "only; using it declares it public. Its array y, if any, holds the right classes."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the smallest noise for a budget."""
    from ballotine.privacy.guarantee import Budget
    from ballotine.voting.planning import NoiseTarget, other_parameters, plannable

    kind, budget = plannable(mechanism), Budget(epsilon, delta)
    given = other_parameters(kind, typed_parameters(ctx))
    if (teacher_accuracy, plurality_accuracy, public_votes) != (None, None, None):
        from ballotine.cli.noise_advice import Assumption, advise

        if answered is not None:
            raise ParameterError("leave --answered out: the assumed votes determine it")
        assumption = Assumption(
            teachers, classes, teacher_accuracy, plurality_accuracy, public_votes
        )
        advise(assumption, queries, budget, kind, mode, given, as_json=as_json)
        return
    if mode != "strict" or given:
        raise ParameterError(
            "fixed mode, or a given check, needs assumed votes: give --teacher-accuracy and "
            "--plurality-accuracy, or --public-votes"
        )
    target = NoiseTarget(
        kind,
        queries,
        budget,
        teachers or TEACHERS,
        classes or CLASSES,
        ANSWERED if answered is None else answered,
    )
    found = _found(target)
    found["curve"] = _curve(target)
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        _show(found, target)


def _found(target: NoiseTarget) -> dict[str, Any]:
    """Return the smallest noise as plain values."""
    mechanism = target.mechanism
    found = {
        "mechanism": mechanism.name,
        "queries": target.queries,
        "teachers": target.teachers,
        **asdict(mechanism),
        "epsilon": target.epsilon,
        "noise_in_votes": target.noise / target.teachers,
    }
    return found | ({"answered": target.answered} if mechanism.checks else {})


def _curve(target: NoiseTarget) -> list[dict[str, float]]:
    import numpy as np

    from ballotine.privacy import plan as planner

    queries = target.queries
    numbers = np.unique(np.linspace(queries / CURVE_POINTS, queries, CURVE_POINTS).astype(int))
    numbers = numbers[numbers > 0]
    values = planner.curve(target.charges, numbers, target.budget.delta)
    return [{"queries": int(n), "epsilon": float(e)} for n, e in zip(numbers, values, strict=True)]


def _show(found: dict[str, Any], target: NoiseTarget) -> None:
    from rich.table import Table

    console.print(f"{target.queries} queries within {target.budget}:", markup=False)
    noise = target.shown
    for threshold, sigma in target.mechanism.checks:
        noise += (
            f", threshold = {threshold:g}, σ of the check = {sigma:.2f}; "
            f"if {target.answered:.0%} are answered"
        )
    console.print(noise, markup=False)
    table = Table("queries asked", "ε so far")
    for point in found["curve"]:
        table.add_row(str(point["queries"]), f"{point['epsilon']:.3f}")
    console.print(table)
