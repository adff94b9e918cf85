"""``make fuzz``: many inputs, a line that says how far it is, and what was found."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from random import Random

from ballotine.teachers.worker import start_worker
from tests.fuzz.batch import Fault, batch
from tests.fuzz.inputs import TARGETS

BATCH = 100
SHOWN = 40


def main() -> int:
    """Judge as many inputs as were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--target", choices=TARGETS, help="only this one")
    given = parser.parse_args()
    wanted = {given.target: 1.0} if given.target else {n: s for n, (_, s) in TARGETS.items()}
    codes: Counter[int] = Counter()
    found: list[Fault] = []
    started = time.monotonic()
    parts = [
        (target, range(start, min(number, start + BATCH)))
        for target, share in wanted.items()
        for number in [round(share * given.count)]
        for start in range(0, number, BATCH)
    ]
    Random(given.seed).shuffle(parts)  # who stops early has seen something of everything
    with ProcessPoolExecutor(
        given.jobs,
        mp_context=get_context("spawn"),
        initializer=start_worker,  # nobody goes on when this process is gone
        initargs=(os.getpid(),),
    ) as pool:
        for future in as_completed(
            [pool.submit(batch, t, given.seed, part, watched=True) for t, part in parts]
        ):
            ended, faults = future.result()
            codes += ended
            for each in faults[: max(0, SHOWN - len(found))]:
                print(f"\n{each.target} {each.number}: {' '.join(each.arguments)[:200]!r}")
                print("\n".join(f"    {fault}" for fault in each.faults))
            found += faults
            rate = codes.total() / (time.monotonic() - started)
            line = f"\r{codes.total():,} inputs, {rate:.0f}/s, {len(found)} faults"
            print(line, end="", flush=True)
    print()
    every = [fault for each in found for fault in each.faults]
    burnt = sum(fault.startswith("budget burnt") for fault in every)
    tracebacks = sum(fault.startswith(("exit code", "a traceback")) for fault in every)
    shown = ", ".join(f"{code}: {number:,}" for code, number in sorted(codes.items()))
    print(f"exit codes: {shown}")
    print(
        f"{codes.total():,} inputs, {tracebacks} tracebacks, {burnt} budgets burnt, "
        f"{len(found)} faults (seed {given.seed}, {time.monotonic() - started:.0f} s)"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
