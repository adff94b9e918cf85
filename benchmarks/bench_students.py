"""One epoch of the semi-supervised GAN student against the plain PyTorch loop.

The plain loop is the obvious implementation: two DataLoaders with default settings, Adam with
default settings, a step of the discriminator and then one of the generator. Both sides have
the same networks, rows, batch, learning rate and number of epochs; they alternate, so that
other load on the machine affects both.

    python benchmarks/bench_students.py --data FOLDER_WITH_fashion_mnist.npz
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from ballotine.neural import make_module
from ballotine.students.neural import PatePlus, SemiSupervisedGAN

SHAPE, CLASSES, NOISE, WIDTH = (1, 28, 28), 10, 100, 500
TARGET = 2.0


class Rows(NamedTuple):
    """Public rows, answered and unanswered, and rows to evaluate on."""

    X: np.ndarray
    answers: np.ndarray
    others: np.ndarray
    fresh: np.ndarray
    truth: np.ndarray


def images(folder: Path | None, rows: int, answered: int) -> Rows:
    """Test images of Fashion-MNIST from a folder; else scikit-learn's digits, enlarged."""
    if folder is not None:
        with np.load(folder / "fashion_mnist.npz") as file:
            X, y = file["x_test"], file["y_test"].astype(np.int64)
        X = X.reshape(len(X), -1).astype(np.float32) / 255
    else:
        from sklearn.datasets import load_digits

        small, y = load_digits(return_X_y=True)
        rng = np.random.default_rng(0)
        take = rng.integers(0, len(small), rows + 1000)
        large = np.kron(small[take].reshape(-1, 8, 8) / 16, np.ones((3, 3)))
        X = np.pad(large, ((0, 0), (2, 2), (2, 2))).reshape(len(take), -1)
        X = (X + rng.normal(0, 0.05, X.shape)).astype(np.float32)
        y = y[take].astype(np.int64)
    fresh = slice(rows, rows + 1000)
    return Rows(X[:answered], y[:answered], X[answered:rows], X[fresh], y[fresh])


def plain_generator() -> nn.Module:
    return nn.Sequential(
        nn.Linear(NOISE, WIDTH),
        nn.BatchNorm1d(WIDTH),
        nn.Softplus(),
        nn.Linear(WIDTH, WIDTH),
        nn.BatchNorm1d(WIDTH),
        nn.Softplus(),
        nn.Linear(WIDTH, 28 * 28),
        nn.Sigmoid(),
        nn.Unflatten(1, SHAPE),
    )


def plain_gan(rows: Rows, network: str, epochs: int, batch: int, peers: int) -> float:
    """Train with the plain loop; return the accuracy on unseen rows."""
    nets = [make_module(network, SHAPE, CLASSES) for _ in range(peers)]
    generator = plain_generator()
    optimisers = [torch.optim.Adam(net.parameters(), lr=1e-3, betas=(0.5, 0.999)) for net in nets]
    generator_optimiser = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    labelled = TensorDataset(
        torch.from_numpy(rows.X).reshape(-1, *SHAPE), torch.from_numpy(rows.answers)
    )
    others = TensorDataset(torch.from_numpy(rows.others).reshape(-1, *SHAPE))
    with_answers = DataLoader(labelled, batch_size=batch, shuffle=True)
    without = DataLoader(others, batch_size=batch, shuffle=True)
    for epoch in range(epochs):
        repeated = itertools.chain.from_iterable(itertools.repeat(with_answers))
        for (inputs, targets), (unlabelled,) in zip(repeated, without, strict=False):
            made = generator(torch.rand(len(unlabelled), NOISE))
            chosen = plain_choice([net(inputs) for net in nets], targets, epoch)
            for net, optimiser, loss in zip(nets, optimisers, chosen, strict=True):
                optimiser.zero_grad()
                real = torch.logsumexp(net(unlabelled), dim=1)
                fake = torch.logsumexp(net(made.detach()), dim=1)
                unsupervised = (functional.softplus(real) - real).mean()
                (loss + unsupervised + functional.softplus(fake).mean()).backward()
                optimiser.step()
            generator_optimiser.zero_grad()
            made = generator(torch.rand(len(unlabelled), NOISE))
            matching = torch.zeros(())
            for net in nets:
                features = net[:-1]
                wanted = features(unlabelled).mean(dim=0).detach()
                matching = matching + (wanted - features(made).mean(dim=0)).square().sum() / peers
            matching.backward()
            generator_optimiser.step()
    fresh = torch.from_numpy(rows.fresh).reshape(-1, *SHAPE)
    with torch.no_grad():
        chances = sum(torch.softmax(net.eval()(fresh), dim=1) for net in nets)
    return float(np.mean(chances.argmax(dim=1).numpy() == rows.truth))


def plain_choice(
    logits: list[torch.Tensor], targets: torch.Tensor, epoch: int
) -> list[torch.Tensor]:
    """Return one network's loss, or that of two peers on the other's smallest losses."""
    losses = [functional.cross_entropy(part, targets, reduction="none") for part in logits]
    if len(logits) == 1:
        return [losses[0].mean()]
    rows = torch.nonzero(logits[0].argmax(1) != logits[1].argmax(1)).flatten()
    if not len(rows):
        return [loss.sum() * 0 for loss in losses]
    count = max(1, int((1 - 0.2 * min((epoch + 1) / 15, 1)) * len(rows)))
    easy = [rows[torch.argsort(loss[rows])[:count]] for loss in losses]
    return [losses[0][easy[1]].mean(), losses[1][easy[0]].mean()]


def own_gan(rows: Rows, network: str, epochs: int, batch: int, peers: int) -> float:
    kind = SemiSupervisedGAN if peers == 1 else PatePlus
    model = kind(network, SHAPE, epochs=epochs, batch=batch, decay="none", random_state=0)
    model.fit(rows.X, rows.answers, rows.others)
    return float(model.score(rows.fresh, rows.truth))


def timed(job: Callable[[], float]) -> tuple[float, float, float]:
    """Return wall-clock seconds, CPU seconds, and the job's result."""
    clock, processor = time.perf_counter(), time.process_time()
    result = job()
    return time.perf_counter() - clock, time.process_time() - processor, result


def compare(rows: Rows, network: str, epochs: int, batch: int, peers: int, repeats: int) -> float:
    """Print both sides; return the ratio of wall-clock times."""
    given = rows, network, epochs, batch, peers
    for job in (plain_gan, own_gan):  # the first call of everything is slower
        job(rows._replace(others=rows.others[: 2 * batch]), network, 1, batch, peers)
    found = [
        (timed(lambda: plain_gan(*given)), timed(lambda: own_gan(*given))) for _ in range(repeats)
    ]
    (clock, busy, score), (own_clock, own_busy, own_score) = np.median(np.array(found), axis=0)
    print(
        f"{network}, {'two discriminators (PATE+)' if peers == 2 else 'GAN'}: "
        f"{len(rows.X)} answered and {len(rows.others)} other images of 28 × 28, batch {batch}, "
        f"{epochs} epoch(s), {torch.get_num_threads()} thread(s), median of {repeats}\n"
        f"  plain loop {clock / epochs:8.2f} s an epoch ({busy / epochs:.2f} s of processors), "
        f"accuracy {100 * score:.1f} %\n"
        f"  ours       {own_clock / epochs:8.2f} s an epoch ({own_busy / epochs:.2f} s of "
        f"processors), accuracy {100 * own_score:.1f} %\n"
        f"  ratio      {clock / own_clock:8.2f}× on the clock, {busy / own_busy:.2f}× of processors"
    )
    return float(clock / own_clock)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="a folder that holds fashion_mnist.npz")
    parser.add_argument("--rows", type=int, default=9000)
    parser.add_argument("--answered", type=int, default=2200)
    parser.add_argument("--network", default="small-cnn")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peers", action="store_true", help="also two discriminators")
    given = parser.parse_args()
    rows = images(Path(given.data) if given.data else None, given.rows, given.answered)
    met = True
    for peers in (1, 2) if given.peers else (1,):
        ratio = compare(rows, given.network, given.epochs, given.batch, peers, given.repeats)
        met = met and (peers == 2 or ratio >= TARGET)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
