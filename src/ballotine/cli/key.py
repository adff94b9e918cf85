"""``ballotine key``: the holder's key, with which cards and receipts are signed."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from ballotine.cli.console import console

app = typer.Typer(
    help="Create and show the holder's key, which signs privacy cards and receipts.",
    no_args_is_help=True,
)


@app.command()
def new(
    passphrase: Annotated[
        bool, typer.Option("--passphrase", "-p", help="Ask for a passphrase to protect the key.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Create the holder's key; from then on every run and every vote is signed.

    It is written to `BALLOTINE_HOME`, or to `~/.config/ballotine`, readable by its owner only.
    If `BALLOTINE_KEY_PASSPHRASE` is set, that passphrase protects it, without a prompt.
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
        "Give the fingerprint to those who will check your cards, but not together with the cards.",
        markup=False,
        soft_wrap=True,
    )


@app.command()
def show() -> None:
    """Print the public key and its fingerprint; the private key is not shown."""
    from ballotine.signing import fingerprint_of, holder_public_key

    public = holder_public_key()
    typer.echo(public.decode("ascii").strip())
    typer.echo(f"fingerprint: {fingerprint_of(public)}")


def signed_with(fingerprint: str | None) -> str:
    """A summary line: which key signed, or how to create one."""
    if fingerprint is None:
        return "no; create a key once with: ballotine key new"
    return f"with the key {fingerprint[:19]}:…"


def ask_passphrase() -> str | None:
    """Ask for the key's passphrase, if there is a terminal."""
    if not sys.stdin.isatty():
        return None
    return str(typer.prompt("passphrase of the holder's key", hide_input=True, err=True))
