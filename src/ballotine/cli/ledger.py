"""``ballotine ledger``: look at, check and export a ledger."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ballotine.cli.console import console, plain
from ballotine.errors import LedgerError
from ballotine.files import write_atomic

if TYPE_CHECKING:
    from ballotine.ledger import Spending

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
        spending, runs = ledger.spending(), by_run(ledger)
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
            "runs": runs,
        }
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    console.print(
        f"promise {ledger.terms}; charged ε = {facts['charged_epsilon']:g}; {_holds(facts)}",
        markup=False,
        soft_wrap=True,
    )
    if len(facts["groups"]) > 1:
        view = Table("group", "budget ε", "charged ε", "holds ε")
        for group in facts["groups"]:
            numbers = [f"{group[k]:g}" for k in ("budget", "charged_epsilon", "guaranteed_epsilon")]
            view.add_row(plain(group["group"]), *numbers)
        console.print(view)
    columns = ["asked", "recorded", "answered", *(["rounds"] if facts["rounds"] else [])]
    table = Table("run", "first entry", *columns)
    for run in runs:
        numbers = [str(run[key]) for key in columns]
        table.add_row(plain(run["run"]), plain(run["first"]), *numbers)
    console.print(table)


@app.command()
def verify(
    path: LedgerPath,
    card: Annotated[
        Path | None,
        typer.Option(help="A privacy card (card.json) that was issued from this ledger."),
    ] = None,
) -> None:
    """Check the hash chain, every answer, the budget, and a card's anchor.

    With a card, a truncated ledger or an older copy put back in place is found too; the
    card.json next to the ledger is used when there is one.
    """
    from ballotine.ledger import Ledger, read_anchor
    from ballotine.ledger import verify as verify_ledger

    where = find(path)
    beside = (path if path.is_dir() else path.parent) / "card.json"
    card = card or (beside if beside.is_file() else None)
    with Ledger.existing(where) as ledger:
        found = verify_ledger(ledger, None if card is None else read_anchor(card))
    against = "and the card" if found.anchored else "(no card given: an old copy would pass)"
    console.print(
        f"✓ {found.entries} entries and {found.queries} queries fit the chain {against}",
        markup=False,
    )


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
        lines = [json.dumps(vars(entry), sort_keys=True) for entry in ledger.entries()]
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
    found = named or RunFolder(path).ledger
    if not found.is_file():
        raise LedgerError(f"{path} holds no ledger")
    return found


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
    from ballotine.privacy.guarantee import THIS_DATA_SET, round_up

    statement = facts["published"]
    text += f"; published {THIS_DATA_SET}: ε = {round_up(statement['epsilon']):g}"
    if "confidence" in statement:  # version 0.1
        return f"{text}, with probability {statement['confidence']:g} not too small"
    return text


def group_facts(spending: Spending) -> list[dict[str, Any]]:
    """Budget and charge of each group of records; one group when there is one budget."""
    from ballotine.privacy.guarantee import round_up

    return [
        {
            "group": name,
            "budget": account.budget.epsilon,
            "guaranteed_epsilon": round_up(account.guaranteed_epsilon()),
            "charged_epsilon": round_up(account.epsilon()),
            "filter_order": account.order,
        }
        for name, account in spending.accounts.items()
    ]


_NOTHING = {"asked": 0, "recorded": 0, "answered": 0, "rounds": 0}


def by_run(ledger: Any) -> list[dict[str, Any]]:
    """Totals per run, in the order of their first entry."""
    from ballotine.ledger.spending import charge_from

    runs: dict[str, dict[str, Any]] = {}
    for entry in ledger.entries():
        if entry.kind not in ("reserve", "record"):
            continue
        name = str(entry.payload["run"])
        totals = runs.setdefault(name, {"run": name, "first": entry.time, **_NOTHING})
        stored = entry.payload["events" if entry.kind == "reserve" else "reserved_as"]
        if charge_from(stored).is_training:
            # A round is counted once it is paid: whether its release was recorded or not.
            totals["rounds"] += entry.payload["queries"] if entry.kind == "reserve" else 0
        elif entry.kind == "reserve":
            totals["asked"] += entry.payload["queries"]
        else:
            totals["recorded"] += entry.payload["queries"]
            totals["answered"] += entry.payload["answered"]
    return list(runs.values())
