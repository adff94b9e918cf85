"""One TOML file is one run: its sections, their defaults, and errors that name the key."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import Any, Literal, Self

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ballotine.errors import RunFileError
from ballotine.privacy.guarantee import Budget
from ballotine.voting import Mechanism, make_mechanism


class Section(BaseModel):
    """A section of a run file: unknown keys are errors, values are what they say."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class DataSection(Section):
    """Where the records come from."""

    source: str | None = Field(default=None, description="a named set (see: ballotine data list)")
    folder: Path | None = Field(default=None, description="folder that holds named sets")
    private: Path | None = Field(
        default=None, description="private records: .csv, .parquet or .npz"
    )
    public: Path | None = Field(default=None, description="public rows to be answered")
    test: Path | None = Field(default=None, description="labelled public rows for evaluation")
    target: str | None = Field(default=None, description="column that holds the class")
    classes: list[str] | list[int] | None = Field(
        default=None, description="the classes, as public facts"
    )
    schema_file: Path | None = Field(
        default=None, alias="schema", description="public schema: ranges, levels, classes"
    )
    public_rows: int | float | None = Field(
        None, description="rows of the set or private file made public"
    )
    test_rows: int | float | None = Field(default=None, description="rows kept for testing")

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        if (self.source is None) == (self.private is None):
            raise ValueError("give either source (a named set) or private (a file)")
        if self.public is None and self.public_rows is None:
            raise ValueError(
                "no public rows to be answered: give public (a file), or public_rows (how many "
                "rows of the set or of the private file are made public)"
            )
        return self


class PartitionSection(Section):
    """How records are dealt to teachers."""

    kind: Literal["random", "stratified"] = "random"


class TeachersSection(Section):
    """Who learns from the private records."""

    number: int = Field(default=50, ge=1)
    kind: str = "nearest-neighbours"
    options: dict[str, Any] = Field(default_factory=dict)
    engine: Literal["local", "ray"] = "local"
    jobs: int | None = Field(default=None, ge=1, description="processes; all cores when absent")


class VotingSection(Section):
    """How ballots become answers."""

    mechanism: str = "confident-gnmax"
    sigma: float | None = Field(default=None, gt=0)
    threshold: float | None = None
    sigma_threshold: float | None = Field(default=None, gt=0)
    gamma: float | None = Field(default=None, gt=0)
    max_queries: int | None = Field(
        default=None, ge=1, description="ask at most so many public rows"
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        self.build()
        return self

    def build(self) -> Mechanism:
        """The mechanism with exactly the parameters it takes."""
        return make_mechanism(self.mechanism, self.model_dump(exclude={"mechanism", "max_queries"}))


class BudgetSection(Section):
    """What may be spent on this data set, ever."""

    epsilon: float = Field(gt=0)
    delta: float = Field(gt=0, lt=1)
    ledger: Path | None = Field(
        default=None, description="the data set's ledger, shared by its runs"
    )

    def build(self) -> Budget:
        """The promise."""
        return Budget(self.epsilon, self.delta)


class StudentSection(Section):
    """Who learns from the answers and may be released."""

    kind: str = "spreading"
    options: dict[str, Any] = Field(default_factory=dict)


class ReportSection(Section):
    """What the report says about itself."""

    title: str = "Privacy report"
    holder: str = Field(default="", description="who holds the data, for the card")


class RunSection(Section):
    """How the run is carried out."""

    name: str = Field(default="run", pattern=r"^[A-Za-z0-9._-]+$")
    folder: Path | None = Field(
        default=None, description="where results go; runs/NAME-… when absent"
    )
    seed: int | None = Field(default=None, ge=0, description="for experiments only")
    experiment: bool = False


class RunFile(Section):
    """A whole run file."""

    run: RunSection = RunSection()
    data: DataSection
    partition: PartitionSection = PartitionSection()
    teachers: TeachersSection = TeachersSection()
    voting: VotingSection
    budget: BudgetSection
    student: StudentSection = StudentSection()
    report: ReportSection = ReportSection()

    @model_validator(mode="after")
    def _real_runs_name_a_ledger(self) -> Self:
        if not self.run.experiment and self.budget.ledger is None:
            raise ValueError(
                "[budget] ledger is missing: privacy is spent on the data, not on a run, so a "
                "real run names the ledger of its data set (or says [run] experiment = true)"
            )
        if not self.run.experiment and self.run.seed is not None:
            raise ValueError(
                "[run] seed: who knows the seed can remove the noise; "
                "delete it, or say [run] experiment = true"
            )
        return self

    @classmethod
    def parse(cls, text: str, where: str) -> RunFile:
        """Read TOML text; every error is one line that names the key."""
        try:
            return cls.model_validate(tomllib.loads(text))
        except tomllib.TOMLDecodeError as problem:
            raise RunFileError(f"{where} is not valid TOML: {problem}") from problem
        except ValidationError as problem:
            raise RunFileError(f"{where}: {_first_problem(problem)}") from problem

    @classmethod
    def load(cls, path: Path) -> RunFile:
        """Read a run file; paths in it are relative to the file."""
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as problem:
            raise RunFileError(f"the run file {path} cannot be read: {problem.strerror}") from None
        except UnicodeDecodeError:
            raise RunFileError(f"the run file {path} is not UTF-8 text") from None
        return cls.parse(text, str(path)).resolved(path.resolve().parent)

    def resolved(self, base: Path) -> RunFile:
        """The same run with every path absolute."""
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
        if self.run.folder is not None:
            update["run"] = self.run.model_copy(update={"folder": base / self.run.folder})
        return self.model_copy(update=update)

    def with_changes(self, *, folder: Path | None, seed: int | None) -> RunFile:
        """The same run with another folder or seed, checked again as a whole."""
        changes = {"folder": folder, "seed": seed}
        content = self.model_dump(by_alias=True)
        content["run"].update({key: value for key, value in changes.items() if value is not None})
        try:
            return RunFile.model_validate(content)
        except ValidationError as problem:
            raise RunFileError(_first_problem(problem)) from problem

    def to_toml(self) -> str:
        """The resolved run, every default written out."""
        content = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        return tomli_w.dumps(content)


def embedded(name: str) -> str:
    """The text of a run file that ships with Ballotine."""
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
