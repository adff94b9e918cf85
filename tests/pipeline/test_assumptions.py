"""What a run's guarantee says that it rests on."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ballotine.pipeline import Run, RunFile, create_folder
from ballotine.pipeline.assumptions import PREPARED_ELSEWHERE
from ballotine.privacy.guarantee import Guarantee, Kind
from tests.conftest import RUNFILE


def promised(folder: Path, text: str) -> Guarantee:
    (folder / "run.toml").write_text(text)
    settings = RunFile.load(folder / "run.toml")
    return Run(settings, create_folder(settings)).execute().guarantee


def test_arrays_that_were_prepared_elsewhere_are_an_assumption_of_a_run(table: Path) -> None:
    """Nobody knows whose statistics scaled them; of a table the run knows it itself."""
    assert PREPARED_ELSEWHERE not in promised(table, RUNFILE).assumptions
    draw = np.random.default_rng(0)
    X = draw.normal(size=(800, 4))
    y = (X.sum(axis=1) > 0).astype(np.int64)
    np.savez(table / "private.npz", X=X[:600], y=y[:600])
    np.save(table / "public.npy", X[600:])
    text = RUNFILE.replace("private.csv", "private.npz").replace("public.csv", "public.npy")
    for line in ('test = "test.csv"\n', 'target = "label"\n'):
        text = text.replace(line, "")
    text = text.replace('"out"', '"arrays"').replace("private.ledger", "arrays.ledger")
    guarantee = promised(table, text)
    assert PREPARED_ELSEWHERE in guarantee.assumptions
    assert guarantee.kind is Kind.CONDITIONAL
