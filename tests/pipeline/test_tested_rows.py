"""Test rows: whose they are, and what the guarantee says about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ballotine.pipeline import Run, RunFile, create_folder
from ballotine.report import build_card, write_card
from tests.conftest import RUNFILE, write_table


class TestRowsOfThePrivateFile:
    """What is measured on private rows is not protected, and nobody may read that it were."""

    words = "test rows were taken out of the private file"

    def finish(self, folder: Path) -> dict[str, Any]:
        settings = RunFile.load(folder / "run.toml")
        place = create_folder(settings)
        card = build_card(Run(settings, place).execute())
        write_card(place, card)
        return card

    def assumed(self, card: dict[str, Any]) -> bool:
        return any(self.words in text for text in card["guarantee"]["assumptions"])

    def test_set_aside_they_are_an_assumption(self, table: Path) -> None:
        text = (table / "run.toml").read_text()
        text = text.replace('public = "public.csv"\n', "public_rows = 150\ntest_rows = 60\n")
        (table / "run.toml").write_text(text.replace('test = "test.csv"\n', ""))
        card = self.finish(table)
        assert card["evaluation"]["rows"] == 60
        assert sum(map(sum, card["evaluation"]["confusion"])) == 60
        assert self.assumed(card)
        assert card["guarantee"]["kind"] == "conditional"
        for name in ("card.md", "report.html"):
            page = (table / "out" / name).read_text()
            assert self.words in page
            assert "60 labelled rows taken out of the private file" in page
            assert "60 labelled public rows" not in page

    def test_as_arrays_in_the_private_file_they_are_one_too(self, tmp_path: Path) -> None:
        """Here nothing else makes the guarantee conditional on rows of the private file."""
        draw = np.random.default_rng(0)
        X = draw.normal(size=(900, 4))
        y = (X.sum(axis=1) > 0).astype(np.int64)
        np.savez(
            tmp_path / "private.npz", X=X[:600], y=y[:600], X_test=X[600:700], y_test=y[600:700]
        )
        np.save(tmp_path / "public.npy", X[700:])
        text = RUNFILE.replace("private.csv", "private.npz").replace("public.csv", "public.npy")
        for line in ('test = "test.csv"\n', 'target = "label"\n'):
            text = text.replace(line, "")
        (tmp_path / "run.toml").write_text(text)
        card = self.finish(tmp_path)
        assert card["evaluation"]["rows"] == 100
        assert self.assumed(card)
        assert card["guarantee"]["kind"] == "conditional"

    def test_of_public_files_they_are_none(self, table: Path) -> None:
        card = self.finish(table)
        assert not self.assumed(card)
        assert card["data"]["test_from"] == "test file"
        assert "120 labelled public rows" in (table / "out" / "card.md").read_text()

    def test_set_aside_from_the_public_file_they_are_none(self, table: Path) -> None:
        write_table(table / "public.csv", 150, 2)
        text = (table / "run.toml").read_text().replace('test = "test.csv"', "test_rows = 40")
        (table / "run.toml").write_text(text)
        card = self.finish(table)
        assert card["evaluation"]["rows"] == 40
        assert card["data"]["test_from"] == "public file"
        assert not self.assumed(card)
