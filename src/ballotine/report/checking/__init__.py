"""Checking a card or a receipt against its ledger, the files beside it and its signature."""

from ballotine.report.checking.check import Checked, check_statement

__all__ = ["Checked", "check_statement"]
