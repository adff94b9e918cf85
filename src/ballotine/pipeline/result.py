"""What a finished run knows about itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ballotine.data import Dataset
from ballotine.data.partition import Partition
from ballotine.ledger import Anchor, Ledger
from ballotine.pipeline.evaluation import Evaluation, LabelEvaluation
from ballotine.pipeline.folder import RunFolder
from ballotine.pipeline.group_spending import GroupSpending
from ballotine.pipeline.history import cost_history
from ballotine.pipeline.procedure import Procedure
from ballotine.pipeline.runfile import RunFile
from ballotine.privacy.guarantee import Guarantee
from ballotine.students import Student
from ballotine.voting import Answers


@dataclass(frozen=True)
class RunAccount:
    """What the ledger says about itself when the run ends.

    Attributes:
        anchor: where the ledger's chain stands.
        epsilon: what the answers given so far were charged: the meter.
        history: the meter after each batch, over all runs.
        runs: how many runs have spent from it.
        groups: what each group was promised and charged, with individual budgets.
        statement: the ε that was published in fixed mode, with its confidence.
    """

    anchor: Anchor
    epsilon: float
    history: list[dict[str, Any]]
    runs: int
    groups: tuple[GroupSpending, ...] = ()
    statement: dict[str, Any] | None = None

    @classmethod
    def of(cls, ledger: Ledger, groups: tuple[GroupSpending, ...]) -> RunAccount:
        """Read it from the ledger."""
        spending = ledger.spending()
        return cls(
            ledger.head(),
            spending.epsilon(),
            cost_history(ledger),
            len(spending.runs),
            groups,
            spending.statement,
        )


@dataclass
class RunResult:
    """What a finished run knows about itself; all but the holder's part may be shown.

    Attributes:
        warnings: for everybody, on the card too.
        holder_warnings: for the holder's terminal alone: they depend on private records.
        broken_teachers: whether the private folder tells of teachers that failed.
    """

    settings: RunFile
    folder: RunFolder
    dataset: Dataset = field(repr=False)
    procedure: Procedure
    partition: Partition = field(repr=False)
    answers: Answers
    student: Student
    guarantee: Guarantee
    account: RunAccount
    evaluation: Evaluation | LabelEvaluation | None = None
    label_accuracy: float | None = None
    ceiling: float | None = None
    warnings: tuple[str, ...] = ()
    holder_warnings: tuple[str, ...] = field(default=(), repr=False)
    broken_teachers: bool = False
