"""The public names are complete, and importing them is quick."""

from __future__ import annotations

import subprocess
import sys

import pytest

import ballotine


def test_every_public_name_is_there() -> None:
    for name in ballotine.__all__:
        assert getattr(ballotine, name) is not None
    assert set(ballotine._HOMES) | {"__version__"} == set(ballotine.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Teapot'"):
        ballotine.Teapot  # noqa: B018


def test_everything_that_answers_ones_own_models_is_public() -> None:
    assert {"FittedModels", "GNMax", "Ledger", "Plan", "Rules", "Session"} <= set(ballotine.__all__)


def test_the_command_line_starts_without_the_heavy_libraries() -> None:
    heavy = "{'sklearn', 'scipy', 'pyarrow', 'plotly'}"
    code = f"import sys, ballotine.cli; print(sorted({heavy} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
