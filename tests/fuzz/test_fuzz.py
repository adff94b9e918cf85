"""Spoilt files and odd options: a sentence and a documented exit code, and nothing else.

`make fuzz` tries many more. To see one again: ``judge(case(TARGET, SEED, NUMBER))``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz import commands
from tests.fuzz.batch import batch
from tests.fuzz.commands import Case, Ended, judge
from tests.fuzz.damage import npy
from tests.fuzz.inputs import TARGETS, case
from tests.fuzz.real import VOTES, tables

INPUTS, SEED, AT_ONCE = 1500, 1, 30
PARTS = [
    pytest.param(target, range(start, start + AT_ONCE), id=f"{target}-{start}")
    for target, (_, share) in TARGETS.items()
    for start in range(0, round(share * INPUTS), AT_ONCE)
]


@pytest.mark.parametrize(("target", "numbers"), PARTS)
def test_spoilt_input_ends_in_one_sentence(target: str, numbers: range) -> None:
    codes, found = batch(target, SEED, numbers)
    assert found == []
    assert codes.total() == len(numbers)


@pytest.mark.parametrize("target", TARGETS)
def test_inputs_repeat(target: str) -> None:
    first, again, other = (case(target, seed, 3) for seed in (7, 7, 8))
    assert first.arguments == again.arguments
    assert first != other


def test_generators_reach_behind_the_options() -> None:
    """If everything were refused at the door, nothing would be tried."""
    codes, _ = batch("account", 2, range(120))
    assert codes[0] >= 3
    assert codes[3] >= 40


@pytest.mark.parametrize(
    ("code", "out", "err", "word"),
    [
        (70, "", "error: unexpected TypeError\n", "exit code 70"),
        (130, "", "error: interrupted\n", "exit code 130"),
        (3, "", "Traceback (most recent call last):\nerror: x\n", "traceback"),
        (3, "", f"error: no column {commands.MARK}\n", "private"),
        (0, commands.MARK, "", "private"),
        (3, "", "", "not one sentence"),
        (3, "", "error: a\nerror: b\n", "not one sentence"),
    ],
)
def test_the_judge_sees_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch, code: int, out: str, err: str, word: str
) -> None:
    monkeypatch.setattr(commands, "call", lambda _: Ended(code, out, err))
    _, faults = judge(Case("made up", ("x",)))
    assert word in " ".join(faults)


def test_the_judge_sees_what_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def littering(_: object) -> Ended:
        for name in (".12.partial", "out"):
            open(name, "w").close()  # noqa: PTH123
        return Ended(3, "", "error: x\n")

    monkeypatch.setattr(commands, "call", littering)
    _, faults = judge(Case("made up", ("x",)))
    assert faults == ["left behind: ['.12.partial', 'out']"]


TYPED = (
    *("vote", "v.npy", "-m", "gnmax", "--sigma", "40", "--epsilon", "2", "--delta", "1e-5"),
    *("--classes", "3", "--ledger", commands.LEDGER),
)


@pytest.mark.parametrize(
    "made",
    [
        Case("vote", TYPED, {"v.npy": npy(VOTES)}, keeps=(commands.LEDGER,)),
        Case("run", ("run", "run.toml", "--quiet"), tables(), keeps=(commands.LEDGER, "out")),
    ],
    ids=["vote", "run"],
)
def test_the_judge_sees_a_budget_that_was_burnt(
    monkeypatch: pytest.MonkeyPatch, made: Case
) -> None:
    """A good command spends; called a failure, and without its answers, it must be found out."""
    real = commands.call

    def failing(arguments: tuple[str, ...]) -> Ended:
        ended = real(arguments)
        if arguments[0] == "ledger":
            return ended
        Path("out/answers.parquet").unlink(missing_ok=True)
        return Ended(3, "", "error: x\n")

    monkeypatch.setattr(commands, "call", failing)
    _, faults = judge(made)
    assert len(faults) == 1
    assert faults[0].startswith("budget burnt: {'charged_epsilon': ")
