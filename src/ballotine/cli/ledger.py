"""``ballotine ledger``: show, verify and export a ledger."""

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
    help="Show, verify and export the ledger of a data set. None of these commands spends budget.",
    no_args_is_help=True,
)
LedgerPath = Annotated[Path, typer.Argument(help="The ledger, or a run's folder.")]


@app.command()
def show(
    path: LedgerPath,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the budget, what is spent, and the runs that spent it."""
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
        text = "some answers have seeded noise: whoever knows the seed can remove it"
        console.print(text, markup=False, soft_wrap=True)
    if len(facts["groups"]) > 1:
        view = Table("group", "budget ε", "charged ε", "guaranteed ε")
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
        typer.Option(help="A privacy card (card.json) or a receipt of this ledger."),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(help="Fingerprint of the key that must have signed it."),
    ] = None,
) -> None:
    """Check the hash chain, every answer and the budget, and compare a card or receipt with them.

    With a card, this also detects a truncated ledger or an older copy, and a card whose ε, δ,
    counts, answers or student differ from the ledger. The card.json next to the ledger is used if
    there is one. With `--key`, it also detects a card that is unsigned or signed by somebody else:
    get the fingerprint from the holder, not from where you got the card.
    """
    from ballotine.ledger import Ledger
    from ballotine.ledger import verify as verify_ledger
    from ballotine.signing import read_fingerprint

    where, wanted = find(path), None if key is None else read_fingerprint(key)
    beside = (path if path.is_dir() else path.parent) / "card.json"
    card = card or (beside if beside.is_file() else None)
    if card is None and wanted is not None:
        raise ParameterError("--key needs a signed card or receipt: name it with --card")
    with Ledger.existing(where) as ledger:
        if card is None:
            _print_verified(
                verify_ledger(ledger), "(without a card, an old copy would not be detected)"
            )
        else:
            _check_card(card, ledger, wanted)


def _check_card(card: Path, ledger: Ledger, key: str | None) -> None:
    from ballotine.report.checking import check_statement

    found = check_statement(card, ledger, key)
    _print_verified(found.ledger, f"and the {found.name}")
    for line in found.held:
        console.print(f"✓ {line}", markup=False, soft_wrap=True)
    for line in found.warnings:
        warn(line)


def _print_verified(found: Verified, against: str) -> None:
    console.print(
        f"✓ {found.entries} entries and {found.queries} queries match the hash chain {against}",
        markup=False,
    )


@app.command()
def void(
    path: LedgerPath,
    why: Annotated[str, typer.Option(help="The reason, recorded in the ledger.")],
) -> None:
    """Give up reservations of sessions that ended normally before any noise was drawn.

    Their cost is returned to the budget, and no answer to them is accepted any more. Reservations
    of sessions that were killed stay charged: they may have drawn noise.
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
        Path | None, typer.Option("--out", "-o", help="Write to this file instead of printing.")
    ] = None,
) -> None:
    """Export all entries as JSON lines, for archives and auditors.

    The salt that links the ledger to the private records is not exported.
    """
    from ballotine.ledger import Ledger

    with Ledger.existing(find(path)) as ledger:
        lines = [json.dumps(entry.to_dict(), sort_keys=True) for entry in ledger.entries()]
    if out is None:
        typer.echo("\n".join(lines))
    else:
        write_atomic(out, "\n".join(lines) + "\n", private=True)


def find(path: Path) -> Path:
    """The path of a ledger: the path itself, or that of the ledger of a run's folder."""
    if not path.is_dir():
        return path
    from ballotine.pipeline import RunFolder, open_folder

    named = open_folder(path)[1].budget.ledger if (path / "run.toml").is_file() else None
    return named or RunFolder(path).ledger


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"


def _finite(epsilon: float) -> float | None:
    from ballotine.privacy.guarantee import round_up

    return round_up(epsilon) if math.isfinite(epsilon) else None


def _holds(facts: dict[str, Any]) -> str:
    """The guarantee of the ledger, in one phrase."""
    if facts["guaranteed_epsilon"] is None:
        return "nothing is guaranteed: a private number decided when to stop (paper mode)"
    text = f"guaranteed: ε = {facts['guaranteed_epsilon']:g}"
    if facts["published"] is None:
        return text
    if facts["published"].get("unbound"):
        return f"{text}; the ε that version 0.1 published does not say which queries it covers"
    from ballotine.privacy.guarantee import THIS_DATA_SET, round_up

    epsilon = facts["published"]["epsilon"]
    return f"{text}; published {THIS_DATA_SET}: ε = {round_up(epsilon):g}"


def group_facts(spending: Spending) -> list[dict[str, Any]]:
    """Budget and charge of each group of records; a single group without individual budgets."""
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
