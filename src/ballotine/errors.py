"""The hierarchy of all errors that Ballotine raises on purpose.

Each class has the exit code of the command line and, where a caller may want to act on them,
the numbers behind the message. Messages say what is wrong and what to do; they never contain
private values (records, ballots, tallies).
"""

from __future__ import annotations


class BallotineError(Exception):
    """Base class: catch this to catch every error that Ballotine raises on purpose."""

    exit_code = 70


class ParameterError(BallotineError, ValueError):
    """A parameter is outside its domain (σ ≤ 0, δ outside (0, 1), orders ≤ 1, …)."""

    exit_code = 2


class RunFileError(ParameterError):
    """A run file does not parse, has an unknown key, or has a value of the wrong type."""


class MissingExtraError(ParameterError, ImportError):
    """What was asked for needs an optional dependency that is not installed."""


class DivergedError(BallotineError):
    """Training ended in numbers that are not finite."""

    exit_code = 2


class DataError(BallotineError, ValueError):
    """The data cannot be used as given: shapes, NaN, missing columns, too few records."""

    exit_code = 3


class DataUnavailableError(DataError):
    """A named data set is not available from any of its sources."""


class BudgetError(BallotineError):
    """The privacy budget does not allow the request."""

    exit_code = 4


class InsufficientBudgetError(BudgetError):
    """Answering would exceed the budget; the refusal itself spent nothing.

    Attributes:
        requested: the Rényi cost of the request, at the ledger's order.
        remaining: the Rényi cost that is left, at the same order.
    """

    def __init__(self, message: str, *, requested: float, remaining: float) -> None:
        super().__init__(message)
        self.requested = requested
        self.remaining = remaining


class AbstainedError(BudgetError):
    """The mechanism abstained on rows for which a class was required.

    Attributes:
        abstained: the number of rows without an answer (public).
    """

    def __init__(self, message: str, *, abstained: int) -> None:
        super().__init__(message)
        self.abstained = abstained


class LedgerError(BallotineError):
    """The ledger cannot be opened, read or written."""

    exit_code = 5


class LedgerBusyError(LedgerError):
    """Another process held the ledger's lock for longer than the time limit."""


class LedgerTamperedError(LedgerError):
    """The ledger's hash chain is broken, or it is older than a card that names it."""


class LedgerMismatchError(LedgerError):
    """The ledger belongs to another data set or was opened with another budget."""


class CardMismatchError(LedgerError):
    """A card or receipt contradicts the ledger, the files beside it or its signature."""


class UnknownEventError(LedgerError):
    """The ledger holds a privacy event that this version cannot price: fail closed."""


class HolderKeyError(BallotineError):
    """The holder's key is missing, exists already, cannot be read or needs a passphrase."""

    exit_code = 2


class RunFolderError(BallotineError):
    """A run folder exists already, is incomplete, or cannot be written."""

    exit_code = 6


class VerificationError(BallotineError):
    """A claimed bound was exceeded by an exact computation."""

    exit_code = 1
