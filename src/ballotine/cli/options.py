"""Options that several commands share, spelled once: mechanisms, budgets and vote files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

MECHANISM_NAMES = "gnmax, confident-gnmax, lnmax; for labels: binary, clipped, powerset."

MechanismName = Annotated[str, typer.Option("--mechanism", "-m", help=MECHANISM_NAMES)]
Sigma = Annotated[float | None, typer.Option(help="Noise on each count, in votes (all but lnmax).")]
Gamma = Annotated[float | None, typer.Option(help="Inverse scale of the noise (lnmax).")]
Threshold = Annotated[
    float | None, typer.Option(help="Votes the noisy top count must reach (confident).")
]
SigmaThreshold = Annotated[float | None, typer.Option(help="Noise of that check (confident).")]
Tau = Annotated[
    float | None,
    typer.Option(help="Largest norm of a ballot (clipped), or most labels in it (powerset)."),
]
NormName = Annotated[str | None, typer.Option("--norm", help="l2 or l1 (clipped).")]
VariantName = Annotated[
    str | None,
    typer.Option(
        "--variant", help="both, one-against-complement or one-against-half (binary, clipped)."
    ),
]
Epsilon = Annotated[float, typer.Option(help="ε of the budget.")]
Delta = Annotated[float, typer.Option(help="δ; well below 1 / (number of records).")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Seed = Annotated[
    int | None, typer.Option(min=0, help="Seed of the noise; secure noise when absent.")
]
Queries = Annotated[int | None, typer.Option(min=1, help="Only the first so many queries.")]
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
        min=1, max=1 << 16, help="Labels per ballot, in a table with a teacher's labels in a row."
    ),
]
LabelThreshold = Annotated[
    float | None, typer.Option(help="Ballots are probabilities: a label above this is named.")
]
GroupsFile = Annotated[
    Path | None,
    typer.Option("--weights", help="CSV of teacher,group[,weight]; or of group,copies."),
]
GroupBudgets = Annotated[
    str | None, typer.Option(help="ε of each group: 1,2,3 in their order, or old=1,young=2.")
]
Individual = Annotated[str, typer.Option(help="weighting or vanishing, if weights are not given.")]
Bounds = Annotated[
    str, typer.Option(help="published (Theorem 6), tight (data-independent) or exact.")
]
Conversion = Annotated[str, typer.Option(help="improved or classic.")]
