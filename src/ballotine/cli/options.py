"""Options that several commands share, spelled once: mechanisms and budgets."""

from __future__ import annotations

from typing import Annotated

import typer

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
