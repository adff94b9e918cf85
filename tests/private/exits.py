"""Every way out of an object that somebody may take by accident.

An exit gives what would be seen (text, bytes, or an object), or is refused by a TypeError.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import io
import json
import logging
import operator
import pickle
import pprint
import reprlib
import string
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pydantic_core
import rich
import rich.pretty
import rich.traceback
from rich.console import Console

Exit = Callable[[Any], Any]


@dataclasses.dataclass
class Holder:
    """Somebody's own class that keeps something private in a field."""

    held: Any
    name: str = "holder"


def printed(job: Callable[[], object]) -> str:
    """What a job writes to standard output and standard error."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        job()
    return out.getvalue()


def logged(pattern: str, *arguments: Any) -> str:
    """A line of a DEBUG log; what logging says when a line cannot be made is part of it."""
    stream = io.StringIO()
    logger = logging.Logger("exits", logging.DEBUG)
    logger.addHandler(logging.StreamHandler(stream))
    complaint = printed(lambda: logger.debug(pattern, *arguments))
    return stream.getvalue() + complaint


def fail(held: Any) -> None:
    """A function that fails while it holds something."""
    box = {"held": held, "several": [held, (held,)]}
    raise ValueError(f"failed with {held} and {len(box)}")


def failure(held: Any) -> BaseException:
    """What that raises."""
    try:
        fail(held)
    except ValueError as problem:
        return problem
    raise AssertionError("unreachable")


def traced(held: Any) -> str:
    """A traceback with the local variables of every frame."""
    details = traceback.TracebackException.from_exception(failure(held), capture_locals=True)
    return "".join(details.format())


def traced_by_rich(held: Any) -> str:
    """The same in colour."""
    problem = failure(held)
    shown = rich.traceback.Traceback.from_exception(
        type(problem), problem, problem.__traceback__, show_locals=True, locals_max_length=1000
    )
    return captured(lambda console: console.print(shown))


def logged_failure(held: Any) -> str:
    """A log line with a traceback."""
    stream = io.StringIO()
    logger = logging.Logger("exits", logging.DEBUG)
    logger.addHandler(logging.StreamHandler(stream))
    try:
        fail(held)
    except ValueError:
        logger.exception("failed with %r", held)
    return stream.getvalue()


def captured(job: Callable[[Console], object]) -> str:
    """What a job prints on a wide rich console."""
    console = Console(file=io.StringIO(), width=400)
    job(console)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


def inspected(held: Any) -> str:
    """Everything rich can find out about an object."""
    return captured(lambda console: rich.inspect(held, console=console, all=True, help=True))


def members(held: Any) -> str:
    """All attributes, as a debugger shows them."""
    return repr(inspect.getmembers(held))


def warned(held: Any) -> str:
    """A warning about something."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn(f"look at {held}", stacklevel=1)
    return warnings.formatwarning(caught[0].message, UserWarning, "file", 1)


def saved(held: Any) -> bytes:
    """A NumPy file."""
    stream = io.BytesIO()
    np.save(stream, np.array(held, dtype=object), allow_pickle=True)
    return stream.getvalue()


def dumped(held: Any) -> bytes:
    """A joblib file."""
    stream = io.BytesIO()
    joblib.dump(held, stream)
    return stream.getvalue()


SPECS = ("", "s", "r", "d", "n", "x", "b", "c", "e", "f", "g", ".3f", ".17g", "%", ">40", "^80,.2f")

SPOKEN: dict[str, Exit] = {
    "print": lambda x: printed(lambda: print(x)),
    "print to stderr": lambda x: printed(lambda: print([x], {"x": x}, file=sys.stderr)),
    "repr": repr,
    "ascii": ascii,
    "str": str,
    "of a list": lambda x: str([x, (x,), {"x": x}]),
    **{f"format {spec!r}": lambda x, spec=spec: format(x, spec) for spec in SPECS},
    **{f"str.format {spec!r}": lambda x, s=spec: f"{{:{s}}}".format(x) for spec in SPECS},
    "!r": lambda x: f"{x!r:>60} {x!s} {x!a}",
    "% s": lambda x: "%s %r %a" % (x, x, x),  # noqa: UP031
    "% mapping": lambda x: "%(x)60s" % {"x": x},  # noqa: UP031
    "template": lambda x: string.Template("$x").substitute(x=x),
    "pprint": lambda x: pprint.pformat({"x": [x, x]}, width=20),
    "reprlib": reprlib.repr,
    "rich print": lambda x: captured(lambda console: console.print(x, [x], {"x": x})),
    "rich pretty": lambda x: rich.pretty.pretty_repr({"x": x}, expand_all=True),
    "json of str": lambda x: json.dumps({"x": x}, default=str),
    "json of repr": lambda x: json.dumps([x], default=repr),
    "dataclass": lambda x: repr(Holder(x)),
    "exception": lambda x: f"{ValueError(x)} {ValueError(x)!r}",
    "warning": warned,
    "traceback with locals": traced,
    "rich traceback with locals": traced_by_rich,
    "log of a failure": logged_failure,
    "log %s": lambda x: logged("%s %r", x, x),
    "log message": logged,
    "log mapping": lambda x: logged("%(x)s", {"x": x}),
    "log %d": lambda x: logged("%d", x),
    "log %f": lambda x: logged("%.3f of it", x),
    "data frame": lambda x: pd.Series([x], dtype=object).to_string(),
}
"""Exits that give a text, which says that something is private and no more."""

SILENT: dict[str, Exit] = {
    "% d": lambda x: "%d" % x,  # noqa: UP031
    "% f": lambda x: "%.3f" % x,  # noqa: UP031
    "% c": lambda x: "%c" % x,  # noqa: UP031
    "json": lambda x: json.dumps({"x": x}),
    "json of vars": lambda x: json.dumps({"x": x}, default=vars),
    "json of list": lambda x: json.dumps({"x": x}, default=list),
    "json of state": lambda x: json.dumps({"x": x}, default=lambda held: held.__getstate__()),
    "json key": lambda x: json.dumps({x: 1}),
    "pydantic": lambda x: pydantic_core.to_json({"x": x}),
    **{
        f"pickle {protocol}": lambda x, p=protocol: pickle.dumps(x, p)
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    },
    "pickle inside": lambda x: pickle.dumps(Holder([x])),
    "pickle of a failure": lambda x: pickle.dumps(ValueError(x)),
    "joblib dump": dumped,
    "joblib hash": joblib.hash,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "deepcopy inside": lambda x: copy.deepcopy({"x": [x]}),
    "reduce": lambda x: x.__reduce__(),
    "reduce_ex": lambda x: x.__reduce_ex__(5),
    "state": lambda x: x.__getstate__(),
    "state of object": lambda x: object.__reduce_ex__(x, 2),
    "vars": vars,
    "__dict__": lambda x: x.__dict__,
    "asdict": lambda x: dataclasses.asdict(Holder(x)),
    "astuple": lambda x: dataclasses.astuple(Holder([x])),
    "asarray": np.asarray,
    "array": np.array,
    "array of floats": lambda x: np.array(x, dtype=np.float64),
    "array of several": lambda x: np.array([x, x]),
    "array of objects": lambda x: np.array(x, dtype=object),
    "array file": saved,
    "concatenate": lambda x: np.concatenate([x, x]),
    "sum": np.sum,
    "mean": np.mean,
    "ufunc": lambda x: np.add(x, 1.0),
    "ufunc of one": np.log,
    "ufunc reduced": np.maximum.reduce,
    "array + ": lambda x: np.ones(3) + x,
    "array @": lambda x: np.ones((3, 3)) @ x,
    "in place": lambda x: operator.iadd(np.ones(3), x),
    "assigned": lambda x: operator.setitem(np.ones(3), slice(None), x),
    "array ==": lambda x: np.ones(3) == x,
    "array <": lambda x: np.ones(3) < x,
    "np.float64": np.float64,
    "frombuffer": np.frombuffer,
    "data frame of numbers": lambda x: pd.DataFrame(x).to_string(),
    "+ number": lambda x: x + 1.0,
    "- number": lambda x: 1.0 - x,
    "negative": operator.neg,
    "abs": abs,
    "round": lambda x: round(x, 3),
    "float": float,
    "int": int,
    "complex": complex,
    "index": operator.index,
    "bool": bool,
    "not": operator.not_,
    "hash": hash,
    "set": lambda x: {x},
    "dict key": lambda x: {x: 1},
    "list": list,
    "tuple": tuple,
    "sorted": sorted,
    "iter": iter,
    "reversed": lambda x: list(reversed(x)),
    "unpacked": lambda x: [*x],
    "first": lambda x: x[0],
    "slice": lambda x: x[:],
    "max": max,
    "in": lambda x: 41234.0 in x,
    "bytes": bytes,
    "memoryview": memoryview,
    "==": lambda x: x == 41234.0,
    "!=": lambda x: x != 41234.0,
    "<": lambda x: x < 41234.5,
    ">=": lambda x: x >= 41234.0,
    "> turned": lambda x: 41234.5 > x,  # noqa: SIM300
    "== array": lambda x: x == np.ones(3),
    "== itself": lambda x: x == x,  # noqa: PLR0124
    "str.join": ",".join,
}
"""Exits that are refused."""

LOOKS: dict[str, Exit] = {
    "rich inspect": inspected,
    "members": members,
}
"""What debuggers show."""
