"""Every error Ballotine raises on purpose, in one tree.

Each class carries the exit code the command line ends with, and, where a caller
may want to act on it, the numbers behind the sentence. Messages say what is wrong
and what to do; they never contain private values (records, ballots, tallies).
"""

from __future__ import annotations


class BallotineError(Exception):
    """Root of the tree: catch this to catch everything Ballotine means to say."""

    exit_code = 70


class ParameterError(BallotineError, ValueError):
    """A parameter is outside its domain (σ ≤ 0, δ outside (0, 1), orders ≤ 1, …)."""

    exit_code = 2


class RunFileError(ParameterError):
    """A run file does not parse, has an unknown key or a value of the wrong kind."""


class MissingExtraError(ParameterError, ImportError):
    """What was asked for needs an optional dependency that is not installed."""


class DivergedError(BallotineError):
    """Training ended in numbers that are not finite."""

    exit_code = 2


class DataError(BallotineError, ValueError):
    """The data cannot be used as given: shapes, NaN, missing columns, too few records."""

    exit_code = 3


class DataUnavailableError(DataError):
    """A named data set could not be had from any of its sources."""


class BudgetError(BallotineError):
    """The privacy budget does not allow what was asked."""

    exit_code = 4


class InsufficientBudgetError(BudgetError):
    """Answering would exceed the budget; nothing was spent by the refusal.

    Attributes:
        requested: Rényi cost of what was asked, at the ledger's order.
        remaining: Rényi cost that is left, at the same order.
    """

    def __init__(self, message: str, *, requested: float, remaining: float) -> None:
        super().__init__(message)
        self.requested = requested
        self.remaining = remaining


class AbstainedError(BudgetError):
    """The mechanism abstained on rows for which a class was demanded.

    Attributes:
        abstained: how many of the rows have no answer (a public number).
    """

    def __init__(self, message: str, *, abstained: int) -> None:
        super().__init__(message)
        self.abstained = abstained


class LedgerError(BallotineError):
    """The ledger cannot be opened, read or written as it should be."""

    exit_code = 5


class LedgerBusyError(LedgerError):
    """Another process holds the ledger for longer than we are willing to wait."""


class LedgerTamperedError(LedgerError):
    """The ledger's hash chain is broken, or it is older than a card that names it."""


class LedgerMismatchError(LedgerError):
    """The ledger belongs to another data set or was opened with another budget."""


class CardMismatchError(LedgerError):
    """A card or receipt is not what the ledger, the files beside it or its signature say."""


class UnknownEventError(LedgerError):
    """The ledger holds a privacy event this version cannot price: fail closed."""


class HolderKeyError(BallotineError):
    """The holder's key is missing, is there already, cannot be read or wants a passphrase."""

    exit_code = 2


class RunFolderError(BallotineError):
    """A run folder exists already, is missing a part, or cannot be written."""

    exit_code = 6


class VerificationError(BallotineError):
    """A claimed bound was exceeded by an exact computation."""

    exit_code = 1
