"""Ledgers as version 0.1 wrote them, and what it said about them.

    PYTHONPATH=CHECKOUT/src python tests/ledger/old/make.py tests/ledger/old

CHECKOUT holds version 0.1 (commit 1d8b12e); `make_first.py` makes the one with the first schema.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ballotine.noise import SecureNoise
from ballotine.privacy.events import ClippedSum
from ballotine.privacy.guarantee import Budget
from ballotine.privacy.ledger import Ledger, Mode, Terms
from ballotine.voting import Answerer, ConfidentGNMax, GNMax, Tallies, query_ids
from ballotine.voting.individual import Vanishing, Weighting
from ballotine.voting.paper import PaperAnswerer
from ballotine.voting.publication import fixed_terms, places_of, plan_publication, publish

BUDGET = Budget(4.0, 1e-5)
CLASSES = np.arange(3)
TEACHERS = 10
CONFIDENT = ConfidentGNMax(20.0, 6.0, 30.0)
EPSILONS = {"high": 1.0, "low": 3.0}
RECORDS = {"high": 100, "low": 100}


def keys(number: int, start: int = 0) -> list[bytes]:
    return [b"row %d" % place for place in range(start, start + number)]


def tallies(places: np.ndarray) -> Tallies:
    return Tallies(np.tile([4.0, 3.0, 3.0], (len(places), 1)))


def ballots(places: np.ndarray) -> np.ndarray:
    return np.tile(np.arange(TEACHERS) % 3, (len(places), 1))


def unused(path: Path) -> None:
    Ledger.open(path, BUDGET, str).close()


def strict(path: Path) -> None:
    with Ledger.open(path, BUDGET, lambda salt: "data" + salt.hex()) as ledger:
        for mechanism, number in ((CONFIDENT, 40), (GNMax(25.0), 9)):
            answerer = Answerer(mechanism, ledger, SecureNoise(), CLASSES, run="one", chunk=16)
            answerer.answer(query_ids(keys(number), b"teachers", mechanism), tallies)


def killed(path: Path) -> None:
    """A process that dies between reserving and recording; its writes are still in the -wal."""

    def die(places: np.ndarray) -> Tallies:
        if places[0] >= 20:
            os.kill(os.getpid(), signal.SIGKILL)
        return tallies(places)

    child = os.fork()
    if child == 0:
        with Ledger.open(path, BUDGET) as ledger:
            answerer = Answerer(GNMax(20.0), ledger, SecureNoise(), CLASSES, run="killed", chunk=10)
            answerer.answer(query_ids(keys(40), b"teachers", GNMax(20.0)), die)
        os._exit(1)
    os.waitpid(child, 0)
    path.with_name(path.name + "-shm").unlink()


def groups(path: Path) -> None:
    """Two groups with weights, two ensembles; some queries stay pending."""
    plan = Weighting(EPSILONS).plan(RECORDS, TEACHERS, CONFIDENT, 3, 1e-5)
    with Ledger.open(path, plan.budgets) as ledger:
        answerer = Answerer(plan.mechanism, ledger, SecureNoise(), CLASSES, "fit", 16, plan)
        for ensemble in (b"teachers", b"others"):
            ids = query_ids(keys(12), ensemble, plan.mechanism, plan)
            answerer.answer(ids, ballots)
        ledger.reserve(query_ids(keys(3, 50), b"others", plan.mechanism, plan), plan.charge(3))


def turns(path: Path) -> None:
    """Teachers take turns over two fits: nobody wrote down whose turn it was."""
    plan = Vanishing(EPSILONS).plan(RECORDS, TEACHERS, CONFIDENT, 3, 1e-5)
    assert any(group.takes_turns for group in plan.groups)
    with Ledger.open(path, plan.budgets) as ledger:
        answerer = Answerer(plan.mechanism, ledger, SecureNoise(), CLASSES, "fit", 4, plan)
        for ensemble in (b"teachers", b"others"):
            ids = query_ids(keys(9), ensemble, plan.mechanism, plan)
            answerer.answer(ids, ballots)


def fixed(path: Path, published: bool = False) -> None:
    mechanism = GNMax(20.0)
    plan, _ = plan_publication(mechanism, TEACHERS, 3, 30, 1e-5)
    with Ledger.open(path, fixed_terms(mechanism, plan, 30, 1e-5)) as ledger:
        answerer = Answerer(mechanism, ledger, SecureNoise(), CLASSES)
        number = 30 if published else 12
        answerer.answer(query_ids(keys(number), b"teachers", mechanism), tallies)
        if published:
            publish(ledger, mechanism, places_of(tallies(np.arange(30))), SecureNoise())


def published(path: Path) -> None:
    fixed(path, published=True)


def paper(path: Path) -> None:
    with Ledger.open(path, Terms((("everyone", BUDGET),), Mode.PAPER)) as ledger:
        answerer = PaperAnswerer(GNMax(20.0), ledger, SecureNoise(), CLASSES)
        answerer.answer(query_ids(keys(30), b"teachers", GNMax(20.0)), tallies)


def rounds(path: Path) -> None:
    """Rounds of private training, one of them pending, and votes."""
    event = ClippedSum(30.0)
    with Ledger.open(path, BUDGET) as ledger:
        for number in range(5):
            name = query_ids([b"round %d" % number], b"together", GNMax(20.0))
            ledger.reserve(name, (event,))
            if number < 4:
                done = Counter({event: 1})
                ledger.record(name, np.array([1]), (event,), lambda *_, done=done: done)
        answerer = Answerer(GNMax(20.0), ledger, SecureNoise(), CLASSES, "votes")
        answerer.answer(query_ids(keys(6), b"together", GNMax(20.0)), tallies)


MAKERS: tuple[Callable[[Path], None], ...] = (
    unused,
    strict,
    killed,
    groups,
    turns,
    fixed,
    published,
    paper,
    rounds,
)


def said(path: Path) -> dict[str, object]:
    """What version 0.1 says about a ledger."""
    with Ledger.existing(path) as ledger:
        spending, ids = ledger.spending(), []
        for (name,) in ledger._connection.execute("SELECT id FROM queries"):
            ids.append(name)
        accounts = spending.accounts.items()
        held = spending.guaranteed_epsilon()
        return {
            "answers": {query.hex(): answer for query, answer in ledger.lookup(ids).items()},
            "asked": spending.asked,
            "epsilon": {name: account.epsilon() for name, account in accounts},
            "guaranteed": held if np.isfinite(held) else None,
            "orders": {name: account.order for name, account in accounts},
            "pending": sorted(query.hex() for query in ledger.pending(ids)),
            "recorded": spending.recorded,
            "rounds": spending.rounds,
            "statement": spending.statement,
        }


def main(folder: Path) -> None:
    import shutil
    import tempfile

    words = {}
    for make in MAKERS:
        path = folder / f"{make.__name__}.sqlite"
        for file in folder.glob(f"{path.name}*"):
            file.unlink()
        make(path)
        with tempfile.TemporaryDirectory() as scratch:  # opening writes, in version 0.1
            for file in folder.glob(f"{path.name}*"):
                shutil.copy(file, scratch)
            words[make.__name__] = said(Path(scratch) / path.name)
    text = json.dumps(words, indent=1, sort_keys=True)
    (folder / "said.json").write_text(text + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
