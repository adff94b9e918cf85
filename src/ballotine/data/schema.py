"""The public description of a table: what its columns may hold, and which classes there are.

Everything that preprocessing needs (ranges, levels, fills, classes) is either written down by
someone who did not look at the private rows, or derived from public rows. It is never learnt
from all private rows together, because that would be a release.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
import pyarrow as pa
import pydantic
import tomli_w

from ballotine.data.table import distinct, is_numeric, numbers, require_columns
from ballotine.errors import DataError
from ballotine.text import printable

Class = pydantic.StrictStr | pydantic.StrictInt
_Number = Annotated[float, pydantic.Field(strict=True, allow_inf_nan=False)]

MAX_LEVELS = 1000
"""A text column with more distinct values than this is prose or a key, not a category."""


class ColumnSchema(pydantic.BaseModel):
    """One feature: numeric (`low`, `high`, optional `missing`) or categorical (`levels`)."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")

    low: _Number | None = None
    high: _Number | None = None
    missing: _Number | None = None
    levels: tuple[pydantic.StrictStr, ...] | None = None

    @pydantic.field_validator("levels", mode="before")
    @classmethod
    def _levels_are_text(cls, levels: Any) -> Any:
        if not isinstance(levels, list | tuple):
            return levels
        return tuple(str(v) if type(v) is int else v for v in levels)

    @pydantic.model_validator(mode="after")
    def _one_kind(self) -> Self:
        if self.levels is None:
            self._check_range()
        elif self.low is not None or self.high is not None or self.missing is not None:
            raise ValueError("give either levels, or low, high and missing, not both")
        elif not self.levels or "" in self.levels:
            raise ValueError("levels must be a list of non-empty texts")
        elif len(set(self.levels)) < len(self.levels):
            raise ValueError("a level is listed twice")
        return self

    def _check_range(self) -> None:
        if self.low is None or self.high is None:
            raise ValueError("a column needs low and high (numeric) or levels (categorical)")
        if self.low > self.high:
            raise ValueError("low is greater than high")
        if not np.isfinite(self.high - self.low):
            raise ValueError("the range from low to high is too wide for floating point")
        if self.missing is not None and not self.low <= self.missing <= self.high:
            raise ValueError("missing must lie between low and high")

    @property
    def fill(self) -> float:
        """The replacement of a missing number: `missing`, or the middle of the public range."""
        if self.missing is not None:
            return self.missing
        assert self.low is not None
        assert self.high is not None
        return self.low + (self.high - self.low) / 2


class Schema(pydantic.BaseModel):
    """Ordered columns, the name of the target column and its classes, all public."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")

    target: pydantic.StrictStr | None = None
    classes: tuple[Class, ...] | None = None
    columns: dict[str, ColumnSchema]

    @pydantic.model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.columns:
            raise ValueError("columns must name at least one column")
        if self.target is not None and self.target in self.columns:
            raise ValueError("the target column cannot also be a feature column")
        if self.classes is not None:
            check_classes(self.classes)
        return self

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any], where: str = "schema") -> Self:
        """Validate parsed TOML; errors name the key that is wrong."""
        try:
            return cls.model_validate(dict(content))
        except pydantic.ValidationError as error:
            raise DataError(f"{where}: {_first_problem(error)}") from None

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Read a schema from a TOML file."""
        where = f"schema {printable(Path(path).name, 80)}"
        try:
            content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise DataError(f"{where} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise DataError(f"{where} is not UTF-8 text") from None
        except RecursionError:
            raise DataError(f"{where} is not valid TOML: it is nested too deeply") from None
        except ValueError as error:  # from tomllib, or from a number with too many digits
            raise DataError(f"{where} is not valid TOML: {printable(error, 120)}") from None
        return cls.from_mapping(content, where)

    @classmethod
    def from_public(
        cls,
        table: pa.Table,
        *,
        target: str | None = None,
        classes: tuple[str | int, ...] | None = None,
        where: str = "the public data",
    ) -> Self:
        """Derive ranges and levels from PUBLIC rows; never call this with private rows."""
        names = [name for name in table.column_names if name != target]
        require_columns(table.column_names, names, where)
        columns = {name: _describe(table[name], name, where).model_dump() for name in names}
        return cls.from_mapping({"target": target, "classes": classes, "columns": columns}, where)

    def to_toml(self) -> str:
        """Return the schema as the TOML text that `from_file` reads."""
        return tomli_w.dumps(self.model_dump(mode="json", exclude_none=True))


def check_classes(classes: tuple[str | int, ...]) -> None:
    """Raise ValueError unless these can be the classes of a vote."""
    texts = [str(c).strip() for c in classes]
    if len(texts) < 2:
        raise ValueError("classes must list at least two classes")
    if "" in texts:
        raise ValueError("a class has an empty name")
    if len(set(texts)) < len(texts):
        raise ValueError("a class is listed twice")


def _describe(column: pa.ChunkedArray, name: str, where: str) -> ColumnSchema:
    if is_numeric(column):
        values = numbers(column, name, where)
        values = values[~np.isnan(values)]
        if len(values):
            return _column(name, where, low=float(values.min()), high=float(values.max()))
        raise DataError(
            f"column '{printable(name)}' of {where} holds only missing values, so it has no range; "
            "give a schema, or remove the column"
        )
    levels = sorted(distinct(column, name, where))
    if len(levels) > MAX_LEVELS:
        raise DataError(
            f"column '{printable(name)}' of {where} holds {len(levels)} different texts, too many "
            "for a category; remove it, or declare its levels in a schema"
        )
    return _column(name, where, levels=tuple(levels))


def _column(name: str, where: str, **fields: Any) -> ColumnSchema:
    try:
        return ColumnSchema(**fields)
    except pydantic.ValidationError as error:
        raise DataError(f"column '{printable(name)}' of {where}: {_first_problem(error)}") from None


def _first_problem(error: pydantic.ValidationError) -> str:
    problem = error.errors(include_url=False, include_input=False)[0]
    key = ".".join(printable(part) for part in problem["loc"])
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden":
        message = "unknown key"
    return f"{key}: {message}" if key else message
