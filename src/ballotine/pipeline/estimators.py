"""Estimators by name: what run files may call a teacher or a student."""

from __future__ import annotations

import importlib
from typing import Any

from sklearn.base import BaseEstimator, is_classifier

from ballotine.errors import RunFileError

SHORT_NAMES = {
    "nearest-neighbours": "sklearn.neighbors.KNeighborsClassifier",
    "logistic-regression": "sklearn.linear_model.LogisticRegression",
    "svm": "sklearn.svm.SVC",
    "random-forest": "sklearn.ensemble.RandomForestClassifier",
    "extra-trees": "sklearn.ensemble.ExtraTreesClassifier",
    "gradient-boosting": "sklearn.ensemble.HistGradientBoostingClassifier",
    "naive-bayes": "sklearn.naive_bayes.GaussianNB",
    "discriminant-analysis": "sklearn.discriminant_analysis.LinearDiscriminantAnalysis",
    "neural-network": "ballotine.neural.TorchClassifier",
    "spreading": "ballotine.students.SpreadingClassifier",
    "supervised": "ballotine.students.neural.Supervised",
    "gan": "ballotine.students.neural.SemiSupervisedGAN",
    "co-teaching": "ballotine.students.neural.CoTeaching",
    "co-teaching-plus": "ballotine.students.neural.CoTeachingPlus",
    "pate-plus": "ballotine.students.neural.PatePlus",
    "pate-plus-plus": "ballotine.students.neural.PatePlusPlus",
    "mixmatch": "ballotine.students.neural.MixMatch",
    "vat": "ballotine.students.neural.VAT",
    "fixmatch": "ballotine.students.neural.FixMatch",
    "self-training": "ballotine.students.SelfTraining",
    "label-spreading": "sklearn.semi_supervised.LabelSpreading",
    "label-propagation": "sklearn.semi_supervised.LabelPropagation",
}


FEATURES = {"patches": "ballotine.features.PatchFeatures"}
"""Short names of transformers."""


def make_estimator(kind: str, options: dict[str, Any], key: str) -> Any:
    """The classifier of that short name or dotted path, with its options set.

    Args:
        kind: a short name, or the full path of a scikit-learn compatible classifier class.
        options: its parameters, as its class names them.
        key: where in the run file this stands, for error messages.
    """
    estimator = _make(kind, key, SHORT_NAMES, "classifier")
    if not is_classifier(estimator):
        raise RunFileError(f"[{key}] kind: {kind!r} is not a scikit-learn classifier")
    return _with_options(estimator, options, key)


def make_transformer(kind: str, options: dict[str, Any], key: str) -> Any:
    """The transformer of that short name or dotted path, likewise."""
    transformer = _make(kind, key, FEATURES, "transformer")
    if not hasattr(transformer, "transform"):
        raise RunFileError(f"[{key}] kind: {kind!r} is not a scikit-learn transformer")
    return _with_options(transformer, options, key)


def _make(kind: str, key: str, names: dict[str, str], what: str) -> Any:
    module_name, _, class_name = names.get(kind, kind).rpartition(".")
    if not module_name:
        raise RunFileError(
            f"[{key}] kind: unknown {what} {kind!r}; choose one of "
            f"{', '.join(sorted(names))}, or the full path of a {what} class"
        )
    try:
        made = getattr(importlib.import_module(module_name), class_name)()
    except (ImportError, AttributeError, TypeError) as problem:
        raise RunFileError(f"[{key}] kind: {kind!r} cannot be used: {problem}") from problem
    if not isinstance(made, BaseEstimator):
        raise RunFileError(f"[{key}] kind: {kind!r} is not a scikit-learn {what}")
    return made


def _with_options(estimator: Any, options: dict[str, Any], key: str) -> Any:
    known = estimator.get_params(deep=False)
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise RunFileError(
            f"[{key}.options] {unknown[0]}: {type(estimator).__name__} has no such parameter; it "
            f"has {', '.join(sorted(known))}"
        )
    return estimator.set_params(**options)
