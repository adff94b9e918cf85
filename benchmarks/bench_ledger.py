"""Opening and verifying long ledgers, and the throughput of queries.

    python benchmarks/bench_ledger.py [--entries 1000000] [--accounts 1] [--old CHECKOUT]

Writes a ledger with this many entries, by this many ensembles in turn, and prints how much faster
it opens from its newest checkpoint than by a full replay, how many entries per second `verify`
checks, and its memory. Then answers queries in batches of 8192, 64 and 1, with two disk writes per
batch; given a checkout of version 0.1, also with that version, alternating, and prints the ratio.

All times but throughput are CPU times; each measurement has its own process. Exits with 1 if a
ledger of a million entries takes 2 s to open, if verify checks fewer than 30,000 entries per
second or takes 300 MB, or if throughput is below nine tenths of version 0.1.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from ballotine.ledger import Charge, Ledger, Spending, entries
from ballotine.ledger.answers import encode_answer
from ballotine.ledger.binding import Binding, reservation_digest
from ballotine.ledger.entries import Anchor
from ballotine.ledger.payloads import released_to_json
from ballotine.ledger.store import Query, Transaction
from ballotine.ledger.writer import CHECKPOINT_INTERVAL
from ballotine.privacy.guarantee import Budget
from ballotine.types import ABSTAIN
from ballotine.voting import ConfidentGNMax

CLASSES = 10
MECHANISM = ConfidentGNMax(40.0, threshold=200.0, sigma_threshold=150.0)
BUDGET = Budget(1e6, 1e-5)
BLOCK = 2000
BATCHES = ((8192, 5), (64, 120), (1, 300))
OPEN_SECONDS, VERIFY_RATE, VERIFY_MEGABYTES, FALL = 2.0, 30_000, 300, 0.9

MEASURE = """
import pathlib, re, sys, time
from ballotine.ledger import Ledger, Spending, verify
path, what = sys.argv[1:]
start = time.process_time()
with Ledger.existing(path) as ledger:
    if what == "verify":
        start = time.process_time()
        verify(ledger)
    elif what == "replay":
        start = time.process_time()
        found = ledger.entries()
        spending = Spending.begin(next(found))
        for entry in found:
            spending.apply(entry)
        assert spending.to_state() == ledger.spending().to_state()
    else:
        ledger.spending()
used = time.process_time() - start
status = pathlib.Path("/proc/self/status").read_text()
print(used, int(re.search(r"VmHWM:\\s*(\\d+)", status)[1]) / 1024)
"""

THROUGH = """
import hashlib, os, sys, tempfile, time
import numpy as np
from ballotine.noise import SecureNoise
from ballotine.privacy.guarantee import Budget
from ballotine.voting import ConfidentGNMax, Tallies
size, times = int(sys.argv[1]), int(sys.argv[2])
mechanism = ConfidentGNMax(40.0, threshold=200.0, sigma_threshold=150.0)
keys = [hashlib.sha256(b"%d" % n).digest() for n in range(size * times)]
votes = np.tile([210.0, 30.0, 10.0] + [0.0] * 7, (len(keys), 1))
budget = Budget(1e6, 1e-5)
path = os.path.join(tempfile.mkdtemp(dir=sys.argv[3]), "ledger.sqlite")
try:
    from ballotine.ledger import Ledger
    from ballotine.voting import Plan, Rules, Session
except ImportError:  # version 0.1
    from ballotine.privacy.ledger import Ledger
    from ballotine.voting import Answerer, query_ids
    door = Answerer(mechanism, Ledger.open(path, budget), SecureNoise(), np.arange(10), chunk=size)
    start = time.perf_counter()
    ids = query_ids(keys, b"teachers", mechanism)
    answers = door.answer(ids, lambda places: Tallies(votes[places]))
else:
    class Counted:
        identity = b"teachers"
        def __len__(self): return 250
        def ballots(self, rows): return Tallies(votes[rows])
    rules = Rules(Plan.standard_of(mechanism, 250, 1e-5, 1e6), 10)
    ledger = Ledger.open(path, rules.promise())
    session = Session.open(rules, Counted(), ledger, SecureNoise(), chunk=size)
    start = time.perf_counter()
    answers = session.answer(np.arange(len(keys)), keys)
assert answers.asked.all()
print(len(keys) / (time.perf_counter() - start))
"""


class Grown:
    """A ledger that paid for queries one by one, written in large transactions."""

    def __init__(self, path: Path, accounts: int) -> None:
        self._ledger = Ledger.open(path, BUDGET)
        charge = Charge.of(MECHANISM.events(CLASSES))
        self._bindings = [Binding(charge, f"teachers {n}", "the rule") for n in range(accounts)]
        self._spending = Spending.begin(next(self._ledger.entries()))
        self._head = self._ledger.head()
        self._accounts: list[int] = []

    def grow(self, length: int) -> None:
        number = 0
        while self._head.seq < length:
            with self._ledger.store.writing() as tx:
                if not self._accounts:
                    self._bind(tx)
                for _ in range(BLOCK):
                    self._answer(tx, number)
                    number += 1
        self._ledger.close()

    def _bind(self, tx: Transaction) -> None:
        for binding in self._bindings:
            self._append(tx, "bind", binding.to_dict())
            self._accounts.append(self._head.seq)

    def _answer(self, tx: Transaction, number: int) -> None:
        name = hashlib.sha256(str(number).encode()).digest()
        turn, place = divmod(number, len(self._accounts))
        account = self._accounts[place]
        query = Query(name, self._head.seq + 1, account, turn)
        shared = {"account": account, "queries": 1, "run": "long"}
        ids = reservation_digest([(name, turn)], self._bindings[place].charge)
        self._append(tx, "reserve", shared | {"ids": ids})
        tx.reserve([query])
        label = number % (CLASSES + 1) - 1
        answer, answers = encode_answer(label), np.array([label])
        released = released_to_json(dict(MECHANISM.realised(answers, CLASSES)))
        digest = entries.digest_of([name + answer])
        facts = {"answered": int(label != ABSTAIN), "answers": digest, "realised": released}
        self._append(tx, "record", shared | facts)
        tx.answer([(answer, query)], self._head.seq)
        if self._head.seq // CHECKPOINT_INTERVAL > (self._head.seq - 2) // CHECKPOINT_INTERVAL:
            self._append(tx, "checkpoint", self._spending.to_state())

    def _append(self, tx: Transaction, kind: str, payload: dict[str, object]) -> None:
        row = entries.next_row(self._head, kind, payload)
        tx.append(row)
        self._spending.apply(entries.read(row))
        self._head = Anchor(self._head.ledger, row[0], row[5])


def run(script: str, *arguments: object, source: Path | None = None) -> list[float]:
    """Run a script in its own process and return the numbers it prints."""
    environment = dict(os.environ)
    if source is not None:
        environment["PYTHONPATH"] = str(source / "src")
    command = [sys.executable, "-c", script, *map(str, arguments)]
    ended = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return [float(number) for number in ended.stdout.split()]


def at_length(folder: Path, length: int, accounts: int) -> bool:
    """Open and verify one long ledger; return whether all targets are met."""
    path = folder / "long.sqlite"
    Grown(path, accounts).grow(length)
    megabytes = path.stat().st_size / 2**20
    print(f"a ledger of {length:,} entries by {accounts:,} ensembles, {megabytes:.0f} MB")
    opened, _ = run(MEASURE, path, "open")
    replayed, _ = run(MEASURE, path, "replay")
    print(f"  open: {opened:.3f} s of CPU, {replayed / opened:.0f} times as fast as a full replay")
    used, megabytes = run(MEASURE, path, "verify")
    print(f"  verify: {length / used:,.0f} entries/s, {megabytes:.0f} MB")
    return opened < OPEN_SECONDS and length / used >= VERIFY_RATE and megabytes < VERIFY_MEGABYTES


def through(folder: Path, old: Path | None, repeats: int) -> bool:
    """Answer queries in batches; return whether throughput keeps up with version 0.1."""
    held = True
    for size, times in BATCHES:
        ours, theirs = [], []
        for _ in range(repeats):
            ours += run(THROUGH, size, times, folder)
            theirs += [] if old is None else run(THROUGH, size, times, folder, source=old)
        text = f"  batches of {size}: {max(ours):,.0f} queries/s"
        if theirs:
            ratio = max(ours) / max(theirs)
            held = held and ratio >= FALL
            text += f", {ratio:.2f} times version 0.1 ({max(theirs):,.0f})"
        print(text)
    return held


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--accounts", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--old", type=Path, help="a checkout of version 0.1, to compare with")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        long = at_length(folder, options.entries, options.accounts)
        print("through the ledger")
        quick = through(folder, options.old, options.repeats)
    return 0 if long and quick else 1


if __name__ == "__main__":
    sys.exit(main())
