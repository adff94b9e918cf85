"""The sections of a run file: their keys, their defaults, and what they are turned into."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model, model_validator

from ballotine.data.partition import Strategy, make_strategy
from ballotine.errors import ParameterError
from ballotine.ledger import Mode
from ballotine.privacy.guarantee import Budget
from ballotine.teachers.together import LearnTogether
from ballotine.text import quoted
from ballotine.types import Labels
from ballotine.voting import MECHANISMS, Dependencies, Mechanism, make_mechanism
from ballotine.voting.individual import SCHEMES, Scheme, budget_of
from ballotine.voting.parameters import shared

LONGEST_NAME = 255
"""Bytes in the name of a file."""


def _named(path: Path) -> Path:
    """A path that can be asked for; whether it is there is another question."""
    if "\0" in str(path) or any(len(os.fsencode(part)) > LONGEST_NAME for part in path.parts):
        raise ValueError("this cannot be the name of a file")
    return path


Place = Annotated[Path, AfterValidator(_named)]


class Section(BaseModel):
    """A section of a run file: unknown keys are errors, values are what they say."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class RunSection(Section):
    """How the run is carried out."""

    name: str = Field(default="run", pattern=r"^[A-Za-z0-9._-]+$", max_length=100)
    folder: Place | None = Field(
        default=None, description="where results go; runs/NAME-… when absent"
    )
    seed: int | None = Field(default=None, ge=0, description="for experiments only")
    experiment: bool = False


class DataSection(Section):
    """Where the records come from."""

    source: str | None = Field(default=None, description="a named set (see: ballotine data list)")
    folder: Place | None = Field(default=None, description="folder that holds named sets")
    private: Place | None = Field(
        default=None, description="private records: .csv, .parquet or .npz"
    )
    public: Place | None = Field(default=None, description="public rows to be answered")
    test: Place | None = Field(default=None, description="labelled public rows for evaluation")
    target: str | None = Field(default=None, description="column that holds the class")
    targets: list[str] | None = Field(
        default=None, min_length=1, description="columns of 0 and 1, one per label"
    )
    classes: list[str] | list[int] | None = Field(
        default=None, description="the classes, as public facts"
    )
    schema_file: Place | None = Field(
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
        if self.targets is not None and (self.target is not None or self.classes is not None):
            raise ValueError("targets are labels of 0 and 1: give neither target nor classes")
        return self


class FeaturesSection(Section):
    """What teachers and student see of a row; learnt from public rows alone."""

    kind: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.kind is None and self.options:
            raise ValueError("options need a kind")
        return self


class PartitionSection(Section):
    """How records are dealt to teachers."""

    kind: Literal["random", "stratified", "similarity", "dirichlet", "column"] = "random"
    similarity: float | None = Field(
        default=None, ge=0, le=100, description="similarity: percent of records dealt at random"
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
        """The way to deal.

        Args:
            names: what the column holds, one for every private record.
        """
        options: dict[str, dict[str, Any]] = {
            "similarity": {"s": self.similarity},
            "dirichlet": {"alpha": self.alpha},
            "column": {"names": names},
        }
        return make_strategy(self.kind, options.get(self.kind, {}))


class TeachersSection(Section):
    """Who learns from the private records."""

    number: int = Field(default=50, ge=1, le=10**7)
    kind: str = "nearest-neighbours"
    options: dict[str, Any] = Field(default_factory=dict)
    engine: Literal["local", "ray"] = "local"
    jobs: int | None = Field(
        default=None, ge=1, le=10_000, description="processes; all cores when absent"
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
        """How they learn together, if they do."""
        return None if self.method is None else self._settings()

    def _settings(self) -> LearnTogether:
        return LearnTogether(**self.model_dump(exclude_none=True))


class VotingSection(Section):
    """How ballots become answers; all other keys are parameters that mechanisms declare."""

    model_config = ConfigDict(extra="allow")

    mechanism: str = "confident-gnmax"
    thresholds: float | list[float] | None = Field(
        default=None, description="when a teacher names a label"
    )
    parents: dict[str, str] | None = Field(default=None, description="which label implies which")
    first: Literal["roots", "leaves"] | None = None
    max_queries: int | None = Field(
        default=None, ge=1, description="ask at most so many public rows"
    )

    @classmethod
    def parameters(cls) -> type[Section]:
        """The keys of mechanisms, as a section of their own."""
        keys: dict[str, Any] = {
            name: (one.type | None, Field(default=None, gt=one.above, description=one.help))
            for name, one in shared(MECHANISMS.usable()).items()
        }
        return create_model("Parameters", __base__=Section, **keys)

    @model_validator(mode="before")
    @classmethod
    def _check_parameters(cls, content: Any) -> Any:
        """Unknown keys and values of the wrong kind are errors of that key."""
        if not isinstance(content, dict):
            return content
        if isinstance(name := content.get("mechanism"), str):
            MECHANISMS.require(name)  # what is wrong with it comes before its keys
        given = {key: value for key, value in content.items() if key not in cls.model_fields}
        checked = cls.parameters().model_validate(given)
        return content | checked.model_dump(exclude_unset=True)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        mechanism = self.build()
        for key in ("thresholds", "parents", "first"):
            if getattr(self, key) is not None and not mechanism.multilabel:
                raise ValueError(f"{mechanism.name} does not use {key}")
        if self.parents is not None and not hasattr(mechanism, "dependencies"):
            raise ValueError(f"{mechanism.name} does not use parents")
        if self.first is not None and self.parents is None:
            raise ValueError("first says which end of parents is asked first: give parents")
        return self

    def build(self, labels: Sequence[str | int] = ()) -> Mechanism:
        """The mechanism with exactly the parameters it takes.

        Args:
            labels: the names of the labels, which ``parents`` speaks of.
        """
        parameters = dict(self.model_extra or {})
        if labels and self.parents is not None:
            parameters["dependencies"] = self._dependencies([str(name) for name in labels])
        return make_mechanism(self.mechanism, parameters)

    def _dependencies(self, labels: list[str]) -> Dependencies:
        parents = self.parents or {}
        if unknown := [n for pair in parents.items() for n in pair if n not in labels]:
            raise ParameterError(
                f"[voting] parents: there is no label {quoted(unknown[:1])}; "
                f"there are {quoted(labels)}"
            )
        numbers = tuple(labels.index(parents[name]) if name in parents else None for name in labels)
        return Dependencies(numbers, self.first or "roots")


class BudgetSection(Section):
    """What may be spent on this data set, ever, and when answering stops."""

    epsilon: float | None = Field(default=None, gt=0)
    delta: float = Field(gt=0, lt=1)
    mode: Mode = Mode.STRICT
    groups: dict[str, float | str] = Field(
        default_factory=dict, description="ε, or a level, by group"
    )
    ledger: Place | None = Field(
        default=None, description="the data set's ledger, shared by its runs"
    )

    @model_validator(mode="after")
    def _one_promise(self) -> Self:
        if self.groups and self.epsilon is not None:
            raise ValueError("epsilon is for everyone, and groups have their own: give one of them")
        if self.mode is Mode.FIXED and (self.groups or self.epsilon is not None):
            raise ValueError(
                "in fixed mode the number of queries decides what they cost: "
                f"leave {'groups' if self.groups else 'epsilon'} out"
            )
        if self.mode is not Mode.FIXED and not self.groups and self.epsilon is None:
            raise ValueError("epsilon is missing (or groups, with individual budgets)")
        for name, value in self.groups.items():
            try:
                budget_of(value)
            except ParameterError as problem:
                raise ValueError(f"groups.{name}: {problem}") from problem
        return self

    def build(self) -> Budget | None:
        """The promise to everyone; None where groups, or the fixed mode, make another."""
        return None if self.epsilon is None else Budget(self.epsilon, self.delta)


class IndividualSection(Section):
    """How records with budgets of their own are taught, and where it says who is who."""

    method: Literal["weighting", "upsampling", "vanishing"] | None = None
    column: str | None = Field(default=None, description="column that names each record's group")
    groups: Place | None = Field(
        default=None, description="file that names each record's group instead"
    )
    rule: str | None = Field(default=None, description="how budgets become influence")
    precision: float | None = Field(default=None, gt=0, description="upsampling only")

    @model_validator(mode="after")
    def _complete(self) -> Self:
        given = [key for key in type(self).model_fields if getattr(self, key) is not None]
        if self.method is None:
            if given:
                raise ValueError(f"{given[0]} needs a method: {', '.join(SCHEMES)}")
            return self
        if (self.column is None) == (self.groups is None):
            raise ValueError("give either column (of the private file) or groups (a file)")
        self.build({"everyone": 1.0})
        return self

    def build(self, budgets: dict[str, float | str]) -> Scheme | None:
        """The scheme with exactly the options it takes."""
        if self.method is None:
            return None
        kind = SCHEMES[self.method]
        options = {key: getattr(self, key) for key in ("rule", "precision")}
        given = {key: value for key, value in options.items() if value is not None}
        known = {field.name for field in fields(kind) if field.default is not MISSING}
        if extra := sorted(set(given) - known):
            raise ParameterError(f"{self.method} does not use {extra[0]}")
        return kind(budgets, **given)


class StudentSection(Section):
    """Who learns from the answers and may be released."""

    kind: str = "auto"
    options: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.kind == "auto" and self.options:
            raise ValueError("options need a kind other than auto")
        return self

    def resolve(self, *, several: bool, patches: bool) -> tuple[str, dict[str, Any]]:
        """Kind and options, those of auto as well.

        What auto takes was measured, by kind of data: docs/papers/student.md and patepp.md.

        Args:
            several: whether a record may have several labels.
            patches: whether rows are seen as patches of images.
        """
        if self.kind != "auto":
            return self.kind, self.options
        if several:
            return "logistic-regression", {"max_iter": 1000}
        if patches:
            return "mixmatch", {"epochs": 10, "ema": 0.99}
        return "spreading", {}


class ReportSection(Section):
    """What the report says about itself."""

    title: str = "Privacy report"
    holder: str = Field(default="", description="who holds the data, for the card")
