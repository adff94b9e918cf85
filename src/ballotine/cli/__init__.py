"""The command line: ``ballotine``."""

from ballotine.cli.app import app, main

__all__ = ["app", "main"]
