"""Decoders against encoders written for the test."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ballotine.data.named.formats import deb_payload, idx, png_rgb, tar_members, unpack_planes
from ballotine.errors import DataError

bytes_of = st.integers(0, 255)


@settings(max_examples=50, deadline=None)
@given(st.data(), st.integers(1, 6), st.integers(1, 6))
def test_png_with_any_filters(encode, data, height, width):
    pixels = data.draw(hnp.arrays(np.uint8, (height, width, 3), elements=bytes_of))
    filters = data.draw(st.lists(st.integers(0, 4), min_size=height, max_size=height))
    assert (png_rgb(encode.png(pixels, filters)) == pixels).all()


def test_png_that_is_not_one(encode):
    pixels = np.zeros((1, 1, 3), np.uint8)
    with pytest.raises(DataError, match="only 8-bit RGB"):
        png_rgb(encode.png(pixels, [0], depth=16))
    with pytest.raises(DataError, match="not a PNG"):
        png_rgb(b"GIF89a")
    broken = encode.png(pixels, [0]).replace(struct.pack(">II", 1, 1), struct.pack(">II", 2, 1))
    with pytest.raises(DataError, match="truncated"):
        png_rgb(broken)


@settings(max_examples=30, deadline=None)
@given(hnp.arrays(np.uint8, hnp.array_shapes(max_dims=3, max_side=4), elements=bytes_of))
def test_idx_round_trip(encode, array):
    data = encode.idx(array)
    assert (idx(data) == array).all()
    with pytest.raises(DataError, match="truncated"):
        idx(data[:-1])
    with pytest.raises(DataError, match="truncated"):
        idx(data[:6])
    with pytest.raises(DataError, match="not an IDX"):
        idx(b"\0\0\x0d" + data[3:])


@settings(max_examples=30, deadline=None)
@given(hnp.arrays(np.uint8, (2, 4, 3, 3), elements=bytes_of))
def test_planes_round_trip(images):
    green = images[..., 1]
    planes = np.stack([green, images[..., 0] - green, images[..., 2] - green])
    planes[:, :, 1:] = planes[:, :, 1:] - planes[:, :, :-1].copy()
    assert (unpack_planes(planes) == images).all()


def test_archives_are_read_in_place(encode, tmp_path):
    files = {"../../escape": b"never unpacked", "a/b": b"content"}
    path = tmp_path / "x.tgz"
    path.write_bytes(encode.tar(files, "w:gz"))
    assert tar_members(path, ["a/b", "../../escape"]) == [b"content", b"never unpacked"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.tgz"]
    with pytest.raises(DataError, match="does not hold a/c"):
        tar_members(path, ["a/c"])
    path.write_bytes(b"not a tar")
    with pytest.raises(DataError, match="does not hold"):
        tar_members(path, ["a/b"])


def test_debian_packages(encode, tmp_path):
    path = tmp_path / "x.deb"
    path.write_bytes(encode.deb(encode.tar({"./f": b"1"})))
    assert tar_members(deb_payload(path), ["./f"]) == [b"1"]
    path.write_bytes(b"!<arch>\n")
    with pytest.raises(DataError, match="holds no data archive"):
        deb_payload(path)
    path.write_bytes(b"PK")
    with pytest.raises(DataError, match="not a Debian package"):
        deb_payload(path)
