"""Many sequences: ``python -m tests.truth 20000``."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from tests.truth.cast import RECORDS
from tests.truth.sequences import run
from tests.truth.world import FalseClaimError

FIRST = 1_000_000
"""Other sequences than those of the suite."""
PROCESSES, TELL = 2, 500


def main() -> int:
    """Run, and say how many printed ε were too small."""
    parser = argparse.ArgumentParser(prog="python -m tests.truth", description=__doc__)
    parser.add_argument("sequences", type=int, nargs="?", default=500)
    parser.add_argument("--first", type=int, default=FIRST, help="the first seed")
    parser.add_argument("--show", type=int, default=1, help="so many examples of each kind")
    arguments = parser.parse_args()
    start, kinds, looked, refused = time.monotonic(), Counter[str](), 0, 0
    seeds = range(arguments.first, arguments.first + arguments.sequences)
    with ProcessPoolExecutor(PROCESSES) as pool:
        for done, found in enumerate(pool.map(_tried, seeds, chunksize=20), 1):
            if isinstance(found, str):
                kind = found[found.index("[") + 1 : found.index("]")]
                kinds[kind] += 1
                if kinds[kind] <= arguments.show:
                    print(found, end="\n\n", flush=True)
            else:
                looked, refused = looked + found[0], refused + found[1]
            if done % TELL == 0:
                print(f"{done} sequences, {kinds.total()} under-reports", flush=True)
    print(
        f"{arguments.sequences} sequences in {time.monotonic() - start:.0f} s: {kinds.total()} "
        f"under-reports; {looked} printed ε compared with {RECORDS} records each, {refused} "
        "refusals"
    )
    for kind, times in kinds.most_common():
        print(f"  {times:6d}  {kind}")
    return 1 if kinds else 0


def _tried(seed: int) -> tuple[int, int] | str:
    """How many ε were compared and how many steps refused, or what is false."""
    try:
        log = run(seed)
    except FalseClaimError as found:
        return str(found)
    return sum("→" in line for line in log), sum("Error" in line for line in log)


if __name__ == "__main__":
    sys.exit(main())
