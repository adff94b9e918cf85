"""``ballotine vote``: answer saved votes through a ledger."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ballotine.cli import options
from ballotine.cli.console import RichProgress, console, warn
from ballotine.cli.votes import Typed
from ballotine.errors import ParameterError

if TYPE_CHECKING:
    from ballotine.privacy.guarantee import Guarantee
    from ballotine.voting import Answers
    from ballotine.voting.saved import Rule, SavedVotes

HELP = """Answer saved ballots or tallies through the ledger of their data set.

Every answer is paid for before its noise is drawn; asking the same file again returns the
stored answers and costs nothing. Modes: `strict` stops on the data-independent cost.
`fixed` asks `--queries` queries, decided beforehand, and publishes a smaller ε afterwards
through noise of its own (no `--epsilon`). `paper` stops on the data-dependent cost as papers
do; what it answers may not be released.

Example: `ballotine vote VOTES.npy -m gnmax --sigma 40 --epsilon 2 --delta 1e-5
--ledger L.sqlite --out answers.npz`
"""


def vote(
    votes: Annotated[Path, typer.Argument(help="File of ballots (or tallies).")],
    delta: options.Delta,
    epsilon: Annotated[
        float | None, typer.Option(help="ε of the budget (not in fixed mode).")
    ] = None,
    mode: Annotated[str, typer.Option(help="strict, fixed or paper.")] = "strict",
    ledger: Annotated[
        Path | None, typer.Option(help="The data set's ledger; created on first use.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the answers here (.npz).")] = None,
    mechanism: options.MechanismName = "confident-gnmax",
    sigma: options.Sigma = None,
    gamma: options.Gamma = None,
    threshold: options.Threshold = None,
    sigma_threshold: options.SigmaThreshold = None,
    tau: options.Tau = None,
    norm: options.NormName = None,
    variant: options.VariantName = None,
    queries: options.Queries = None,
    classes: options.Classes = None,
    tallies: options.IsTallies = False,
    labels: options.Labels = None,
    label_threshold: options.LabelThreshold = None,
    weights: options.GroupsFile = None,
    group_budgets: options.GroupBudgets = None,
    individual: options.Individual = "weighting",
    bounds: options.Bounds = "published",
    conversion: options.Conversion = "classic",
    seed: options.Seed = None,
    as_json: options.AsJson = False,
) -> None:
    """Answer saved votes through a ledger."""
    from ballotine.noise import source
    from ballotine.voting.saved import vote as answer

    parameters = {
        "sigma": sigma,
        "gamma": gamma,
        "threshold": threshold,
        "sigma_threshold": sigma_threshold,
        "tau": tau,
        "norm": norm,
        "variant": variant,
    }
    typed = Typed(
        votes,
        mechanism,
        parameters,
        delta,
        queries,
        classes,
        tallies,
        labels,
        label_threshold,
        weights,
        group_budgets,
        individual,
    )
    if out is not None and out.suffix != ".npz":  # before anything is spent
        raise ParameterError(f"answers are written as .npz, not {out.name!r}")
    rule, saved = _rule(typed, epsilon, mode, bounds, conversion)
    with RichProgress() as progress, progress.stage("answers", saved.number) as advance:
        answers, guarantee = answer(saved, rule, ledger, source(seed), advance)
    if out is not None:
        _write(out, answers, guarantee)
    if ledger is None:
        warn("no --ledger was named: this spending is not remembered, name one for real votes")
    if as_json:
        typer.echo(json.dumps(_facts(answers, guarantee), indent=2))
    else:
        _show(answers, guarantee)


def _rule(
    typed: Typed, epsilon: float | None, mode: str, bounds: str, conversion: str
) -> tuple[Rule, SavedVotes]:
    from ballotine.ledger import Mode
    from ballotine.privacy.guarantee import Budget
    from ballotine.voting.saved import Rule

    if mode not in set(Mode):
        raise ParameterError(f"unknown mode {mode!r}; choose {', '.join(Mode)}")
    if mode == Mode.FIXED and typed.queries is None:
        raise ParameterError("the fixed mode needs --queries, decided before looking at votes")
    mechanism = typed.rule()
    saved = typed.votes(mechanism)
    rule = Rule(
        mechanism,
        Mode(mode),
        typed.delta,
        None if epsilon is None else Budget(epsilon, typed.delta),
        typed.plan(mechanism, saved),
        bounds,  # type: ignore[arg-type]
        conversion,  # type: ignore[arg-type]
    )
    return rule, saved


def _facts(answers: Answers, guarantee: Guarantee) -> dict[str, Any]:
    return {
        **guarantee.to_dict(),
        "queries": int(answers.asked.sum()),
        "answered": int(answers.answered.sum()),
        "pool": len(answers),
    }


def _show(answers: Answers, guarantee: Guarantee) -> None:
    console.print(
        f"{int(answers.asked.sum())} of {len(answers)} queries asked, "
        f"{int(answers.answered.sum())} answered",
        markup=False,
    )
    console.print(str(guarantee), markup=False, soft_wrap=True)


def _write(path: Path, answers: Answers, guarantee: Guarantee) -> None:
    """The answers (−1 abstained, −2 not asked) and the guarantee they come with."""
    import numpy as np

    from ballotine.files import produce_atomic

    text = json.dumps(guarantee.to_dict(), ensure_ascii=False)
    produce_atomic(
        path,
        lambda stream: np.savez(stream, answers=answers.labels, guarantee=np.array(text)),
    )
