"""The encoder: public numbers only, one row at a time."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ballotine.data import ColumnSchema, Encoder, Schema
from ballotine.data.encode import as_features
from ballotine.errors import DataError

SCHEMA = Schema(
    target="ill",
    classes=("no", "yes"),
    columns={
        "age": ColumnSchema(low=0, high=100),
        "dose": ColumnSchema(low=-1, high=1, missing=0.5),
        "ward": ColumnSchema(levels=("A", "B")),
    },
)


def test_numbers_are_scaled_clipped_and_filled():
    table = pa.table(
        {
            "ward": ["A", "B", "C", None],
            "age": ["25", "-7", "300", ""],
            "dose": [0.0, None, -1.0, 9.0],
            "extra": ["is", "not", "looked", "at"],
        }
    )
    encoder = Encoder(SCHEMA)
    assert encoder.feature_names == ("age", "dose", "ward=A", "ward=B")
    np.testing.assert_allclose(
        encoder.transform(table),
        [[0.25, 0.5, 1, 0], [0, 0.75, 0, 1], [1, 0, 0, 0], [0.5, 1, 0, 0]],
    )


cells = st.tuples(
    st.one_of(st.none(), st.floats(-1e6, 1e6)),
    st.one_of(st.none(), st.floats(-10, 10)),
    st.sampled_from(["A", "B", "C", " A ", "", None, "=HYPERLINK()", "\x1b[0m"]),
)


@settings(max_examples=50, deadline=None)
@given(st.lists(cells, min_size=1, max_size=12))
def test_a_row_is_encoded_alike_in_any_company(rows):
    def encode(some):
        columns = dict(zip(("age", "dose", "ward"), zip(*some, strict=True), strict=True))
        kinds = {"age": pa.float64(), "dose": pa.float64(), "ward": pa.string()}
        return Encoder(SCHEMA).transform(
            pa.table({n: pa.array(v, kinds[n]) for n, v in columns.items()})
        )

    together = encode(rows)
    alone = np.concatenate([encode([row]) for row in rows])
    assert together.tobytes() == alone.tobytes()
    assert ((together >= 0) & (together <= 1)).all()
    assert (together[:, 2:].sum(axis=1) <= 1).all()


def test_a_constant_public_column_does_not_divide_by_zero():
    schema = Schema(columns={"x": ColumnSchema(low=5, high=5)})
    got = Encoder(schema).transform(pa.table({"x": [5.0, 4.0, 9.0, None]}))
    assert got.ravel().tolist() == [0, 0, 0, 0]


def test_labels():
    table = pa.table({"ill": ["yes", " no", "yes"]})
    assert Encoder(SCHEMA).labels(table).tolist() == [1, 0, 1]
    with pytest.raises(DataError, match="has no column 'ill'"):
        Encoder(SCHEMA).labels(pa.table({"x": [1]}))
    with pytest.raises(DataError, match="need a schema with a target"):
        Encoder(Schema(columns=SCHEMA.columns)).labels(table)


def test_missing_column_is_named():
    with pytest.raises(DataError, match="the rows has no column 'dose', 'ward' among its"):
        Encoder(SCHEMA).transform(pa.table({"age": [1]}), "the rows")


def test_remarks_on_public_rows_that_do_not_fit():
    fits = pa.table({"age": [50], "dose": [0.0], "ward": ["A"]})
    wrong = pa.table({"age": [5000], "dose": [0.0], "ward": ["a"]})
    assert Encoder(SCHEMA).remarks([wrong, fits]) == []
    remarks = Encoder(SCHEMA).remarks([wrong, wrong])
    assert [remark.split("'")[1] for remark in remarks] == ["age", "ward"]


def test_features_as_they_are():
    images = np.arange(8, dtype=np.uint8).reshape(2, 2, 2)
    got = as_features(images, "it")
    assert got.dtype == np.float64
    assert got.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    single = np.ones((2, 3), np.float32)
    assert as_features(single, "it") is not None
    assert as_features(single, "it").dtype == np.float32


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([["a", "b"]]), "are not numeric; a table of texts needs a schema"),
        (np.array([[1j]]), "are not numeric"),
        (np.ones(3), r"shape \(rows, features\)"),
        (np.ones((0, 3)), "is empty"),
        (np.array([[np.nan]]), "hold NaN; fill the gaps"),
        (np.array([[np.inf]]), "infinite"),
    ],
)
def test_features_that_are_refused(array, message):
    with pytest.raises(DataError, match=message):
        as_features(array, "it")
