"""Options that several commands share, spelled once: mechanisms and budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ballotine.errors import ParameterError

if TYPE_CHECKING:
    from ballotine.voting import Mechanism

MechanismName = Annotated[str, typer.Option("--mechanism", "-m", help="gnmax or confident-gnmax.")]
Sigma = Annotated[float, typer.Option(help="Noise on each class's count, in votes.")]
Threshold = Annotated[
    float | None, typer.Option(help="Votes the noisy top count must reach (confident).")
]
SigmaThreshold = Annotated[float | None, typer.Option(help="Noise of that check (confident).")]
Epsilon = Annotated[float, typer.Option(help="ε of the budget.")]
Delta = Annotated[float, typer.Option(help="δ; well below 1 / (number of records).")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Seed = Annotated[
    int | None, typer.Option(min=0, help="Seed of the noise; secure noise when absent.")
]


def make_mechanism(name: str, **parameters: float | None) -> Mechanism:
    """The mechanism of that name with exactly the parameters it takes."""
    from ballotine.voting import MECHANISMS

    kind = MECHANISMS.get(name)
    if kind is None:
        raise ParameterError(f"unknown mechanism {name!r}; choose one of {', '.join(MECHANISMS)}")
    wanted = set(kind.__dataclass_fields__) - {"name"}
    given: dict[str, Any] = {key: value for key, value in parameters.items() if value is not None}
    if missing := sorted(wanted - set(given)):
        raise ParameterError(f"{name} needs --{missing[0].replace('_', '-')}")
    if extra := sorted(set(given) - wanted):
        raise ParameterError(f"{name} does not use --{extra[0].replace('_', '-')}")
    return kind(**given)
