"""The result of a run."""

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
    """The state of the ledger when the run ends.

    Attributes:
        anchor: the ledger's number of entries and last hash.
        epsilon: the ε charged so far: the meter.
        history: the meter after each batch, over all runs.
        runs: how many runs the ledger has paid for.
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
        """Read the state from the ledger."""
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
    """The result of a finished run. `ballotine.report.build_card` selects what may be shown.

    Attributes:
        warnings: public; also on the card.
        holder_warnings: for the holder's terminal only: they depend on private records.
        broken_teachers: whether some teachers failed; the private folder says why.
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
