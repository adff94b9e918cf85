"""What is installed: the core works without torch, and the wheel holds the package alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
CORE = (
    "ballotine",
    "ballotine.audit",
    "ballotine.cli.app",
    "ballotine.data",
    "ballotine.ledger",
    "ballotine.oracle",
    "ballotine.pipeline",
    "ballotine.report",
    "ballotine.students",
    "ballotine.teachers",
    "ballotine.verification",
    "ballotine.voting",
)
NEURAL = (
    "ballotine.features",
    "ballotine.neural",
    "ballotine.students.neural",
    "ballotine.teachers.ttac",
)
HIDDEN = """
import sys
class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
sys.meta_path.insert(0, NoTorch())
"""
ADVICE = "pip install 'ballotine[neural]'"


def python(program: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder)


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line where torch is not installed."""
    return python(f"{HIDDEN}from ballotine.cli import main\nmain()", folder, *arguments)


def all_names() -> str:
    imports = "".join(f"import {name}\n" for name in CORE)
    return f"{imports}for name in ballotine.__all__: getattr(ballotine, name)\n"


def test_no_part_of_the_core_imports_torch(tmp_path: Path) -> None:
    program = f"import sys\n{all_names()}assert 'torch' not in sys.modules"
    ended = python(program, tmp_path)
    assert ended.returncode == 0, ended.stderr


def test_the_core_can_be_imported_without_torch(tmp_path: Path) -> None:
    ended = python(HIDDEN + all_names(), tmp_path)
    assert ended.returncode == 0, ended.stderr


def test_a_run_of_scikit_learn_models_works_without_torch(table: Path) -> None:
    ended = command(table, "run", "run.toml")
    assert ended.returncode == 0, ended.stderr
    assert (table / "out" / "card.json").is_file()


def test_without_torch_imports_say_what_to_install(tmp_path: Path) -> None:
    program = f"""{HIDDEN}
from importlib import import_module
from ballotine.errors import ParameterError
for name in {NEURAL}:
    for kind in (ImportError, ParameterError):
        try:
            import_module(name)
        except kind as problem:
            print(problem)
"""
    ended = python(program, tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count(ADVICE) == 2 * len(NEURAL)


@pytest.mark.parametrize(
    "section",
    [
        '[student]\nkind = "gan"',
        '[student]\nkind = "neural-network"',
        '[features]\nkind = "patches"\noptions = { shape = [1, 1, 3] }',
        '[together]\nmethod = "ttac"',
    ],
    ids=["student", "network", "patches", "together"],
)
def test_without_torch_a_run_that_needs_it_is_refused_at_once(section: str, table: Path) -> None:
    runfile = table / "run.toml"
    runfile.write_text(f"{runfile.read_text()}{section}\n")
    ended = command(table, "run", "run.toml")
    assert ended.returncode == 2, ended.stderr
    assert ADVICE in " ".join(ended.stderr.split())
    assert not (table / "out").exists()
    assert not (table / "private.ledger.sqlite").exists()


@pytest.mark.neural
def test_without_torch_a_saved_network_says_what_to_install(tmp_path: Path) -> None:
    from ballotine.models import save_model
    from ballotine.neural import TorchClassifier

    rows = np.arange(12.0).reshape(6, 2)
    save_model(tmp_path / "m.skops", TorchClassifier(epochs=1).fit(rows, [0, 1, 0, 1, 0, 1]))
    load = "from pathlib import Path\nfrom ballotine.models import load_model\n"
    ended = python(f"{HIDDEN}{load}load_model(Path('m.skops'))", tmp_path)
    assert ended.returncode == 1
    last = ended.stderr.splitlines()[-1]
    assert "MissingExtraError" in last
    assert ADVICE in last


def test_the_wheel_holds_the_package_alone(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    ended = subprocess.run(build, capture_output=True, text=True, cwd=ROOT)
    assert ended.returncode == 0, ended.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = ZipFile(wheel).namelist()
    metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
    assert {name.split("/")[0] for name in names} == {"ballotine", metadata.split("/")[0]}
    assert not [name for name in names if "reproduction" in name or "experiment" in name]
    described = ZipFile(wheel).read(metadata).decode().splitlines()
    needed = [line for line in described if line.startswith("Requires-Dist: torch")]
    assert needed == ["Requires-Dist: torch>=2.6; extra == 'neural'"]
