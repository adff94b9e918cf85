"""Neural students on the command line: progress bars, Ctrl-C, and losses that are not finite."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

import ballotine.cli.console
from ballotine.cli.console import RichProgress
from tests.conftest import Command, path_with, wait_for

MARKED = """
from pathlib import Path
from ballotine.students.neural import Supervised

class Marked(Supervised):
    '''Leaves a file after each epoch, for whoever waits for one.'''

    def set_params(self, **parameters):
        told = parameters.get("on_epoch")
        if told is not None:
            def on_epoch(epoch):
                told(epoch)
                Path("epochs").write_text(str(epoch.number))
            parameters["on_epoch"] = on_epoch
        return super().set_params(**parameters)
"""


def with_student(table: Path, kind: str, options: str) -> None:
    text = (table / "run.toml").read_text()
    (table / "run.toml").write_text(
        f"{text}\n[student]\nkind = '{kind}'\noptions = {{ {options} }}\n"
    )


@pytest.mark.neural
def test_ctrl_c_in_a_students_training_ends_the_run_well(table: Path) -> None:
    """A real process and a real SIGINT: the best weights so far are released."""
    (table / "marked.py").write_text(MARKED)
    with_student(table, "marked.Marked", "epochs = 1000000")
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "200", "PYTHONPATH": path_with(table)}
    with subprocess.Popen(
        [sys.executable, "-m", "ballotine", "run", "run.toml"],
        cwd=table,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_for(table / "epochs", process)
        process.send_signal(signal.SIGINT)
        said, complaint = process.communicate()
    assert process.returncode == 0, complaint
    assert "Traceback" not in complaint
    assert "TrainingInterrupted" not in complaint
    assert "warning: the student's training was interrupted after" in complaint
    assert "  labelled " in complaint, "losses stand under the bar"
    assert "correct on 120 labelled public rows" in said
    out = table / "out"
    card = json.loads((out / "card.json").read_text())
    (training,) = card["student"]["training"]
    assert training["interrupted"]
    assert 1 <= training["epochs"] == len(training["curves"]["labelled"])
    assert "was interrupted" in (out / "card.md").read_text()
    assert (out / "student.skops").is_file()


@pytest.mark.neural
def test_a_loss_that_is_no_number_is_one_sentence_of_advice(
    ballotine: Command, table: Path
) -> None:
    with_student(table, "gan", "epochs = 2, learning_rate = 1e30")
    ended = ballotine("run", "run.toml")
    assert ended.returncode != 0
    assert "Traceback" not in ended.stderr
    (line,) = (line for line in ended.stderr.splitlines() if line.startswith("error: "))
    assert "training diverged in epoch 1" in line
    assert "use a learning rate below 1e+30" in line
    assert "change [student] in " in line
    assert line.endswith(f"ballotine run --resume {table / 'out'}")
    (out,) = table.glob("out")
    text = (out / "run.toml").read_text()
    (out / "run.toml").write_text(text.replace('"gan"', '"spreading"').partition("[student.op")[0])
    again = ballotine("run", "--resume", "out")
    assert again.returncode == 0, again.stderr


@pytest.mark.parametrize("width", [60, 80, 160])
def test_losses_have_a_line_of_their_own(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(
        ballotine.cli.console, "errors", Console(file=shown, width=width, color_system=None)
    )
    with RichProgress() as progress:
        with progress.stage("votes", 3) as advance:
            progress.tell("forgotten when the next stage opens")
            advance(3)
        with progress.stage("student", 40) as advance:
            for epoch in range(7):
                progress.tell(f"labelled {epoch}, \x1b[31m[red]unlabelled[/red] " + 9 * "and more ")
                advance(1)
    lines = shown.getvalue().rstrip("\n").splitlines()[-2:]
    assert lines[0].startswith("✓ student")
    assert "7/7" in lines[0]
    assert lines[1].startswith("  labelled 6, ")
    assert all(len(line) <= width for line in lines)
    assert "[red]" in lines[1]
    assert "\x1b" not in lines[1]
    assert "forgotten" not in shown.getvalue()
