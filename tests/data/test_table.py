"""Columns as numbers, texts and classes."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ballotine.data.table import (
    as_column,
    cells,
    class_indices,
    classes_of,
    is_numeric,
    numbers,
    require_columns,
    texts,
)
from ballotine.errors import DataError


def column(values, kind=None):
    return pa.chunked_array([pa.array(values, kind)])


def test_missing_tokens_and_signs():
    got = numbers(column(["+1", " 2.5 ", "NA", "", "?", "NaN", "null", "1e3"]), "x", "it")
    np.testing.assert_array_equal(got, [1, 2.5, *[np.nan] * 5, 1000])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
def test_printed_numbers_are_read_back_exactly(values):
    read = numbers(column([repr(v) for v in values]), "x", "it")
    assert read.tobytes() == np.array(values).tobytes()


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint64(), pa.float32(), pa.decimal128(25, 1), pa.large_string()]
)
def test_every_number_type(kind):
    values = ["1", "3"] if pa.types.is_large_string(kind) else [1, 3]
    assert numbers(column(values).cast(kind), "x", "it").tolist() == [1, 3]
    assert texts(column(values).cast(kind), "x", "it").to_pylist() == ["1", "3"]


def test_dictionary_boolean_and_null_columns():
    coded = column(["b", None, "a"]).dictionary_encode()
    assert texts(coded, "x", "it").to_pylist() == ["b", None, "a"]
    assert not is_numeric(coded)
    assert texts(column([True, None]), "x", "it").to_pylist() == ["true", None]
    assert numbers(column([True, False]), "x", "it").tolist() == [1, 0]
    assert math.isnan(numbers(column([None]), "x", "it")[0])


def test_texts_of_numbers_agree_with_csv():
    assert texts(column([3.0, 2.5, math.nan, None]), "x", "it").to_pylist() == [
        "3",
        "2.5",
        None,
        None,
    ]


@pytest.mark.parametrize("cell", ["Jane Doe", "<b>", "\x1b[31m", "=1+1", "12 years"])
def test_text_among_numbers_is_refused_without_being_shown(cell):
    with pytest.raises(DataError, match="'x' of it should be numeric") as caught:
        numbers(column(["1", cell]), "x", "it")
    assert cell not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("value", ["inf", "-Infinity", "1e999"])
def test_infinities_are_refused(value):
    with pytest.raises(DataError, match="infinite"):
        numbers(column(["1", value]), "x", "it")


def test_classes_are_integers_when_all_are():
    assert classes_of(column(["10", "9", "9.0", "-1"]), "y", "it") == (-1, 9, 10)
    assert classes_of(column([1.0, 0.0, None]), "y", "it") == (0, 1)
    assert classes_of(column(["b", "a", "1"]), "y", "it") == ("1", "a", "b")
    assert classes_of(column(["0.5", "1"]), "y", "it") == ("0.5", "1")


def test_class_positions_whatever_the_storage():
    for values in (["7", "3"], ["7.0", " 3"], [7, 3], [7.0, 3.0]):
        assert class_indices(column(values), (3, 7), "y", "it").tolist() == [1, 0]
        assert class_indices(column(values), ("7", "3"), "y", "it").tolist() == [0, 1]
    assert class_indices(column([], pa.string()), ("a", "b"), "y", "it").tolist() == []


def test_unknown_labels_are_not_shown():
    with pytest.raises(DataError, match="none of the classes") as caught:
        class_indices(column(["a", "HIV positive"]), ("a", "b"), "y", "it")
    assert "HIV" not in str(caught.value)
    with pytest.raises(DataError, match="rows without a label"):
        class_indices(column(["a", None]), ("a", "b"), "y", "it")


def test_required_columns():
    require_columns(["a", "b"], ["b"], "it")
    with pytest.raises(DataError, match="it has no column 'c' among its 2") as caught:
        require_columns(["alice", "bob"], ["c"], "it")
    assert "alice" not in str(caught.value)
    with pytest.raises(DataError, match="columns of the same name") as caught:
        require_columns(["alice", "alice"], [], "it")
    assert "alice" not in str(caught.value)
    with pytest.raises(DataError, match="a column without a name"):
        require_columns(["", "a"], [], "it")


def test_hostile_column_names_are_tamed_in_messages():
    hostile = ["\x1b]0;owned\x07\x1b[2J", "\u202eevil", "x" * 10_000, "a\nb"]
    with pytest.raises(DataError) as caught:
        require_columns(["y"], [*hostile, *(f"c{i}" for i in range(500))], "it")
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 1500
    assert "and 492 more" in message


def test_arrays_that_are_no_columns():
    with pytest.raises(DataError, match="not one-dimensional"):
        as_column(np.zeros((2, 2)), "it")
    with pytest.raises(DataError, match="neither numbers nor texts"):
        as_column(np.array([1, "a", {}], dtype=object), "it")


def test_cells_stand_for_themselves():
    values, words = cells(column(["1.50", " +2 ", "x1", "NA", None, ".5e1", "1e", "=1"]))
    np.testing.assert_array_equal(values, [1.5, 2, *[np.nan] * 3, 5, np.nan, np.nan])
    assert words.to_pylist() == ["", "", "x1", "", "", "", "1e", "=1"]
    assert cells(column([1, 2]))[1] is None
    assert cells(column([True, None]))[1].to_pylist() == ["true", ""]
    assert cells(column(["a", "7"]).dictionary_encode())[0].tolist()[1] == 7
    assert cells(column([[1], [2]]))[1].to_pylist() == ["[1]", "[2]"]
