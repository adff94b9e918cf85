"""Checks that no spent budget is lost when processes are killed, by default 1,000 times.

``python -m experiments.kills`` prints the table of experiments/kills.md. Real processes vote and
run on synthetic data, are repeatedly killed by SIGKILL, and resume until they finish; after every
kill an independent judge checks what they left (tests/killing). The seed determines only the
kills, not the noise. With ``--results FILE`` an interrupted experiment can be resumed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

from tests.killing.judge import DEAD, SECOND, UNDER
from tests.killing.ordeal import Ordeal, Outcome, Usual
from tests.killing.scenarios import SCENARIOS

KILLS, PER_LEDGER = 1000, 12
# Modules that commands import lazily: importing them in the parent saves time in every child.
IMPORTED = (
    "ballotine.cli",
    "ballotine.pipeline",
    "ballotine.report",
    "ballotine.report.checking",
    "ballotine.report.receipt",
    "ballotine.voting.saved",
    "ballotine.voting.paper",
    "ballotine.teachers.ttac",
    "ballotine.neural",
)


def main() -> int:
    typed = _options().parse_args()
    for name in IMPORTED:
        importlib.import_module(name)
    outcomes = list(_earlier(typed.results))
    chosen = [SCENARIOS[name] for name in typed.scenarios]
    usual: dict[str, Usual] = {}
    with tempfile.TemporaryDirectory(prefix="kills-") as scratch:
        while (done := sum(outcome.kills for outcome in outcomes)) < typed.kills:
            number = len(outcomes)
            scenario = chosen[number % len(chosen)]
            if scenario.name not in usual:
                first = Ordeal(scenario, Path(scratch) / f"{scenario.name}-usual")
                usual[scenario.name] = first.usual()
                first.clear()
            ordeal = Ordeal(scenario, Path(scratch) / str(number))
            draw = random.Random(f"{typed.seed}/{scenario.name}/{number}")
            most = min(typed.per_ledger, typed.kills - done)
            outcome = ordeal.endure(draw, usual[scenario.name], most)
            outcomes.append(outcome)
            _keep(typed.results, outcome)
            _progress(outcomes, typed.kills)
            if outcome.faults and typed.keep is not None:
                ordeal.place.rename(typed.keep / f"{scenario.name}-{number}")
            else:
                ordeal.clear()
    return _report(outcomes)


def _options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(prog="python -m experiments.kills", description=__doc__)
    options.add_argument("--kills", type=int, default=KILLS)
    options.add_argument("--seed", type=int, default=0, help="of the choice of kills only")
    options.add_argument("--per-ledger", type=int, default=PER_LEDGER, help="kills at most")
    options.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    options.add_argument("--results", type=Path, help="keep outcomes here, and go on from there")
    options.add_argument("--keep", type=Path, help="existing folder for worlds with faults")
    return options


def _earlier(path: Path | None) -> Iterator[Outcome]:
    if path is None or not path.exists():
        return
    for line in path.read_text().splitlines():
        stored = json.loads(line)
        faults = [(kind, text) for kind, text in stored["faults"]]
        yield Outcome(stored["scenario"], Counter(stored["cuts"]), faults, stored["answers"])


def _keep(path: Path | None, outcome: Outcome) -> None:
    if path is not None:
        with path.open("a") as stream:
            stream.write(json.dumps(vars(outcome)) + "\n")


def _progress(outcomes: list[Outcome], wanted: int) -> None:
    last = outcomes[-1]
    kills, faults = sum(o.kills for o in outcomes), sum(len(o.faults) for o in outcomes)
    print(f"{kills:5} of {wanted} kills, {faults} faults; {last.scenario}", file=sys.stderr)
    for kind, text in last.faults:
        print(f"      {kind} in {last.scenario}: {text}", file=sys.stderr)


def _report(outcomes: list[Outcome]) -> int:
    aims = ("time", "moment", "commit", "started")
    print(f"| scenario | ledgers | answers | kills | {' | '.join(aims)} | faults |")
    print("|---|" + "---:|" * (len(aims) + 4))
    for name in SCENARIOS:
        own = [outcome for outcome in outcomes if outcome.scenario == name]
        if own:
            cuts = sum((outcome.cuts for outcome in own), Counter[str]())
            numbers = [len(own), sum(o.answers for o in own), cuts.total()]
            numbers += [cuts[aim] for aim in aims] + [sum(len(o.faults) for o in own)]
            print(f"| {name} | " + " | ".join(map(str, numbers)) + " |")
    found = Counter(kind for outcome in outcomes for kind, _ in outcome.faults)
    kills = sum(outcome.kills for outcome in outcomes)
    print(
        f"{kills} kills, {found[UNDER]} under-reports, {found[SECOND]} second answers, "
        f"{found[DEAD]} dead ends"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
