"""``ballotine key``: the holder's key, which signs cards and receipts."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from ballotine.cli.console import console

app = typer.Typer(
    help="Make and show the holder's key, which signs privacy cards and receipts.",
    no_args_is_help=True,
)


@app.command()
def new(
    passphrase: Annotated[
        bool, typer.Option("--passphrase", "-p", help="Ask for a passphrase that protects it.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Make the holder's key; from then on every run and every vote is signed.

    It goes to `BALLOTINE_HOME`, or to `~/.config/ballotine`, readable by its owner alone.
    `BALLOTINE_KEY_PASSPHRASE`, where it is set, protects it without being asked for.
    """
    from ballotine.signing import PASSPHRASE, PUBLIC_NAME, key_path, new_key

    chosen = os.environ.get(PASSPHRASE) or None
    if chosen is None and passphrase:
        chosen = typer.prompt("passphrase", hide_input=True, confirmation_prompt=True)
    signer = new_key(chosen)
    if quiet:
        return
    guarded = "with a passphrase" if chosen else "without a passphrase"
    console.print(f"wrote {key_path()} ({guarded}) and {PUBLIC_NAME}", markup=False, soft_wrap=True)
    console.print(f"fingerprint: {signer.fingerprint}", markup=False, soft_wrap=True)
    console.print(
        "Give the fingerprint to those who will check your cards, by another way than the cards.",
        markup=False,
        soft_wrap=True,
    )


@app.command()
def show() -> None:
    """Print the public key and its fingerprint; the private one stays where it is."""
    from ballotine.signing import fingerprint_of, holder_public_key

    public = holder_public_key()
    typer.echo(public.decode("ascii").strip())
    typer.echo(f"fingerprint: {fingerprint_of(public)}")


def signed_with(fingerprint: str | None) -> str:
    """Who signed, or how to sign: for summaries."""
    if fingerprint is None:
        return "no; make a key once with: ballotine key new"
    return f"with the key {fingerprint[:19]}:…"


def ask_passphrase() -> str | None:
    """Ask for the key's passphrase, if there is somebody to ask."""
    if not sys.stdin.isatty():
        return None
    return str(typer.prompt("passphrase of the holder's key", hide_input=True, err=True))
