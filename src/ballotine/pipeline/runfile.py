"""The run file: one TOML file describes one run; errors name the key."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Self

import tomli_w
from pydantic import ValidationError, model_validator

from ballotine.data import DataSpec
from ballotine.errors import ParameterError, RunFileError
from ballotine.ledger import Mode
from ballotine.pipeline.privacy_sections import (
    BudgetSection,
    IndividualSection,
    VotingSection,
)
from ballotine.pipeline.procedure import Request
from ballotine.pipeline.sections import (
    DataSection,
    FeaturesSection,
    PartitionSection,
    ReportSection,
    RunSection,
    Section,
    StudentSection,
    TeachersSection,
    TogetherSection,
)


class RunFile(Section):
    """A whole run file."""

    run: RunSection = RunSection()
    data: DataSection
    features: FeaturesSection = FeaturesSection()
    partition: PartitionSection = PartitionSection()
    teachers: TeachersSection = TeachersSection()
    together: TogetherSection = TogetherSection()
    voting: VotingSection
    budget: BudgetSection
    individual: IndividualSection = IndividualSection()
    student: StudentSection = StudentSection()
    report: ReportSection = ReportSection()

    @model_validator(mode="after")
    def _check_across_sections(self) -> Self:
        individual, groups = self.individual.method, self.budget.groups
        if individual is not None and not groups:
            raise ValueError(
                "[budget] groups is missing: individual budgets need the ε of each group"
            )
        if individual is None and groups:
            raise ValueError("[individual] method is missing: budgets by group need one")
        if individual is not None and self.partition.kind != "random":
            raise ValueError("[partition] kind: individual budgets need a random partition")
        if self.data.source is not None and self.individual.column is not None:
            raise ValueError(
                "[individual] column: a named set has no such column; give groups (a file)"
            )
        if self.data.source is not None and self.partition.column is not None:
            raise ValueError(
                "[partition] column: a named set has no such column; give private (a file)"
            )
        if self.budget.mode is Mode.PAPER and not self.run.experiment:
            raise ValueError(
                "[budget] mode: paper mode reveals private votes when it stops; it is for "
                "reproduction only and needs [run] experiment = true"
            )
        try:
            self.request(queries=1)
        except ParameterError as problem:
            where = "individual" if individual is not None else "budget"
            if self.together.method is not None:
                where = "together"
            raise ValueError(f"[{where}] {problem}") from problem
        return self

    @model_validator(mode="after")
    def _require_ledger_without_seed(self) -> Self:
        if not self.run.experiment and self.budget.ledger is None:
            raise ValueError(
                "[budget] ledger is missing: all runs on a data set share its budget, so a real "
                "run names its data set's ledger (an experiment sets [run] experiment = true)"
            )
        if not self.run.experiment and self.run.seed is not None:
            raise ValueError(
                "[run] seed: whoever knows the seed can remove the noise; "
                "delete it, or set [run] experiment = true"
            )
        return self

    def request(self, *, labels: Sequence[str | int] = (), queries: int) -> Request:
        """Return what the run asks of the pipeline.

        Args:
            labels: the names of the labels, if records have several.
            queries: how many different public rows there are to ask.
        """
        budget = self.budget.build()
        return Request(
            mechanism=self.voting.build(labels),
            teachers=self.teachers.number,
            mode=self.budget.mode,
            budget=budget,
            delta=self.budget.delta if budget is None else None,
            individual=self.individual.build(self.budget.groups),
            queries=queries if self.budget.mode is Mode.FIXED else None,
            together=self.together.build(),
        )

    def learner(self) -> tuple[str, dict[str, Any]]:
        """Return the student's kind and options."""
        return self.student.resolve(
            several=self.voting.build().multilabel, patches=self.features.kind == "patches"
        )

    def data_spec(self) -> DataSpec:
        """Return what to load."""
        data, individual = self.data, self.individual
        return DataSpec(
            source=data.source,
            data_folder=data.folder,
            private=data.private,
            public=data.public,
            test=data.test,
            target=data.target,
            targets=None if data.targets is None else tuple(data.targets),
            schema=data.schema_file,
            classes=None if data.classes is None else tuple(data.classes),
            public_rows=data.public_rows,
            test_rows=data.test_rows,
            group_column=individual.column or self.partition.column,
            groups=individual.groups,
            # All runs on a data set must agree on which rows are public.
            split_seed=self.run.seed or 0,
        )

    @classmethod
    def parse(cls, text: str, where: str) -> RunFile:
        """Parse TOML text; every error is one line that names the key."""
        try:
            return cls.model_validate(tomllib.loads(text))
        except ValidationError as problem:
            raise RunFileError(f"{where}: {_first_problem(problem)}") from problem
        except RecursionError:
            raise RunFileError(f"{where} is not valid TOML: it is nested too deeply") from None
        except ValueError as problem:  # from tomllib, or from a number with too many digits
            raise RunFileError(f"{where} is not valid TOML: {problem}") from problem

    @classmethod
    def load(cls, path: Path) -> RunFile:
        """Read a run file; paths in it are relative to the file."""
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as problem:
            raise RunFileError(f"the run file {path} cannot be read: {problem.strerror}") from None
        except UnicodeDecodeError:
            raise RunFileError(f"the run file {path} is not UTF-8 text") from None
        except ValueError:
            raise RunFileError(
                "the run file cannot be read: this is not a valid file name"
            ) from None
        return cls.parse(text, str(path)).resolved(path.resolve().parent)

    def resolved(self, base: Path) -> RunFile:
        """Return a copy with absolute paths."""
        data = self.data.model_copy(
            update={
                name: base / value
                for name in ("folder", "private", "public", "test", "schema_file")
                if (value := getattr(self.data, name)) is not None
            }
        )
        update: dict[str, Any] = {"data": data}
        if self.budget.ledger is not None:
            update["budget"] = self.budget.model_copy(update={"ledger": base / self.budget.ledger})
        if self.individual.groups is not None:
            groups = base / self.individual.groups
            update["individual"] = self.individual.model_copy(update={"groups": groups})
        if self.run.folder is not None:
            update["run"] = self.run.model_copy(update={"folder": base / self.run.folder})
        return self.model_copy(update=update)

    def with_changes(self, *, folder: Path | None, seed: int | None) -> RunFile:
        """Return a copy with another folder or seed, validated again."""
        changes = {"folder": folder, "seed": seed}
        content = self.model_dump(by_alias=True)
        content["run"].update({key: value for key, value in changes.items() if value is not None})
        try:
            return RunFile.model_validate(content)
        except ValidationError as problem:
            raise RunFileError(_first_problem(problem)) from problem

    def to_toml(self) -> str:
        """Return the run file as TOML, with all defaults written out."""
        content = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        return tomli_w.dumps(content)


def embedded_runfile(name: str) -> str:
    """Return the text of a run file that ships with Ballotine."""
    return (resources.files("ballotine.pipeline") / "runfiles" / f"{name}.toml").read_text("utf-8")


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    place = [str(part) for part in first["loc"]]
    message = first["msg"].removeprefix("Value error, ")
    message = message[:1].lower() + message[1:] if not message.startswith("[") else message
    if first["type"] == "extra_forbidden":
        message = "unknown key"
    if not place:
        return message
    section, *rest = place
    key = ".".join(part for part in rest if not part.startswith(("list[", "function-")))
    return f"[{section}] {key}: {message}" if key else f"[{section}] {message}"
