"""Fingerprints and row keys: the same values are the same data, nothing else is."""

import hashlib
import hmac
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ballotine.data import fingerprint, identity, row_keys
from ballotine.errors import DataError

tables = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=6),
    elements=st.sampled_from([0.0, -0.0, 1.0, 0.1, -3.5, 1e300]),
)


def by_hand(X, labels, salt):
    """The definition, written out: one hash per row, sorted, under an HMAC."""
    rows = []
    for row, label in zip(X.tolist(), labels, strict=True):
        packed = b"".join(struct.pack("<d", value if value else 0.0) for value in row)
        rows.append(hashlib.sha256(packed + label.encode()).digest())
    head = f"ballotine records {X.shape[0]} x {X.shape[1]}\n".encode()
    return hmac.new(salt, head + b"".join(sorted(rows)), hashlib.sha256).hexdigest()


@settings(max_examples=60, deadline=None)
@given(tables, st.randoms(use_true_random=False))
def test_fingerprint_is_its_definition_in_any_row_order(X, random):
    y = [random.choice("abc") for _ in X]
    order = list(range(len(X)))
    random.shuffle(order)
    expected = by_hand(X, y, b"salt")
    assert fingerprint(X, np.array(y), b"salt") == expected
    assert fingerprint(X[order], np.array(y)[order], b"salt") == expected


def test_fingerprint_tells_data_apart():
    X = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0]])
    y = np.array([0, 0, 1])
    base = fingerprint(X, y, b"s")
    assert fingerprint(X[[0, 2, 2]], y[[0, 2, 2]], b"s") != base
    assert fingerprint(X[:2], y[:2], b"s") != base
    assert fingerprint(X, 1 - y, b"s") != base
    assert fingerprint(X.reshape(2, 3), y[:2], b"s") != base
    assert fingerprint(X, y, b"t") != base
    assert fingerprint(X, None, b"s") != base


def test_labels_count_by_their_text_and_types_by_their_value():
    X = np.array([[1, 2], [3, 4]])
    base = fingerprint(X, np.array([3, 5]), b"s")
    for labels in (["3", "5"], [3.0, 5.0], np.array([3, 5], np.uint8)):
        assert fingerprint(X.astype(np.float32), np.array(labels), b"s") == base
    assert fingerprint(X.astype(">f8"), np.array(["3", "5"], object), b"s") == base


def test_row_keys_do_not_depend_on_neighbours_chunks_or_layout(monkeypatch):
    X = np.random.default_rng(0).normal(size=(50, 7))
    keys = row_keys(X)
    assert keys[3] == hashlib.sha256(X[3].astype("<f8").tobytes()).digest()
    monkeypatch.setattr(identity, "_CHUNK_BYTES", 100)
    assert row_keys(X) == keys
    assert row_keys(np.asfortranarray(X)) == keys
    assert row_keys(X[::-1]) == keys[::-1]
    assert row_keys(X.reshape(50, 7, 1)) == keys
    assert len(set(keys)) == 50


def test_one_zero_and_one_nan():
    other = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000123))[0]
    assert row_keys(np.array([[0.0, np.nan]])) == row_keys(np.array([[-0.0, other]]))


def test_the_input_is_left_alone():
    X = np.array([[-0.0, np.nan]])
    before = X.tobytes()
    fingerprint(X, None, b"")
    row_keys(X)
    assert X.tobytes() == before


def test_lengths_must_agree():
    with pytest.raises(DataError, match="2 rows of features but 1 labels"):
        fingerprint(np.zeros((2, 1)), np.zeros(1), b"")
    assert row_keys(np.zeros((0, 3))) == []
    assert len(fingerprint(np.zeros((0, 3)), None, b"")) == 64
