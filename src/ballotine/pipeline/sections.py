"""The sections of a run file, with their keys and defaults: data, teachers, student, report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from ballotine.data.partition import Strategy, make_strategy
from ballotine.teachers.together import LearnTogether
from ballotine.types import Labels

LONGEST_NAME = 255
"""The most bytes that a file name may have."""


def _require_valid(path: Path) -> Path:
    """Refuse a path that no file can have."""
    if "\0" in str(path) or any(len(os.fsencode(part)) > LONGEST_NAME for part in path.parts):
        raise ValueError("this is not a valid file name")
    return path


FilePath = Annotated[Path, AfterValidator(_require_valid)]


class Section(BaseModel):
    """A section of a run file; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class RunSection(Section):
    """The run's name, folder and seed."""

    name: str = Field(default="run", pattern=r"^[A-Za-z0-9._-]+$", max_length=100)
    folder: FilePath | None = Field(
        default=None, description="where results go; runs/NAME-… by default"
    )
    seed: int | None = Field(default=None, ge=0, description="for experiments only")
    experiment: bool = False


class DataSection(Section):
    """Where the records come from."""

    source: str | None = Field(default=None, description="a named set (see: ballotine data list)")
    folder: FilePath | None = Field(default=None, description="folder that holds named sets")
    private: FilePath | None = Field(
        default=None, description="private records: .csv, .parquet or .npz"
    )
    public: FilePath | None = Field(default=None, description="public rows to be answered")
    test: FilePath | None = Field(default=None, description="labelled public rows for evaluation")
    target: str | None = Field(default=None, description="column that holds the class")
    targets: list[str] | None = Field(
        default=None, min_length=1, description="columns of 0 and 1, one per label"
    )
    classes: list[str] | list[int] | None = Field(
        default=None, description="the classes, if they are public knowledge"
    )
    schema_file: FilePath | None = Field(
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
                "there are no public rows to answer: give public (a file), or public_rows (how "
                "many rows of the set or of the private file become public)"
            )
        if self.targets is not None and (self.target is not None or self.classes is not None):
            raise ValueError("give either targets (several labels), or target and classes")
        return self


class FeaturesSection(Section):
    """A transformer that is fitted on public rows and applied to all rows."""

    kind: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.kind is None and self.options:
            raise ValueError("options need a kind")
        return self


class PartitionSection(Section):
    """How records are assigned to teachers."""

    kind: Literal["random", "stratified", "similarity", "dirichlet", "column"] = "random"
    similarity: float | None = Field(
        default=None, ge=0, le=100, description="similarity: percent of records assigned at random"
    )
    alpha: float | None = Field(default=None, gt=0, description="dirichlet: small is uneven")
    column: str | None = Field(
        default=None, description="column of the private file that names each record's teacher"
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        uses = {"similarity": "similarity", "dirichlet": "alpha", "column": "column"}
        for key in ("similarity", "alpha", "column"):
            needed = uses.get(self.kind) == key
            if needed and getattr(self, key) is None:
                raise ValueError(f"{key} is missing: {self.kind} needs it")
            if not needed and getattr(self, key) is not None:
                raise ValueError(f"{self.kind} does not use {key}")
        return self

    def build(self, names: Labels | None) -> Strategy:
        """Return the partition strategy.

        Args:
            names: the column's values, one per private record.
        """
        options: dict[str, dict[str, Any]] = {
            "similarity": {"s": self.similarity},
            "dirichlet": {"alpha": self.alpha},
            "column": {"names": names},
        }
        return make_strategy(self.kind, options.get(self.kind, {}))


class TeachersSection(Section):
    """How many teachers there are, and what they are."""

    number: int = Field(default=50, ge=1, le=10**7)
    kind: str = "nearest-neighbours"
    options: dict[str, Any] = Field(default_factory=dict)
    engine: Literal["local", "ray"] = "local"
    jobs: int | None = Field(
        default=None, ge=1, le=10_000, description="processes; all cores by default"
    )


class TogetherSection(Section):
    """How teachers learn together, in rounds; without a method each learns alone.

    The keys are those of `LearnTogether`, which also checks them.
    """

    method: Literal["ttac", "averaging"] | None = None
    rounds: int = LearnTogether.rounds
    steps: int = LearnTogether.steps
    step_size: float = LearnTogether.step_size
    decay: float = LearnTogether.decay
    averaging_step: float = LearnTogether.averaging_step
    clip: float | None = None
    noise_multiplier: float | None = None
    share: float | None = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        for key in ("clip", "noise_multiplier", "share"):
            if self.method is None and getattr(self, key) is not None:
                raise ValueError(f"{key} needs a method: ttac or averaging")
        self._settings()
        return self

    def build(self) -> LearnTogether | None:
        """Return the settings; None if each teacher learns alone."""
        return None if self.method is None else self._settings()

    def _settings(self) -> LearnTogether:
        return LearnTogether(**self.model_dump(exclude_none=True))


class StudentSection(Section):
    """The model that is trained on the answers and may be released."""

    kind: str = "auto"
    options: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.kind == "auto" and self.options:
            raise ValueError("options need a kind other than auto")
        return self

    def resolve(self, *, several: bool, patches: bool) -> tuple[str, dict[str, Any]]:
        """Return kind and options, with auto resolved.

        The choices of auto were measured: docs/papers/student.md and patepp.md.

        Args:
            several: whether a record may have several labels.
            patches: whether the features are patches of images.
        """
        if self.kind != "auto":
            return self.kind, self.options
        if several:
            return "logistic-regression", {"max_iter": 1000}
        if patches:
            return "mixmatch", {"epochs": 10, "ema": 0.99}
        return "spreading", {}


class ReportSection(Section):
    """The report's title and the data's holder."""

    title: str = "Privacy report"
    holder: str = Field(default="", description="who holds the data, for the card")
