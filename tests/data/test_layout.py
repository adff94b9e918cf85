"""Colour images: a network gets the published image."""

import json

import numpy as np
import pytest

from ballotine.data import DataSpec, load
from ballotine.data.identity import records_of
from ballotine.data.layout import channels_first, channels_last
from ballotine.data.named import sets as named
from ballotine.data.named.openml import colour_images
from ballotine.data.named.readers import Part, Raw, read_cifar_package, read_images
from ballotine.data.named.registry import entry, registry
from ballotine.data.named.routes import RawSet
from ballotine.data.named.sets import get
from ballotine.pipeline.features import make_features
from ballotine.pipeline.sections import FeaturesSection
from ballotine.progress import Silent

COLOUR = [name for name, known in registry().items() if (known.image_shape or (1,))[0] == 3]
SIDE = 32


def pictures() -> np.ndarray:
    """As published: red, a ramp from left to right, and a green one from top to bottom."""
    made = np.zeros((3, SIDE, SIDE, 3), np.uint8)
    ramp = np.arange(SIDE, dtype=np.uint8) * 8
    made[0, ..., 0] = 255
    made[1] = ramp[None, :, None]
    made[2, ..., 1] = ramp[:, None]
    return made


def check(images: np.ndarray) -> None:
    """(3 pictures, channels, height, width), in [0, 1]."""
    red, across, down = images
    assert (red[0] == 1).all()
    assert (red[1:] == 0).all()
    assert (np.diff(across, axis=2) > 0).all(), "it rises from left to right in each channel"
    assert (np.diff(across, axis=1) == 0).all()
    assert (np.diff(down[1], axis=0) > 0).all()
    assert (down[[0, 2]] == 0).all()


def found(raw: Raw) -> RawSet:
    return RawSet(raw, "here", verified=False)


def raw_pictures(name: str) -> Raw:
    rows = pictures().reshape(3, -1)
    several = entry(name).task == "multi-label"
    y = np.eye(3, entry(name).n_classes, dtype=np.uint8) if several else np.arange(3)
    return Raw(Part(rows, y), Part(rows[::-1], y))


def test_three_sets_have_colours() -> None:
    assert COLOUR == ["cifar10", "svhn", "voc2007"]


@pytest.mark.neural
@pytest.mark.parametrize("name", COLOUR)
def test_a_network_sees_the_picture(name, monkeypatch):
    from torch import nn

    from ballotine.neural import TorchClassifier

    monkeypatch.setattr(named, "find", lambda *_: found(raw_pictures(name)))
    data = get(name)
    shape = data.entry.image_shape
    seen = []

    class Looking(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(3072, 3)

        def forward(self, x):
            seen.append(x.detach().numpy().copy())
            return self.head(x.flatten(1))

    model = TorchClassifier(lambda *_: Looking(), shape, epochs=1, random_state=0)
    model.fit(data.X, [0, 1, 2])
    seen.clear()
    model.predict(data.X)
    check(seen[0][:3])
    assert data.X_test is not None
    check(data.X_test.reshape(-1, *shape)[::-1])


def test_every_way_to_cifar_leads_to_the_same_rows(tmp_path, encode, monkeypatch):
    """A file of arrays either way round, sheets of an archive, OpenML's planes."""
    x, y = pictures(), np.arange(3)
    np.savez(tmp_path / "last.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    first = x.transpose(0, 3, 1, 2)
    np.savez(tmp_path / "first.npz", x_train=first, y_train=y, x_test=first, y_test=y)
    sheet = encode.png(x.reshape(3, -1, 3), [0, 1, 2])
    labels = json.dumps([0, 1, 2]).encode()
    files = {f"package/data_batch_{batch}.png": sheet for batch in range(1, 6)}
    files |= {"package/test_batch.png": sheet}
    files |= {f"package/{part}_lables.json": labels for part in ("train", "test")}
    (tmp_path / "cifar.tgz").write_bytes(encode.tar(files, "w:gz"))
    table = type("Bunch", (), {"data": first.reshape(3, -1).astype(float), "target": y})
    for raw in (
        read_images(tmp_path / "last.npz"),
        read_images(tmp_path / "first.npz"),
        read_cifar_package(tmp_path / "cifar.tgz"),
        colour_images(table),
    ):
        monkeypatch.setattr(named, "find", lambda *_, raw=raw: found(raw))
        check(get("cifar10").X[:3].reshape(3, 3, SIDE, SIDE))


def test_converting_the_layout_twice_changes_nothing():
    rows = np.random.default_rng(0).integers(0, 256, (4, 3 * 5 * 7))
    turned = channels_first(rows, (3, 5, 7))
    assert (channels_last(turned, (3, 5, 7)) == rows).all()
    assert (turned.reshape(4, 3, 5, 7)[2, 1] == rows.reshape(4, 5, 7, 3)[2, ..., 1]).all()
    assert channels_first(rows, (1, 15, 7)) is rows


def test_records_are_recognised_by_the_published_rows(monkeypatch):
    """A ledger that was opened before the layout changed still recognises its records."""
    raw = raw_pictures("cifar10")
    monkeypatch.setattr(named, "find", lambda *_: found(raw))
    data = load(DataSpec(source="cifar10", public_rows=2, test_rows=0))
    assert data.image_shape == (3, SIDE, SIDE)
    names = np.asarray(entry("cifar10").classes)[raw.train.y]
    published = raw.train.X.astype(np.float32) / np.float32(255)
    assert data.fingerprint(b"salt") == records_of(published, names).fingerprint(b"salt")


@pytest.mark.neural
def test_patches_of_a_run_take_the_shape_of_the_set(monkeypatch):
    from ballotine.features import PatchFeatures

    draw = np.random.default_rng(0)
    raw = Raw(
        Part(draw.integers(0, 256, (20, 3072)).astype(np.uint8), np.arange(20) % 10),
        Part(draw.integers(0, 256, (40, 3072)).astype(np.uint8), np.arange(40) % 10),
    )
    monkeypatch.setattr(named, "find", lambda *_: found(raw))
    data = load(DataSpec(source="cifar10", public_rows=40, test_rows=0))
    options = {"centres": 10, "components": 5}
    seen = make_features(FeaturesSection(kind="patches", options=options), data, Silent())
    alone = PatchFeatures((3, SIDE, SIDE), **options, random_state=0).fit(data.X_public)
    assert (seen.X_private == alone.transform(data.X_private)).all()


@pytest.mark.parametrize("name", COLOUR)
def test_red_and_green_of_real_pictures_go_together(name, real_data):
    """Pixels that are bright in one channel are mostly bright in the other."""
    known = entry(name)
    if not any((real_data / file.name).is_file() for file in known.files):
        pytest.skip(f"the data folder holds no {name}")
    rows = get(name, real_data, download=False).X[:500]
    alike = correlation(rows.reshape(-1, *known.image_shape))
    scrambled = correlation(channels_last(rows, known.image_shape).reshape(-1, *known.image_shape))
    assert alike > 0.8
    assert abs(scrambled) < 0.2


def correlation(images: np.ndarray) -> float:
    pairs = images[:, :2].reshape(len(images), 2, -1)
    return float(
        np.mean([np.corrcoef(*pair)[0, 1] for pair in pairs if pair.std(axis=1).min() > 0])
    )
