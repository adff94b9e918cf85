"""The results of the embedded example with its default settings, over fresh seeds.

``python experiments/digits.py`` prints the table of experiments/digits.md.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from ballotine.pipeline import Run, RunFile, create_folder, embedded

FRESH = [101, 102, 103, 104, 105]
COLUMNS = ("seed", "answered", "abstained", "ε", "label accuracy", "student accuracy", "ceiling")


def one_run(seed: int, folder: Path) -> list[float]:
    settings = RunFile.parse(embedded("digits"), "the embedded example")
    settings = settings.with_changes(folder=folder, seed=seed)
    result = Run(settings, create_folder(settings)).execute()
    assert result.evaluation is not None
    assert result.label_accuracy is not None
    assert result.ceiling is not None
    return [
        int(result.answers.answered.sum()),
        int(result.answers.abstained.sum()),
        result.guarantee.epsilon,
        100 * result.label_accuracy,
        100 * result.evaluation.accuracy,
        100 * result.ceiling,
    ]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, nargs="+", default=FRESH)
    seeds = options.parse_args().seeds
    print("| " + " | ".join(COLUMNS) + " |")
    print("|" + "---:|" * len(COLUMNS))
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for seed in seeds:
            rows.append(one_run(seed, Path(scratch) / str(seed)))
            cells = [f"{value:g}" for value in np.round(rows[-1], 1)]
            print(f"| {seed} | " + " | ".join(cells) + " |")
    mean, spread = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1)
    cells = [f"{m:.1f} ± {s:.1f}" for m, s in zip(mean, spread, strict=True)]
    print("| mean ± sd | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
