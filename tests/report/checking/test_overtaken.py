"""Cards of runs whose ledger other runs write to meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ballotine.ledger import Ledger
from ballotine.pipeline import Run, RunFile, create_folder
from ballotine.pipeline.folder import close_log
from ballotine.pipeline.history import cost_history
from ballotine.privacy.events import GaussianArgmax
from ballotine.report import build_card, write_card
from ballotine.report.checking import check_statement
from tests.ledger.conftest import BUDGET, answer, bound, queries

ARGMAX = (GaussianArgmax(20.0, 3),)


def test_the_history_ends_where_the_ledger_stands() -> None:
    ledger = Ledger.open(None, BUDGET)
    answer(ledger, 10)
    recorded = cost_history(ledger)[-1]
    ledger.reserve(queries(3, start=50), bound(ARGMAX))
    last = cost_history(ledger)[-1]
    assert last == {"asked": 10, "answered": 10, "epsilon": ledger.spending().epsilon()}
    assert last["epsilon"] > recorded["epsilon"]


class Overtaken(Run):
    """A run during whose last stage another process reserves queries, and is killed."""

    def _distill(self, *stage: Any) -> Any:
        with Ledger.existing(self.settings.budget.ledger or "", write=True) as other:
            other.reserve(queries(3), bound(ARGMAX))
        return super()._distill(*stage)


def test_a_card_holds_when_others_reserve_after_the_last_answer(table: Path) -> None:
    text = (table / "run.toml").read_text().replace("epsilon = 6.0", "epsilon = 60.0")
    (table / "run.toml").write_text(text)
    settings = RunFile.load(table / "run.toml")
    folder = create_folder(settings)
    write_card(folder, build_card(Overtaken(settings, folder).execute()))
    close_log()
    with Ledger.existing(table / "private.ledger.sqlite") as ledger:
        assert ledger.spending().pending == 3
        check_statement(folder.card, ledger, None)
