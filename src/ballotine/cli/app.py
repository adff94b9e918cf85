"""The command line: its commands, and how errors become one message and an exit code."""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
from typing import Annotated, NoReturn

import typer

from ballotine.cli import (
    account,
    audit,
    data,
    init,
    key,
    ledger,
    plan,
    report,
    run,
    verify,
    vote,
)
from ballotine.cli.console import complain
from ballotine.cli.mechanism_options import MechanismCommand, PlanCommand
from ballotine.cli.plugins import with_installed_commands
from ballotine.cli.signals import Commands, ending_on_signals
from ballotine.errors import BallotineError
from ballotine.version import __version__

EXIT_UNEXPECTED = 70
EXIT_DISK = 6

EPILOG = """
Exit codes: 0 success · 1 a claimed bound failed verification or an audit · 2 invalid command,
parameter, run file or key · 3 unusable data · 4 insufficient budget · 5 ledger locked, damaged or
edited, or a card that disagrees with it · 6 run folder, file or disk · 70 unexpected error ·
129, 130, 143 ended by SIGHUP, Ctrl-C, SIGTERM: nothing that was paid for is lost, no process is
left running, and a run can be continued with --resume.
"""

app = typer.Typer(
    name="ballotine",
    cls=Commands,
    help=(
        "Train on data you may not share, and release a model with a proven privacy "
        "guarantee.\n\nTeachers are trained on private records and vote on public rows. Only "
        "noisy answers are released, each charged to a ledger, and a student is trained on them. "
        "Start with: ballotine run"
    ),
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    # A traceback with local variables would print private records.
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ballotine {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options that come before a command."""


app.command("run", help=run.HELP)(run.run)
app.command("init", help=init.HELP)(init.init)
app.command("report", help=report.HELP)(report.report)
app.command("plan", cls=PlanCommand, help=plan.HELP)(plan.plan)
app.command("vote", cls=MechanismCommand, help=vote.HELP)(vote.vote)
app.command("account", cls=MechanismCommand, help=account.HELP)(account.account)
app.command("audit", cls=MechanismCommand, help=audit.HELP)(audit.audit)
app.command("verify", help=verify.HELP)(verify.verify)
app.add_typer(ledger.app, name="ledger")
app.add_typer(key.app, name="key")
app.add_typer(data.app, name="data")


def main() -> NoReturn:
    """Run the command line and end the process with a documented exit code."""
    _escape_unencodable_output()
    with ending_on_signals():
        _call()


def _escape_unencodable_output() -> None:
    """Escape characters that the output cannot encode (such as ε) instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _call() -> NoReturn:
    """Run the command; every error becomes one message and its exit code."""
    try:
        with_installed_commands(app)(prog_name="ballotine")
    except BallotineError as problem:
        complain(str(problem))
        sys.exit(problem.exit_code)
    except OSError as problem:
        if problem.errno == errno.ENOSPC:
            complain(
                "the disk is full: free some space and resume; nothing that was paid for is lost"
            )
            sys.exit(EXIT_DISK)
        if problem.strerror and isinstance(problem.filename, str):
            complain(f"{problem.filename} cannot be used: {problem.strerror}")
            sys.exit(EXIT_DISK)
        _unexpected(problem)
    except Exception as problem:
        _unexpected(problem)
    sys.exit(0)


def _unexpected(problem: Exception) -> NoReturn:
    """Report a bug; its message may contain private values, so it is shown only on request."""
    if os.environ.get("BALLOTINE_DEBUG"):
        traceback.print_exception(problem)
    else:
        complain(
            f"unexpected {type(problem).__name__}; set BALLOTINE_DEBUG=1 to see where "
            "(the details may contain private values)"
        )
    sys.exit(EXIT_UNEXPECTED)
