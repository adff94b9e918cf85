"""Your own table: a schema, a ledger that belongs to the records, and two runs on them.

    python examples/own_table.py [FOLDER]

The patients are synthetic. The files go to FOLDER, which must not exist yet, or to a new temporary
folder. docs/tutorial.md does the same from the command line, step by step.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from pathlib import Path

import numpy as np

from ballotine import Ledger
from ballotine.pipeline import Run, RunFile, create_folder
from ballotine.report import build_card, write_card

COLUMNS = ["age", "sex", "smoker", "pressure", "readmitted"]


def write_patients(path: Path, rows: int, seed: int, *, labelled: bool = True) -> None:
    """Write made-up patients; some were never measured."""
    shown = len(COLUMNS) if labelled else len(COLUMNS) - 1
    rng = np.random.default_rng(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS[:shown])
        for _ in range(rows):
            age, pressure = rng.integers(18, 95), round(rng.normal(130, 20), 1)
            sex, smoker = rng.choice(["female", "male"]), rng.choice(["never", "former", "current"])
            risk = (age - 55) / 12 + (pressure - 130) / 20 + 1.5 * (smoker == "current")
            readmitted = "yes" if risk + rng.logistic(0, 0.5) > 0.5 else "no"
            measured = "" if rng.random() < 0.05 else pressure
            table.writerow([age, sex, smoker, measured, readmitted][:shown])


SCHEMA = """\
target = "readmitted"
classes = ["no", "yes"]

[columns.age]
low = 18
high = 100

[columns.sex]
levels = ["female", "male"]

[columns.smoker]
levels = ["never", "former", "current"]

[columns.pressure]
low = 60
high = 220
missing = 130
"""

FIRST = """\
[run]
name = "first"

[data]
private = "private.csv"
public = "public.csv"
test = "test.csv"
schema = "schema.toml"

[teachers]
number = 200
kind = "naive-bayes"
jobs = 1

[voting]
mechanism = "confident-gnmax"
sigma = 40.0
threshold = 140.0
sigma_threshold = 60.0
max_queries = 200

[budget]
epsilon = 2.0
delta = 1e-5
ledger = "patients.ledger.sqlite"

[student]
kind = "logistic-regression"

[report]
title = "Readmission, privately"
holder = "St. Somewhere Hospital"
"""

# A later run: other teachers, and as many queries as the budget still allows.
SECOND = (
    FIRST.replace('name = "first"', 'name = "second"')
    .replace('kind = "naive-bayes"', 'kind = "discriminant-analysis"')
    .replace("max_queries = 200\n", "")
)


def write_files(folder: Path) -> None:
    """Write everything a holder would have before the first run."""
    folder.mkdir(parents=True, exist_ok=False)
    write_patients(folder / "private.csv", 6000, seed=1)
    write_patients(folder / "public.csv", 800, seed=2, labelled=False)
    write_patients(folder / "test.csv", 400, seed=3)
    for name, text in (("schema", SCHEMA), ("first", FIRST), ("second", SECOND)):
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")


def execute(runfile: Path) -> None:
    """Execute one run as ``ballotine run`` does, with its results beside the run file."""
    settings = RunFile.load(runfile).with_changes(folder=runfile.with_suffix(""), seed=None)
    place = create_folder(settings)
    result = Run(settings, place).execute()
    write_card(place, build_card(result))
    answers, evaluation = result.answers, result.evaluation
    assert evaluation is not None
    print(f"--- {settings.run.name}: {place.report}")
    print(f"{answers.answered.sum()} answers, {answers.abstained.sum()} abstentions")
    print(f"the student gets {evaluation.accuracy:.0%} of {evaluation.rows} test rows right")
    print(result.guarantee)


def main() -> None:
    """Write the files, execute both runs, and inspect the ledger they share."""
    given = sys.argv[1:]
    folder = Path(given[0]) if given else Path(tempfile.mkdtemp()) / "patients"
    write_files(folder)
    execute(folder / "first.toml")
    execute(folder / "second.toml")
    with Ledger.existing(folder / "patients.ledger.sqlite") as ledger:
        spending = ledger.spending()
        print(f"--- both runs: {spending.recorded} queries, charged ε = {spending.epsilon():.3f}")
        print(f"the ceiling for these records, now and ever: {ledger.budget}")


if __name__ == "__main__":
    main()
