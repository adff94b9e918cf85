"""The comparison of noise levels that ``ballotine plan`` shows for assumed votes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ballotine.cli.console import console, warn
from ballotine.errors import DataError, ParameterError

if TYPE_CHECKING:
    from ballotine.privacy.guarantee import Budget
    from ballotine.voting import Mechanism
    from ballotine.voting.advice import Advice, NoiseRow
    from ballotine.voting.assumed import AssumedVotes

SIMULATED = (
    "votes are simulated from the assumed accuracies; real votes will differ, and may not be "
    "looked at to choose σ"
)
DECLARED = (
    "votes are those of the file, which you declare public. Votes of teachers that learned from "
    "private records are private, even on public queries: choosing σ by them leaks information "
    "that no ledger accounts for"
)
WHY = (
    "By exact costs, less noise can cost little more, or even less: where teachers agree, it makes "
    "the winner more certain, and the answer reveals less about any one record; only close votes "
    "reveal more."
)
PUBLISHED = (
    "The exact ε is an expectation, and private. Fixed mode publishes it with noise and a margin "
    "that fails with probability at most a tenth of δ. The published ε shown is at the median of "
    "that noise: half of the draws are above it."
)
MAX_READ = 20_000


@dataclass(frozen=True)
class Assumption:
    """Options about the assumed votes."""

    teachers: int | None
    classes: int | None
    teacher_accuracy: float | None
    plurality_accuracy: float | None
    public_votes: Path | None

    def votes(self) -> AssumedVotes:
        """Return the votes, simulated or read from the file."""
        from ballotine.cli.plan import CLASSES, TEACHERS
        from ballotine.voting.assumed import AssumedVotes

        if self.public_votes is None:
            if self.teacher_accuracy is None or self.plurality_accuracy is None:
                raise ParameterError("give --teacher-accuracy and --plurality-accuracy together")
            return AssumedVotes.simulated(
                self.teachers or TEACHERS,
                self.classes or CLASSES,
                self.teacher_accuracy,
                self.plurality_accuracy,
            )
        if (self.teacher_accuracy, self.plurality_accuracy) != (None, None):
            raise ParameterError("give accuracies or --public-votes, not both")
        found = self._read(self.public_votes)
        if self.teachers not in (None, found.teachers):
            raise DataError(
                f"the public votes are of {found.teachers} teachers, not {self.teachers}"
            )
        return found

    def _read(self, path: Path) -> AssumedVotes:
        import numpy as np

        from ballotine.data.ballots import open_votes, read_truth
        from ballotine.voting import GNMax, Tallies
        from ballotine.voting.assumed import AssumedVotes
        from ballotine.voting.saved import SavedVotes

        # Any mechanism for one class will do: it only determines the shape of the file.
        saved = SavedVotes.of(open_votes(path), GNMax(1.0), self.classes, queries=MAX_READ)
        ballots = np.concatenate([np.asarray(chunk) for chunk in saved.chunks()])
        truth = read_truth(path)
        if truth is not None:
            if len(truth) != saved.file.queries:
                raise DataError("the truth must be one class number per query")
            truth = truth[: len(ballots)]
        return AssumedVotes.public(Tallies.of(ballots, saved.classes), truth)


def advise(
    assumption: Assumption,
    queries: int,
    budget: Budget,
    kind: type[Mechanism],
    mode: str,
    given: dict[str, Any],
    *,
    as_json: bool,
) -> None:
    """Compare noise levels on the assumed votes and print the comparison."""
    from ballotine.ledger import Mode
    from ballotine.voting.advice import NoiseQuestion

    if mode not in (Mode.STRICT.value, Mode.FIXED.value):
        raise ParameterError(f"noise can be planned for strict or fixed mode, not {mode!r}")
    question = NoiseQuestion(assumption.votes(), queries, budget, kind, given)
    advice = question.advise(Mode(mode))
    public = question.votes.sampled
    if as_json:
        best = advice.recommended
        facts = {
            "mechanism": kind.name,
            "mode": mode,
            "queries": queries,
            "teachers": question.votes.teachers,
            "epsilon": budget.epsilon,
            "delta": budget.delta,
            "assumed": "public votes" if public else "simulated votes",
            "noises": [asdict(row) for row in advice.rows],
            "recommended": None if best is None else asdict(best),
        }
        typer.echo(json.dumps(facts, indent=2))
    else:
        console.print(f"{queries} queries within {budget}, in {mode} mode:", markup=False)
        _show(advice, budget, fixed=mode == Mode.FIXED.value, public=public)
    warn(f"assumed: {DECLARED if public else SIMULATED}")


def _show(advice: Advice, budget: Budget, *, fixed: bool, public: bool) -> None:
    from rich.table import Table

    table = Table(
        "",
        "σ",
        "answered",
        "wrong answers",
        "ε strict",
        "ε exact, expected",
        *(["ε published, expected"] if fixed else []),
        f"answers for ε = {budget.epsilon:g}: strict",
        "exact",
    )
    for row in advice.rows:
        table.add_row("→" if row == advice.recommended else "", *_cells(row, fixed=fixed))
    console.print(table)
    best = advice.recommended
    if best is None:
        console.print(
            "None of these keeps the budget: ask fewer queries, use more teachers, or allow a "
            "larger ε.",
            markup=False,
        )
    else:
        console.print(_recommendation(best, fixed=fixed), markup=False)
    if public:
        wrong = max(row.wrong_error for row in advice.rows)
        spent = max(advice.rows, key=lambda r: r.epsilon_error) if best is None else best
        console.print(
            f"Standard errors of the sample of votes: up to {100 * wrong:.1f} points of wrong "
            f"answers; {spent.epsilon_error:.2f} in the exact ε at σ = {spent.sigma:g}.",
            markup=False,
        )
    if fixed:
        console.print(WHY, markup=False)
        console.print(PUBLISHED, markup=False)


def _cells(row: NoiseRow, *, fixed: bool) -> list[str]:
    published = "–" if row.epsilon_published is None else f"{row.epsilon_published:.2f}"
    return [
        f"{row.sigma:g}",
        f"{row.answered:.0%}",
        f"{row.wrong:.1%}",
        f"{row.epsilon_strict:.2f}",
        f"{row.epsilon_exact:.2f}",
        *([published] if fixed else []),
        str(row.answers_strict),
        str(row.answers_exact),
    ]


def _recommendation(best: NoiseRow, *, fixed: bool) -> str:
    text = f"Recommended: σ = {best.sigma:g}"
    if best.threshold is not None:
        text += f", threshold = {best.threshold:g}, σ of the check = {best.sigma_threshold:g}"
    if not fixed:
        return f"{text}: the smallest noise whose strict ε keeps the budget."
    return (
        f"{text}: among noise levels whose published ε is expected to keep the budget, the "
        "cheapest whose error rate is within half a point of the lowest."
    )
