"""Make the estimators and transformers that a run file names."""

from __future__ import annotations

import importlib
from typing import Any

from sklearn.base import BaseEstimator, is_classifier

from ballotine.errors import ParameterError, RunFileError
from ballotine.estimators import STUDENTS, TRANSFORMERS
from ballotine.registry import Registry


def make_estimator(kind: str, options: dict[str, Any], key: str) -> Any:
    """Return the classifier of that kind, with its options set.

    Args:
        kind: a short name, or the full path of a scikit-learn compatible classifier class.
        options: parameters of the class.
        key: the section of the run file, for error messages.
    """
    estimator = _make(kind, key, STUDENTS, "classifier")
    if not is_classifier(estimator):
        raise RunFileError(f"[{key}] kind: {kind!r} is not a scikit-learn classifier")
    return _with_options(estimator, options, key)


def make_transformer(kind: str, options: dict[str, Any], key: str) -> Any:
    """Return the transformer of that kind; see `make_estimator`."""
    transformer = _make(kind, key, TRANSFORMERS, "transformer")
    if not hasattr(transformer, "transform"):
        raise RunFileError(f"[{key}] kind: {kind!r} is not a scikit-learn transformer")
    return _with_options(transformer, options, key)


def _make(kind: str, key: str, names: Registry[type[Any]], what: str) -> Any:
    try:
        made = _class_of(kind, key, names, what)()
    except (ImportError, AttributeError, TypeError) as problem:
        raise RunFileError(f"[{key}] kind: {kind!r} cannot be used: {problem}") from problem
    if not isinstance(made, BaseEstimator):
        raise RunFileError(f"[{key}] kind: {kind!r} is not a scikit-learn {what}")
    return made


def _class_of(kind: str, key: str, names: Registry[type[Any]], what: str) -> Any:
    module_name, _, class_name = kind.rpartition(".")
    if kind in names:
        try:
            return names[kind]
        except ParameterError as problem:
            raise RunFileError(f"[{key}] kind: {problem}") from problem
    if not module_name:
        raise RunFileError(
            f"[{key}] kind: unknown {what} {kind!r}; choose one of "
            f"{', '.join(sorted(names))}, or the full path of a {what} class"
        )
    return getattr(importlib.import_module(module_name), class_name)


def _with_options(estimator: Any, options: dict[str, Any], key: str) -> Any:
    known = estimator.get_params(deep=False)
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise RunFileError(
            f"[{key}.options] {unknown[0]}: {type(estimator).__name__} has no such parameter; its "
            f"parameters are {', '.join(sorted(known))}"
        )
    return estimator.set_params(**options)
