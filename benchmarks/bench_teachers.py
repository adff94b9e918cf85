"""Teachers against the plain PyTorch loop: training and voting.

The plain loop is the obvious implementation: a DataLoader, one teacher after another, torch's
default number of threads. Both sides have the same network, records, optimiser, batch and epochs.
All times are wall-clock seconds per teacher; the plain loop runs on some of the teachers, because
it does the same for each. CPU times follow, for a machine with other load.

    python benchmarks/bench_teachers.py                            # small, on generated images
    python benchmarks/bench_teachers.py --data FOLDER --teachers 250 --plain 25 --memory --ray

FOLDER holds mnist.npz; --ray needs the extra.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from ballotine.data.partition import Partition, random_partition
from ballotine.neural import RotateShift, TorchClassifier, make_module
from ballotine.teachers import Engine, Ensemble, TeacherStore, Trainer, make_engine
from ballotine.teachers.train import ONE_CLASS, TeacherShare, predict_classes, train_teacher

SHAPE, CLASSES = (1, 28, 28), 10
RECORDS, QUERIES, BATCH, VOTE_BATCH = 240, 9000, 32, 256
JOBS, JOBS_DONE, PEAKS = 2, ("train", "vote"), (10, 100)
T = TypeVar("T")


@dataclass(frozen=True)
class Case:
    """The task of both sides."""

    X: np.ndarray
    y: np.ndarray
    pool: np.ndarray
    truth: np.ndarray
    network: str
    epochs: int
    augment: bool
    teachers: int

    @property
    def partition(self) -> Partition:
        return random_partition(RECORDS * self.teachers, self.teachers, b"bench")

    @property
    def estimator(self) -> TorchClassifier:
        return TorchClassifier(
            self.network,
            SHAPE,
            epochs=self.epochs,
            batch=BATCH,
            augment="rotate-shift" if self.augment else None,
        )


def images(folder: Path | None, rows: int) -> tuple[np.ndarray, ...]:
    """MNIST from a folder; else scikit-learn's digits, enlarged and shifted."""
    if folder is not None:
        with np.load(folder / "mnist.npz") as file:
            parts = file["x_train"], file["y_train"], file["x_test"], file["y_test"]
        X, y, pool, truth = parts
        order = np.random.default_rng(0).permutation(len(X))[:rows]
        flat = [part.reshape(len(part), -1).astype(np.float32) / 255 for part in (X[order], pool)]
        return flat[0], y[order].astype(np.int64), flat[1][:QUERIES], truth[:QUERIES]
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    large = np.kron(X.reshape(-1, 8, 8) / 16, np.ones((3, 3)))
    take = rng.integers(0, len(X), rows + QUERIES)
    moved = np.zeros((len(take), 28, 28), dtype=np.float32)
    for place, (row, down, right) in enumerate(
        zip(take, *rng.integers(0, 5, (2, len(take))), strict=True)
    ):
        moved[place, down : down + 24, right : right + 24] = large[row]
    flat, labels = moved.reshape(len(take), -1), y[take].astype(np.int64)
    return flat[:rows], labels[:rows], flat[rows:], labels[rows:]


def plain_training(case: Case, shares: list[np.ndarray]) -> list[nn.Module]:
    modules = []
    torch.manual_seed(0)
    change, generator = RotateShift(), torch.Generator().manual_seed(0)
    for share in shares:
        data = TensorDataset(
            torch.from_numpy(case.X[share]).reshape(-1, *SHAPE), torch.from_numpy(case.y[share])
        )
        loader = DataLoader(data, batch_size=BATCH, shuffle=True)
        module = make_module(case.network, SHAPE, CLASSES)
        optimiser = torch.optim.Adam(module.parameters(), lr=1e-3)
        module.train()
        for _ in range(case.epochs):
            for inputs, targets in loader:
                batch = change(inputs, generator) if case.augment else inputs
                optimiser.zero_grad()
                loss = functional.cross_entropy(module(batch), targets)
                loss.backward()
                optimiser.step()
        modules.append(module)
    return modules


def plain_votes(case: Case, modules: list[nn.Module]) -> np.ndarray:
    loader = DataLoader(
        TensorDataset(torch.from_numpy(case.pool).reshape(-1, *SHAPE)), batch_size=VOTE_BATCH
    )
    columns = []
    for module in modules:
        module.eval()
        with torch.no_grad():
            columns.append(torch.cat([module(inputs).argmax(1) for (inputs,) in loader]))
    return torch.stack(columns, dim=1).numpy()


def trained(case: Case, engine: Engine, folder: Path) -> Ensemble:
    trainer = Trainer(case.estimator, CLASSES, b"bench", engine, TeacherStore(folder))
    return trainer.train(case.X, case.y, case.partition)


def warm(engine: Engine) -> None:
    """Start the workers and let each train once, because a run loads torch only once."""
    rows, labels = np.ones((8, 4), dtype=np.float32), np.arange(8) % 2
    list(engine.map(partial(_practise, rows, labels), range(8)))


def _practise(rows: np.ndarray, labels: np.ndarray, number: int) -> int:
    TorchClassifier("linear", epochs=1, random_state=0).fit(rows, labels)
    time.sleep(0.2)  # so that no worker takes every task
    return number


def processor_time(case: Case, part: int) -> None:
    """Print the CPU times of both sides, which depend less on other load.

    The ratio is what would remain if two threads made the plain loop exactly twice as fast.
    """
    shares = list(case.partition.shares)[:part]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    start = time.process_time()
    modules = plain_training(case, shares)
    middle = time.process_time()
    plain_votes(case, modules)
    plain = middle - start, time.process_time() - middle
    torch.set_num_threads(threads)
    own = partial(own_time, case.estimator, case.X, case.y, case.pool)
    tasks = [TeacherShare(position, share, position) for position, share in enumerate(shares)]
    found = np.sum(list(make_engine("local", JOBS).map(own, tasks)), axis=0)
    for job, base, ours in zip(("train", "vote"), plain, found, strict=True):
        print(
            f"  {job:<6} processor time: plain loop on one thread {base / part * 1e3:.0f} ms, "
            f"ours {ours / part * 1e3:.0f} ms a teacher   {base / ours:5.2f}×"
        )


def own_time(
    estimator: TorchClassifier, X: np.ndarray, y: np.ndarray, pool: np.ndarray, share: TeacherShare
) -> tuple[float, float]:
    start = time.process_time()
    teacher = train_teacher(ONE_CLASS, estimator, X, y, share)
    middle = time.process_time()
    predict_classes(teacher.model, pool, CLASSES)
    return middle - start, time.process_time() - middle


@dataclass
class Clock:
    """Seconds per teacher of every repeat, by side and job, and each teacher's accuracy."""

    taken: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    accuracy: dict[str, np.ndarray] = field(default_factory=dict)

    def time(self, side: str, job: str, teachers: int, work: Callable[[], T]) -> T:
        start = time.perf_counter()
        result = work()
        spent = (time.perf_counter() - start) / teachers
        self.taken.setdefault((side, job), []).append(spent)
        return result

    def median(self, side: str, job: str) -> float:
        return float(np.median(self.taken[side, job]))


def measured(case: Case, part: int, repeats: int, engines: list[str]) -> Clock:
    """Measure both sides alternately, so that other load affects both."""
    clock, shares = Clock(), list(case.partition.shares)[:part]
    for _ in range(repeats):
        modules = clock.time("plain", "train", part, partial(plain_training, case, shares))
        votes = clock.time("plain", "vote", part, partial(plain_votes, case, modules))
        clock.accuracy["plain"] = np.mean(votes == case.truth[:, None], axis=0)
        for name in engines:
            engine = make_engine(name, JOBS)
            warm(engine)
            with tempfile.TemporaryDirectory() as folder:
                train = partial(trained, case, engine, Path(folder))
                ensemble = clock.time(name, "train", case.teachers, train)
                vote = partial(ensemble.ballots, case.pool)
                votes = clock.time(name, "vote", case.teachers, vote)
            clock.accuracy[name] = np.mean(votes[:, :part] == case.truth[:, None], axis=0)
    return clock


def compare(case: Case, part: int, repeats: int, engines: list[str]) -> bool:
    """Print both sides; return whether the targets are met."""
    clock = measured(case, part, repeats, engines)
    print(
        f"{case.network}: {case.teachers} teachers × {RECORDS} records, {case.epochs} epochs, "
        f"{len(case.pool)} queries; {JOBS} processes against the plain loop on {part} teachers "
        f"with {torch.get_num_threads()} threads; median of {repeats}"
    )
    met = True
    for job, target in (("train", 2.5), ("vote", 5.0)):
        base, local = clock.median("plain", job), clock.median("local", job)
        print(f"  {job:<6} plain loop {base * 1e3:9.1f} ms a teacher")
        for name in engines:
            found = clock.median(name, job)
            print(f"  {job:<6} {name:<10} {found * 1e3:9.1f} ms a teacher   {base / found:5.2f}×")
        met &= report_target(
            f"{job}: {base / local:.2f}×, wanted at least {target}×", base / local >= target
        )
    met &= equally_right(clock.accuracy)
    if "ray" in engines:
        both = [sum(clock.median(name, job) for job in JOBS_DONE) for name in ("ray", "local")]
        met &= report_target(
            f"Ray takes {both[0] / both[1]:.2f} of local's time", both[0] <= 1.2 * both[1]
        )
    processor_time(case, part)
    return met


def equally_right(accuracy: dict[str, np.ndarray]) -> bool:
    """Return whether mean accuracies are within half a point of each other."""
    gaps = 100 * (accuracy["local"] - accuracy["plain"])
    doubt = float(gaps.std() / np.sqrt(max(len(gaps) - 1, 1)))
    shown = ", ".join(f"{name} {100 * value.mean():.2f} %" for name, value in accuracy.items())
    text = f"accuracy of {len(gaps)} teachers: {shown} (gap {gaps.mean():+.2f} ± {doubt:.2f})"
    return report_target(text, abs(gaps.mean()) <= 0.5)


def report_target(text: str, met: bool) -> bool:
    print(f"  {'met   ' if met else 'MISSED'} {text}")
    return met


def memory(data: str | None, network: str) -> bool:
    """Return whether peak memory stays the same with ten times as many teachers."""
    few, many = (peak(teachers, data, network) for teachers in PEAKS)
    text = f"peak memory: {PEAKS[0]} teachers {few} MB, {PEAKS[1]} teachers {many} MB"
    return report_target(text, many <= 1.05 * few)


def peak(teachers: int, data: str | None, network: str) -> int:
    """Return the peak memory, in MB, of a process that trains and votes itself."""
    command = [sys.executable, __file__, "--peak", str(teachers), "--network", network]
    if data is not None:
        command += ["--data", data]
    return int(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def measure_peak(case: Case) -> None:
    with tempfile.TemporaryDirectory() as folder:
        trained(case, make_engine("local", 1), Path(folder)).ballots(case.pool[:500])
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="a folder that holds mnist.npz; else images are made up")
    parser.add_argument("--teachers", type=int, default=20)
    parser.add_argument("--plain", type=int, default=5, help="teachers of the plain loop")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--network", default="individualized-cnn")
    parser.add_argument("--augment", action="store_true")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--ray", action="store_true", help="Ray too; it needs the extra")
    parser.add_argument("--memory", action="store_true", help="peak memory too")
    parser.add_argument("--peak", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    teachers, epochs = (given.peak, 1) if given.peak else (given.teachers, given.epochs)
    # The number of records is fixed, so that only the number of teachers differs.
    data = images(Path(given.data) if given.data else None, RECORDS * max(teachers, PEAKS[1]))
    case = Case(*data, given.network, epochs, given.augment, teachers)
    if given.peak:
        measure_peak(case)
        return 0
    engines = ["local", "ray"] if given.ray else ["local"]
    met = compare(case, min(given.plain, teachers), given.repeats, engines)
    if given.memory:
        met &= memory(given.data, given.network)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
