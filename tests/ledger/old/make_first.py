"""A ledger with the first schema, as it was before groups of records had budgets.

    PYTHONPATH=CHECKOUT/src python tests/ledger/old/make_first.py tests/ledger/old

CHECKOUT holds commit 9ffa09d.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np

from ballotine.privacy.events import GaussianArgmax
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.ledger import Ledger

EVENT = GaussianArgmax(20.0, 3)


def main(folder: Path) -> None:
    path = folder / "first.sqlite"
    for file in folder.glob(f"{path.name}*"):
        file.unlink()
    ids = [hashlib.sha256(b"row %d" % number).digest() for number in range(25)]
    with Ledger.open(path, Budget(4.0, 1e-5)) as ledger:
        ledger.reserve(ids, (EVENT,), run="first")
        answers = np.arange(20) % 3
        ledger.record(ids[:20], answers, (EVENT,), lambda given: Counter({EVENT: len(given)}))
        spending = ledger.spending()
        said = {
            "answers": {query.hex(): answer for query, answer in ledger.lookup(ids).items()},
            "epsilon": {"everyone": spending.epsilon()},
            "guaranteed": spending.guaranteed_epsilon(),
            "pending": sorted(query.hex() for query in ledger.pending(ids)),
        }
    (folder / "said_first.json").write_text(json.dumps(said, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
