"""The sections of a run file that decide what is released and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, create_model, model_validator

from ballotine.errors import ParameterError
from ballotine.ledger import Mode
from ballotine.pipeline.sections import FilePath, Section
from ballotine.privacy.guarantee import Budget
from ballotine.text import quoted
from ballotine.voting import MECHANISMS, Dependencies, Mechanism, make_mechanism
from ballotine.voting.individual import SCHEMES, Scheme, budget_of
from ballotine.voting.parameters import shared


class VotingSection(Section):
    """How ballots become answers; all other keys are parameters that mechanisms declare."""

    model_config = ConfigDict(extra="allow")

    mechanism: str = "confident-gnmax"
    thresholds: float | list[float] | None = Field(
        default=None, description="probability above which a teacher names a label"
    )
    parents: dict[str, str] | None = Field(
        default=None, description="the label that each label implies"
    )
    first: Literal["roots", "leaves"] | None = None
    max_queries: int | None = Field(default=None, ge=1, description="the most public rows to ask")

    @classmethod
    def parameters(cls) -> type[Section]:
        """Return a section of the parameters that mechanisms declare."""
        keys: dict[str, Any] = {
            name: (one.type | None, Field(default=None, gt=one.above, description=one.help))
            for name, one in shared(MECHANISMS.usable()).items()
        }
        return create_model("Parameters", __base__=Section, **keys)

    @model_validator(mode="before")
    @classmethod
    def _check_parameters(cls, content: Any) -> Any:
        """Report unknown keys and invalid values under their own key."""
        if not isinstance(content, dict):
            return content
        if isinstance(name := content.get("mechanism"), str):
            MECHANISMS.require(name)  # report a wrong mechanism before its parameters
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
            raise ValueError("first needs parents: it says which of these labels are asked first")
        return self

    def build(self, labels: Sequence[str | int] = ()) -> Mechanism:
        """Return the mechanism, with its parameters.

        Args:
            labels: the names of the labels, to which ``parents`` refers.
        """
        parameters = dict(self.model_extra or {})
        if labels and self.parents is not None:
            parameters["dependencies"] = self._dependencies([str(name) for name in labels])
        return make_mechanism(self.mechanism, parameters)

    def _dependencies(self, labels: list[str]) -> Dependencies:
        parents = self.parents or {}
        if unknown := [n for pair in parents.items() for n in pair if n not in labels]:
            raise ParameterError(
                f"[voting] parents: unknown label {quoted(unknown[:1])}; the labels are "
                f"{quoted(labels)}"
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
    ledger: FilePath | None = Field(
        default=None, description="the data set's ledger, shared by its runs"
    )

    @model_validator(mode="after")
    def _one_promise(self) -> Self:
        if self.groups and self.epsilon is not None:
            raise ValueError("give either epsilon (for everyone) or groups (one ε per group)")
        if self.mode is Mode.FIXED and (self.groups or self.epsilon is not None):
            raise ValueError(
                "in fixed mode the number of queries determines the cost: "
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
        """Return the budget for everyone; None with groups and in fixed mode."""
        return None if self.epsilon is None else Budget(self.epsilon, self.delta)


class IndividualSection(Section):
    """How individual budgets are enforced, and which record is in which group."""

    method: Literal["weighting", "upsampling", "vanishing"] | None = None
    column: str | None = Field(default=None, description="column that names each record's group")
    groups: FilePath | None = Field(
        default=None, description="file that names each record's group, instead of column"
    )
    rule: str | None = Field(default=None, description="how budgets determine influence")
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
        """Return the scheme, with its options."""
        if self.method is None:
            return None
        kind = SCHEMES[self.method]
        options = {key: getattr(self, key) for key in ("rule", "precision")}
        given = {key: value for key, value in options.items() if value is not None}
        known = {field.name for field in fields(kind) if field.default is not MISSING}
        if extra := sorted(set(given) - known):
            raise ParameterError(f"{self.method} does not use {extra[0]}")
        return kind(budgets, **given)
