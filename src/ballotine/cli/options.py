"""Options that several commands share: budgets, vote files and groups."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from ballotine.cli.mechanism_options import typed_parameters

PARAMETERS = "parameters"

MechanismName = Annotated[
    str,
    typer.Option("--mechanism", "-m", help="How votes become answers."),
]
Epsilon = Annotated[float, typer.Option(help="ε of the budget.")]
Delta = Annotated[float, typer.Option(help="δ; well below 1 / (number of records).")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Seed = Annotated[
    int | None, typer.Option(min=0, help="Seed of the noise; secure noise by default.")
]
Queries = Annotated[
    int | None, typer.Option(min=1, help="Use only this many queries, the first ones.")
]
Classes = Annotated[
    int | None,
    typer.Option(min=2, max=1 << 16, help="Number of classes, as public knowledge."),
]
IsBallots = Annotated[
    bool, typer.Option("--ballots", help="The file holds ballots, even if they look like counts.")
]
IsTallies = Annotated[bool, typer.Option("--tallies", help="The file holds counts, not ballots.")]
Labels = Annotated[
    int | None,
    typer.Option(
        min=1, max=1 << 16, help="Labels per ballot, if a teacher's labels are adjacent columns."
    ),
]
LabelThreshold = Annotated[
    float | None, typer.Option(help="Ballots are probabilities; those above this name a label.")
]
GroupsFile = Annotated[
    Path | None,
    typer.Option("--weights", help="CSV of teacher,group[,weight]; or of group,copies."),
]
GroupBudgets = Annotated[
    str | None, typer.Option(help="ε of each group: 1,2,3 in their order, or old=1,young=2.")
]
Individual = Annotated[
    str, typer.Option(help="weighting or vanishing, if the file has no weights.")
]
Bounds = Annotated[
    str, typer.Option(help="published (Theorem 6), tight (data-independent) or exact.")
]
Conversion = Annotated[str, typer.Option(help="improved or classic.")]

Command = Callable[..., None]


def with_fields_of(kind: type[Any]) -> Callable[[Command], Command]:
    """Give a command the annotated fields of a dataclass as options.

    The command takes an instance of the dataclass as its first argument. Its field ``parameters``
    holds the parameters of the mechanism.
    """
    hints = get_type_hints(kind, include_extras=True)
    shared = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(kind)
        if field.name != PARAMETERS
    ]

    def decorate(command: Command) -> Command:
        own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
        context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)

        @wraps(command)
        def call(ctx: typer.Context, **typed: Any) -> None:
            given = {one.name: typed.pop(one.name) for one in shared}
            command(kind(**given, parameters=typed_parameters(ctx)), **typed)

        taken = [*shared, *(one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own)]
        call.__signature__ = inspect.Signature([context, *taken])  # type: ignore[attr-defined]
        call.__annotations__ = {one.name: one.annotation for one in [context, *taken]}
        return call

    return decorate
