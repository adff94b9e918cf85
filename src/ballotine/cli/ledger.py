"""``ballotine ledger``: look at, check and export a ledger."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ballotine.cli.console import console, plain, warn
from ballotine.errors import ParameterError
from ballotine.files import write_atomic

if TYPE_CHECKING:
    from ballotine.ledger import Ledger, Spending, Verified

app = typer.Typer(
    help="Look at, check and export the ledger of a data set. Nothing here spends anything.",
    no_args_is_help=True,
)
LedgerPath = Annotated[Path, typer.Argument(help="The ledger, or a run's folder.")]


@app.command()
def show(
    path: LedgerPath,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the promise, what is spent, and the runs that spent it."""
    from rich.table import Table

    from ballotine.ledger import Ledger
    from ballotine.privacy.guarantee import round_up

    with Ledger.existing(find(path)) as ledger:
        spending = ledger.spending()
        facts: dict[str, Any] = {
            "ledger": ledger.identity,
            "budget": {"epsilon": ledger.budget.epsilon, "delta": ledger.budget.delta},
            "guaranteed_epsilon": _finite(spending.guaranteed_epsilon()),
            "charged_epsilon": round_up(spending.epsilon()),
            "queries": spending.recorded,
            "answered": spending.answered,
            "rounds": spending.rounds,
            "pending": spending.pending,
            "mode": ledger.terms.mode.value,
            "groups": group_facts(spending),
            "published": spending.statement,
            "head": {"seq": ledger.head().seq, "hash": ledger.head().hash},
            "refused": spending.refused,
            "void": spending.void,
            "doubted": spending.doubted or None,
            "seeded": spending.seeded,
            "runs": list(spending.runs.values()),
        }
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    console.print(
        f"promise {ledger.terms}; charged ε = {facts['charged_epsilon']:g}; {_holds(facts)}",
        markup=False,
        soft_wrap=True,
    )
    if facts["doubted"]:
        console.print(f"note: {facts['doubted']}", markup=False, soft_wrap=True)
    if facts["seeded"]:
        text = "seeded noise answered some of this: who knows the seed can remove it"
        console.print(text, markup=False, soft_wrap=True)
    if len(facts["groups"]) > 1:
        view = Table("group", "budget ε", "charged ε", "holds ε")
        for group in facts["groups"]:
            numbers = [
                _number(group[k]) for k in ("budget", "charged_epsilon", "guaranteed_epsilon")
            ]
            view.add_row(plain(group["group"]), *numbers)
        console.print(view)
    columns = ["asked", "recorded", "answered", *(["rounds"] if facts["rounds"] else [])]
    table = Table("run", "first entry", *columns)
    for run in facts["runs"]:
        numbers = [str(run[key]) for key in columns]
        table.add_row(plain(run["run"]), plain(run["first"]), *numbers)
    console.print(table)


@app.command()
def verify(
    path: LedgerPath,
    card: Annotated[
        Path | None,
        typer.Option(help="A privacy card (card.json) or a receipt that came from this ledger."),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(help="Fingerprint of the key that must have signed it, known from elsewhere."),
    ] = None,
) -> None:
    """Check the hash chain, every answer and the budget; and a card or a receipt against them.

    With a card, a truncated ledger or an older copy put back in place is found too, and so is
    a card whose ε, δ, counts, answers or student are not those of the ledger. The card.json
    next to the ledger is used when there is one. With `--key`, so is a card that somebody else
    signed, or nobody.
    """
    from ballotine.ledger import Ledger
    from ballotine.ledger import verify as verify_ledger
    from ballotine.signing import read_fingerprint

    where, wanted = find(path), None if key is None else read_fingerprint(key)
    beside = (path if path.is_dir() else path.parent) / "card.json"
    card = card or (beside if beside.is_file() else None)
    if card is None and wanted is not None:
        raise ParameterError("--key is about a signed card or receipt: name it with --card")
    with Ledger.existing(where) as ledger:
        if card is None:
            _tell(verify_ledger(ledger), "(no card given: an old copy would pass)")
        else:
            _check_card(card, ledger, wanted)


def _check_card(card: Path, ledger: Ledger, key: str | None) -> None:
    from ballotine.report.checking import check_statement

    found = check_statement(card, ledger, key)
    _tell(found.ledger, f"and the {found.name}")
    for line in found.held:
        console.print(f"✓ {line}", markup=False, soft_wrap=True)
    for line in found.warnings:
        warn(line)


def _tell(found: Verified, against: str) -> None:
    console.print(
        f"✓ {found.entries} entries and {found.queries} queries fit the chain {against}",
        markup=False,
    )


@app.command()
def void(
    path: LedgerPath,
    why: Annotated[str, typer.Option(help="The reason, for whoever reads the ledger later.")],
) -> None:
    """Give up reservations of sessions that ended in order before any noise was drawn.

    Their cost is free again, and no answer to them is accepted any more. Reservations of
    sessions that were killed stay charged: nobody knows what they had drawn.
    """
    from ballotine.ledger import Ledger

    with Ledger.existing(find(path), write=True) as ledger:
        number, pending = ledger.void(why), ledger.spending().pending
    left = f"; {pending} others stay charged" if pending else ""
    console.print(f"{number} reservations given up{left}", markup=False)


@app.command()
def export(
    path: LedgerPath,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write here instead of printing.")
    ] = None,
) -> None:
    """Export all entries as JSON lines, for archives and auditors.

    The salt that ties the ledger to the private records stays behind.
    """
    from ballotine.ledger import Ledger

    with Ledger.existing(find(path)) as ledger:
        lines = [json.dumps(entry.to_dict(), sort_keys=True) for entry in ledger.entries()]
    if out is None:
        typer.echo("\n".join(lines))
    else:
        write_atomic(out, "\n".join(lines) + "\n", private=True)


def find(path: Path) -> Path:
    """The ledger itself, or the one in a run's folder."""
    if not path.is_dir():
        return path
    from ballotine.pipeline import RunFolder, open_folder

    named = open_folder(path)[1].budget.ledger if (path / "run.toml").is_file() else None
    return named or RunFolder(path).ledger


def _number(value: float | None) -> str:
    return "nothing" if value is None else f"{value:g}"


def _finite(epsilon: float) -> float | None:
    from ballotine.privacy.guarantee import round_up

    return round_up(epsilon) if math.isfinite(epsilon) else None


def _holds(facts: dict[str, Any]) -> str:
    """What may be said about the ledger, in one phrase."""
    if facts["guaranteed_epsilon"] is None:
        return "nothing holds: a private number decided when to stop (paper mode)"
    text = f"holds: ε = {facts['guaranteed_epsilon']:g}"
    if facts["published"] is None:
        return text
    if facts["published"].get("unbound"):
        return f"{text}; what version 0.1 published does not say which queries it is about"
    from ballotine.privacy.guarantee import THIS_DATA_SET, round_up

    epsilon = facts["published"]["epsilon"]
    return f"{text}; published {THIS_DATA_SET}: ε = {round_up(epsilon):g}"


def group_facts(spending: Spending) -> list[dict[str, Any]]:
    """Budget and charge of each group of records; one group when there is one budget."""
    from ballotine.privacy.guarantee import round_up

    return [
        {
            "group": name,
            "budget": account.budget.epsilon,
            "guaranteed_epsilon": _finite(spending.guaranteed()[name]),
            "charged_epsilon": round_up(account.epsilon()),
            "filter_order": account.order,
        }
        for name, account in spending.accounts.items()
    ]
