"""Many sequences at once: ``python -m tests.truth 20000``."""

from __future__ import annotations

import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from tests.truth.sequences import walk

FIRST = 1_000_000  # other sequences than those of the suite


def main(number: int) -> int:
    """Walk so many sequences; returns how many printed an ε below somebody's truth."""
    start, happened, failed = time.monotonic(), Counter[str](), 0
    with ProcessPoolExecutor() as pool:
        for done, found in enumerate(pool.map(_safely, range(FIRST, FIRST + number), chunksize=20)):
            failed += isinstance(found, str)
            if isinstance(found, str):
                print(found, flush=True)
            else:
                happened.update(step.split(" ")[0] for step in found)
            if done % 500 == 499:
                print(f"{done + 1} sequences, {failed} under-reports", flush=True)
    seconds = time.monotonic() - start
    print(f"{number} sequences in {seconds:.0f} s: {failed} under-reports; {dict(happened)}")
    return failed


def _safely(seed: int) -> list[str] | str:
    try:
        return walk(seed)
    except AssertionError as problem:
        return f"seed {seed}: {problem}"


if __name__ == "__main__":
    sys.exit(min(1, main(int(sys.argv[1]))))
