"""Schemas: what they accept and what they refuse."""

import tomllib
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ballotine.data import Schema
from ballotine.data.schema import MAX_LEVELS, ColumnSchema
from ballotine.errors import DataError

TEXT = """
target = "ill"
classes = ["no", "yes"]

[columns.age]
low = 0
high = 120
missing = 40

[columns.ward]
levels = ["A", "B", 3]
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "schema.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_reads_toml_in_order(tmp_path):
    schema = Schema.from_file(write(tmp_path, TEXT))
    assert list(schema.columns) == ["age", "ward"]
    assert schema.columns["age"].fill == 40
    assert schema.columns["ward"].levels == ("A", "B", "3")
    assert (schema.target, schema.classes) == ("ill", ("no", "yes"))


def test_fill_is_the_public_midpoint_unless_given():
    assert ColumnSchema(low=-2, high=4).fill == 1
    assert ColumnSchema(low=-2, high=4, missing=4).fill == 4


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
columns = st.one_of(
    st.builds(
        lambda a, b: ColumnSchema(low=min(a, b), high=max(a, b)),
        st.floats(-1e9, 1e9),
        st.floats(-1e9, 1e9),
    ),
    st.lists(names, min_size=1, max_size=4, unique=True).map(
        lambda v: ColumnSchema(levels=tuple(v))
    ),
)


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(names, columns, min_size=1, max_size=4))
def test_toml_round_trip_with_any_names(described):
    schema = Schema(columns=described, classes=(3, 1, 2))
    again = Schema.from_mapping(tomllib.loads(schema.to_toml()))
    assert again == schema
    assert list(again.columns) == list(schema.columns)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("high = 120", "high = -1", "columns.age: low is greater than high"),
        ("high = 120", 'high = "much"', "columns.age.high: Input should be a valid number"),
        ("high = 120", "high = inf", "columns.age.high"),
        ("high = 120", "high = true", "columns.age.high"),
        ("high = 120", "", "columns.age: a column needs low and high"),
        ("low = 0\nhigh = 120", "low = -1.7e308\nhigh = 1.7e308", "too wide"),
        ("missing = 40", "missing = 400", "columns.age: missing must lie between low and high"),
        ("missing = 40", "colour = 3", "columns.age.colour: unknown key"),
        ("missing = 40", 'levels = ["a"]', "either levels, or low"),
        ('["A", "B", 3]', '["A", "A"]', "columns.ward: a level is listed twice"),
        ('["A", "B", 3]', "[]", "columns.ward: levels must be"),
        ('["A", "B", 3]', "[1.5]", "columns.ward.levels"),
        ('["no", "yes"]', '["no"]', "at least two classes"),
        ('["no", "yes"]', '["no", "no"]', "a class is listed twice"),
        ('["no", "yes"]', '["1", 1]', "a class is listed twice"),
        ('["no", "yes"]', '["no", ""]', "empty name"),
        ('["no", "yes"]', "[true, false]", "classes"),
        ('target = "ill"', 'target = "age"', "cannot also be a feature column"),
        ('target = "ill"', "tarjet = 1", "tarjet: unknown key"),
        ('target = "ill"', "target =", "is not valid TOML"),
    ],
)
def test_errors_name_the_key(tmp_path, old, new, message):
    assert old in TEXT
    path = write(tmp_path, TEXT.replace(old, new))
    with pytest.raises(DataError, match=r"schema .*schema\.toml") as caught:
        Schema.from_file(path)
    assert message in str(caught.value)


def test_unreadable_files(tmp_path):
    with pytest.raises(DataError, match="cannot be read: No such file"):
        Schema.from_file(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'target = "\xe9"')
    with pytest.raises(DataError, match="not UTF-8"):
        Schema.from_file(tmp_path / "latin.toml")
    with pytest.raises(DataError, match="at least one column"):
        Schema.from_mapping({"columns": {}})


def test_from_public_reads_ranges_and_levels():
    table = pa.table(
        {
            "age": [30.0, None, 50.0],
            "count": ["7", " -2 ", "NA"],
            "ward": ["B", "", "A"],
            "flag": [True, False, None],
            "ill": ["yes", "no", "no"],
        }
    )
    schema = Schema.from_public(table, target="ill")
    assert schema.columns["age"] == ColumnSchema(low=30, high=50)
    assert schema.columns["count"] == ColumnSchema(low=-2, high=7)
    assert schema.columns["ward"] == ColumnSchema(levels=("A", "B"))
    assert schema.columns["flag"] == ColumnSchema(low=0, high=1)
    assert "ill" not in schema.columns


def test_from_public_refuses_what_it_cannot_describe():
    with pytest.raises(DataError, match="'gap' of the public data holds only missing"):
        Schema.from_public(pa.table({"gap": ["", "NA"]}))
    prose = [f"text {index}" for index in range(MAX_LEVELS + 1)]
    with pytest.raises(DataError, match="'note' of the public data holds 1001 different texts"):
        Schema.from_public(pa.table({"note": prose}))
    with pytest.raises(DataError, match="infinite"):
        Schema.from_public(pa.table({"x": [1.0, float("inf")]}))
    with pytest.raises(DataError, match="'x' of the public data: the range"):
        Schema.from_public(pa.table({"x": [-1.7e308, 1.7e308]}))
    with pytest.raises(DataError, match="neither numbers nor texts"):
        Schema.from_public(pa.table({"x": [[1], [2]]}))
