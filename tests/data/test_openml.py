"""The OpenML route: scikit-learn's real client, with only the network replaced."""

import hashlib
import io
import json
import re
from dataclasses import replace
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets._openml as client

from ballotine.data.named import openml, readers
from ballotine.data.named.fetch import RouteError, cache_folder, fetch_openml
from ballotine.data.named.registry import OpenML, entry
from ballotine.data.named.routes import contents, find
from ballotine.errors import DataUnavailableError


def silent(_):
    pass


class Service:
    """Answers the four questions the client asks about one data set, from memory."""

    def __init__(self, attributes, targets, rows):
        lines = ["@RELATION r"]
        lines += [f"@ATTRIBUTE {name} {kind}" for name, kind in attributes.items()]
        self.arff = "\n".join([*lines, "@DATA", *rows]).encode()
        self.features = [
            {
                "index": str(index),
                "name": name,
                "data_type": "nominal" if kind.startswith("{") else "numeric",
                "is_target": str(name in targets).lower(),
                "is_ignore": "false",
                "is_row_identifier": "false",
                "number_of_missing_values": "0",
            }
            for index, (name, kind) in enumerate(attributes.items())
        ]
        self.n_rows = len(rows)
        self.asked = 0

    def __call__(self, request, *_, **__):
        self.asked += 1
        url = request.full_url
        if "features" in url:
            body = {"data_features": {"feature": self.features}}
        elif "qualities" in url:
            quality = {"name": "NumberOfInstances", "value": str(self.n_rows)}
            body = {"data_qualities": {"quality": [quality]}}
        elif re.search(r"json/data/\d+$", url):
            body = {"data_set_description": self._description(url.rsplit("/", 1)[1])}
        else:
            return _Response(self.arff)
        return _Response(json.dumps(body).encode())

    def _description(self, data_id):
        return {
            "id": data_id,
            "name": "r",
            "version": "1",
            "format": "ARFF",
            "status": "active",
            "description": "made here",
            "file_id": "1",
            "url": "https://openml.invalid/data/v1/download/1/r.arff",
            "md5_checksum": hashlib.md5(self.arff).hexdigest(),
        }


class _Response(io.BytesIO):
    def info(self):
        return {}


@pytest.fixture
def serve(monkeypatch):
    def install(*arguments):
        service = Service(*arguments)
        monkeypatch.setattr(client, "urlopen", service)
        return service

    return install


PIXELS = np.random.default_rng(0).integers(0, 256, (5, 784))
DIGITS = [3, 1, 4, 1, 5]


def image_service(serve, pixels=PIXELS, labels=DIGITS):
    attributes = {f"pixel{i}": "NUMERIC" for i in range(pixels.shape[1])}
    attributes["class"] = "{" + ",".join(map(str, range(11))) + "}"
    rows = [",".join(map(str, [*row, label])) for row, label in zip(pixels, labels, strict=True)]
    return serve(attributes, ["class"], rows)


def tiny_mnist(split_at=3):
    parts = [
        readers.Part(PIXELS[where].astype(np.uint8), np.array(DIGITS)[where])
        for where in (slice(split_at), slice(split_at, None))
    ]
    known = replace(entry("mnist"), rows=3, test_rows=2, package=None)
    return known, readers.Raw(*parts)


def test_images_are_fetched_verified_and_cached(serve):
    service = image_service(serve)
    known, raw = tiny_mnist()
    known = replace(known, contents=(contents(raw),))
    told = []
    found = find(known, None, True, told.append)
    assert found.verified
    assert found.origin == "OpenML"
    assert told == ["asking OpenML for data set 554"]
    assert found.raw.test is not None
    assert (PIXELS[:3] == found.raw.train.X).all()
    assert found.raw.train.X.dtype == np.uint8
    assert found.raw.test.y.tolist() == DIGITS[3:]
    asked = service.asked
    find(known, None, True, silent)
    assert service.asked == asked


def test_test_rows_may_come_first(serve):
    image_service(serve)
    known, raw = tiny_mnist(split_at=2)
    assert raw.test is not None
    known = replace(known, contents=(contents(readers.Raw(raw.test, raw.train)),))
    found = find(known, None, True, silent)
    assert found.raw.train.y.tolist() == DIGITS[2:]


def test_content_that_differs_is_a_dead_end(serve):
    image_service(serve)
    known, _ = tiny_mnist()
    with pytest.raises(DataUnavailableError, match="copy does not hold mnist as published"):
        find(known, None, True, silent)


def test_a_set_without_checksum_is_unverified(serve):
    image_service(serve)
    known, _ = tiny_mnist()
    assert not find(replace(known, contents=()), None, True, silent).verified


@pytest.mark.parametrize(
    ("pixels", "labels", "message"),
    [
        (PIXELS + 0.5, DIGITS, "not whole numbers from 0 to 255"),
        (PIXELS + 300, DIGITS, "not whole numbers from 0 to 255"),
        (PIXELS[:, :9], DIGITS, "should have 784 features"),
        (PIXELS[:4], DIGITS[:4], "should have 5 rows"),
        (PIXELS, [10] * 5, "should have 10 classes"),
    ],
)
def test_tables_of_the_wrong_kind(serve, pixels, labels, message):
    image_service(serve, pixels, labels)
    known, _ = tiny_mnist()
    with pytest.raises(DataUnavailableError, match=message):
        find(known, None, True, silent)


def test_colour_planes_are_interleaved(serve):
    rng = np.random.default_rng(1)
    images = rng.integers(0, 256, (2, 32, 32, 3))
    planes = images.transpose(0, 3, 1, 2).reshape(2, -1)
    image_service(serve, planes, [10, 7])
    bunch = fetch_openml(41081, cache_folder(), silent)
    raw = openml.house_numbers(bunch)
    assert (raw.train.X.reshape(images.shape) == images).all()
    assert raw.train.y.tolist() == [0, 7]
    assert openml.colour_images(bunch).train.y.tolist() == [10, 7]


def test_adult_categories_and_gaps(serve):
    schema = readers.adult_schema()
    attributes = {}
    for name, column in schema.columns.items():
        levels = ",".join(f"'{level}'" for level in reversed(column.levels or ()))
        attributes[name.replace("_", "-")] = "{" + levels + "}" if levels else "NUMERIC"
    attributes["class"] = "{'>50K','<=50K'}"
    row = "39,'State-gov',77516,'Bachelors',13,'Never-married','Adm-clerical','Not-in-family',"
    row += "'White','Male',2174,0,40,'United-States','<=50K'"
    serve(attributes, ["class"], [row, row.replace("'State-gov'", "?").replace("<=", ">")])
    raw = openml.adult(fetch_openml(1590, cache_folder(), silent))
    text = row.replace("'", "").replace(",", ", ")
    original = readers._adult_text(text.encode())
    assert (raw.train.X[0] == original.X[0]).all()
    assert raw.train.y.tolist() == [0, 1]
    assert raw.train.X[1, 1:9].sum() == 0


@pytest.mark.parametrize("kind", ["{FALSE,TRUE}", "{0,1}", "NUMERIC"])
def test_multilabel_targets(serve, kind):
    no, yes = ("FALSE", "TRUE") if "TRUE" in kind else ("0", "1")
    attributes = {"f": "NUMERIC", "sad.lonely": kind, "happy.pleased": kind}
    serve(attributes, ["sad.lonely", "happy.pleased"], [f"0.1,{no},{yes}", f"0.2,{yes},{yes}"])
    known = replace(
        entry("emotions"),
        rows=1,
        test_rows=1,
        features=1,
        classes=("happy-pleased", "sad-lonely"),
        n_classes=2,
        contents=(),
    )
    raw = find(known, None, True, silent).raw
    assert raw.test is not None
    assert raw.train.y.tolist() == [[1, 0]]
    assert raw.test.y.tolist() == [[1, 1]]
    assert raw.train.X.dtype == np.float32


def test_labels_that_are_no_labels(serve):
    serve({"f": "NUMERIC", "a": "{x,y}", "b": "{x,y}"}, ["a", "b"], ["1,x,y"])
    known = replace(entry("scene"), openml=OpenML(1, openml.multilabel))
    with pytest.raises(DataUnavailableError, match="not true or false"):
        find(known, None, True, silent)


def test_no_network(monkeypatch):
    def unreachable(*_, **__):
        raise URLError("no route to host")

    monkeypatch.setattr(client, "urlopen", unreachable)
    monkeypatch.setattr(client.time, "sleep", silent)
    with pytest.raises(RouteError, match="OpenML is not reachable"):
        fetch_openml(554, cache_folder(), silent)


def test_nonsense_from_the_network(monkeypatch):
    monkeypatch.setattr(client, "urlopen", lambda *_, **__: _Response(b"<html>captive portal"))
    with pytest.raises(RouteError, match="answer cannot be used"):
        fetch_openml(554, cache_folder(), silent)
