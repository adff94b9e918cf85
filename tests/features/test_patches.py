"""Features of public images: what they are, what they depend on, and what they refuse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from ballotine.errors import DataError, ParameterError
from ballotine.features import PatchFeatures, patches
from ballotine.models import load_model, save_model

X, Y = load_digits(return_X_y=True)
SMALL = {"shape": (1, 8, 8), "patch": 3, "regions": 3, "centres": 40, "components": 30}


def fitted(**changes: object) -> PatchFeatures:
    return PatchFeatures(**(SMALL | {"random_state": 0} | changes)).fit(X[:1000])


def by_hand(features: PatchFeatures, image: np.ndarray) -> np.ndarray:
    """How near each region comes to each typical patch, one patch after the other."""
    side, regions = features.patch, features.regions
    _, height, width = features.shape
    down, right = height - side + 1, width - side + 1
    near = np.zeros((len(features.centres_), down, right))
    for i in range(down):
        for j in range(right):
            patch = image.reshape(features.shape)[:, i : i + side, j : j + side].ravel()
            patch = patch / features.scale_
            patch = (patch - patch.mean()) / np.sqrt(patch.var() + patches.CONTRAST)
            white = (patch - features.middle_) @ features.whitening_
            distances = np.sqrt(((features.centres_ - white) ** 2).sum(axis=1))
            near[:, i, j] = np.maximum(distances.mean() - distances, 0)
    rows = [slice(k * down // regions, -(-(k + 1) * down // regions)) for k in range(regions)]
    columns = [slice(k * right // regions, -(-(k + 1) * right // regions)) for k in range(regions)]
    pooled = [near[c, r, q].mean() for c in range(len(near)) for r in rows for q in columns]
    return (np.array(pooled) - features.mean_) / features.deviation_ @ features.directions_


def test_features_are_those_computed_by_hand() -> None:
    features = fitted()
    expected = np.stack([by_hand(features, image) for image in X[1000:1010]])
    np.testing.assert_allclose(features.transform(X[1000:1010]), expected, rtol=1e-3, atol=2e-3)


def test_teachers_with_few_images_learn_more_from_them_than_from_pixels() -> None:
    seen = fitted().transform(X)
    scores: dict[str, list[float]] = {"pixels": [], "patches": []}
    for seed in range(5):
        few = np.random.default_rng(seed).permutation(1000)[:60]
        for name, rows in (("pixels", X / 16), ("patches", seen)):
            model = SVC(C=10.0).fit(rows[few], Y[few])
            scores[name].append(model.score(rows[1000:], Y[1000:]))
    assert np.mean(scores["patches"]) > np.mean(scores["pixels"]) + 0.02


def test_other_rows_have_no_part_in_the_features_of_a_row() -> None:
    features = fitted()
    whole = features.transform(X[1000:1400])
    alone = np.vstack([features.transform(X[i : i + 1]) for i in (1000, 1128, 1399)])
    np.testing.assert_array_equal(alone, whole[[0, 128, 399]])


def test_the_scale_of_pixels_does_not_matter_and_a_seed_repeats_them() -> None:
    first, again = fitted(), fitted()
    np.testing.assert_array_equal(first.transform(X[:5]), again.transform(X[:5]))
    bright = PatchFeatures(**SMALL, random_state=0).fit(1024 * X[:1000])
    np.testing.assert_allclose(bright.transform(1024 * X[:5]), first.transform(X[:5]), atol=1e-4)
    other = fitted(random_state=1)
    assert not np.allclose(other.transform(X[:5]), first.transform(X[:5]))


def test_channels_come_first() -> None:
    colours = np.random.default_rng(0).random((300, 3 * 8 * 8))
    shape = {"shape": (3, 8, 8), "patch": 3, "regions": 3, "centres": 10, "components": 8}
    features = PatchFeatures(**shape, random_state=0).fit(colours)
    expected = np.stack([by_hand(features, image) for image in colours[:9]])
    np.testing.assert_allclose(features.transform(colours[:9]), expected, rtol=1e-3, atol=2e-3)


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_images_that_are_all_alike_are_refused_and_few_will_do() -> None:
    for image in (np.zeros(64), X[0]):
        with pytest.raises(DataError, match="all alike"):
            PatchFeatures(**SMALL, random_state=0).fit(np.tile(image, (50, 1)))
    few = PatchFeatures(**SMALL, random_state=0).fit(X[:6])
    assert few.transform(X[:4]).shape == (4, 6)
    assert few.get_feature_names_out()[0] == "patchfeatures0"


def test_they_are_kept_as_data(tmp_path: Path) -> None:
    features = fitted()
    save_model(tmp_path / "features.skops", features)
    again = load_model(tmp_path / "features.skops")
    np.testing.assert_array_equal(again.transform(X[:5]), features.transform(X[:5]))
    assert clone(features).get_params() == features.get_params()


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"shape": (1, 9, 9)}, DataError, "64 values"),
        ({"shape": (8, 8)}, DataError, "channels, height, width"),
        ({"patch": 1}, ParameterError, "patch"),
        ({"patch": 9}, ParameterError, "patch"),
        ({"regions": 7}, ParameterError, "1 to 6"),
        ({"centres": 1}, ParameterError, "centres"),
        ({"components": 0}, ParameterError, "components"),
    ],
)
def test_wrong_parameters_are_refused(
    changes: dict[str, object], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        fitted(**changes)


def test_numbers_that_are_none_are_refused() -> None:
    broken = X[:50].copy()
    broken[3, 5] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        PatchFeatures(**SMALL).fit(broken)
    with pytest.raises(ValueError, match="NaN"):
        fitted().transform(broken)
