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
    "label-spreading": "sklearn.semi_supervised.LabelSpreading",
    "label-propagation": "sklearn.semi_supervised.LabelPropagation",
}


def make_estimator(kind: str, options: dict[str, Any], key: str) -> Any:
    """The classifier of that short name or dotted path, with its options set.

    Args:
        kind: a short name, or the full path of a scikit-learn compatible classifier class.
        options: its parameters, as its class names them.
        key: where in the run file this stands, for error messages.
    """
    path = SHORT_NAMES.get(kind, kind)
    module_name, _, class_name = path.rpartition(".")
    if not module_name:
        raise RunFileError(
            f"[{key}] kind: unknown estimator {kind!r}; choose one of "
            f"{', '.join(sorted(SHORT_NAMES))}, or the full path of a classifier class"
        )
    try:
        found = getattr(importlib.import_module(module_name), class_name)
        estimator = found()
    except (ImportError, AttributeError, TypeError) as problem:
        raise RunFileError(f"[{key}] kind: {kind!r} cannot be used: {problem}") from problem
    if not (isinstance(estimator, BaseEstimator) and is_classifier(estimator)):
        raise RunFileError(f"[{key}] kind: {kind!r} is not a scikit-learn classifier")
    unknown = sorted(set(options) - set(estimator.get_params(deep=False)))
    if unknown:
        raise RunFileError(
            f"[{key}.options] {unknown[0]}: {found.__name__} has no such parameter; it has "
            f"{', '.join(sorted(estimator.get_params(deep=False)))}"
        )
    return estimator.set_params(**options)
