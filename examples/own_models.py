"""Release answers from models that were trained elsewhere, through a ledger.

    python examples/own_models.py [LEDGER]

You have 40 fitted models, each trained on its own share of the private records. With a mechanism,
a budget and a ledger they label public rows with a guarantee. Asking the same models about the
same rows again, with the same ledger, returns the same answers and costs nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from ballotine import FittedModels, GNMax, Ledger, Plan, Rules, Session
from ballotine.noise import source
from ballotine.voting.promise import guarantee_of

DISJOINT = "every private record was seen by one of the models, and by no other"


def train_elsewhere(X: np.ndarray, y: np.ndarray, models: int) -> list[LogisticRegression]:
    """Stand-in for your own training; all that matters is that the shares are disjoint."""
    order = np.random.default_rng(0).permutation(len(X))
    return [
        LogisticRegression(max_iter=1000).fit(X[s], y[s]) for s in np.array_split(order, models)
    ]


def main(path: Path | None) -> None:
    """Label 40 synthetic flowers."""
    flowers = load_iris()
    draw = np.random.default_rng(1)
    kinds = draw.integers(0, 3, 4000)
    centres = np.stack([flowers.data[flowers.target == kind].mean(axis=0) for kind in range(3)])
    X = centres[kinds] + draw.normal(0, 0.3, (4000, 4))
    names = flowers.target_names
    models = train_elsewhere(X[:3900], names[kinds[:3900]], models=40)

    voters = FittedModels(models, classes=names)  # the classes are public knowledge
    plan = Plan.standard_of(GNMax(sigma=12), teachers=len(voters), delta=1e-5, epsilon=6)
    rules = Rules(plan, classes=len(names))
    ledger = Ledger.open(path, rules.promise())
    with Session.open(rules, voters, ledger, source(None), names=names) as session:
        answers = session.answer(X[3900:3940])
        guarantee = guarantee_of(ledger, session.noise, conditional=(DISJOINT,))
    right = answers.named == names[kinds[3900:3940]]
    print(f"{answers.answered.sum()} answers, {right[answers.answered].mean():.0%} of them right")
    print(guarantee)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
