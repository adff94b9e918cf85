"""Raises a clear error if torch, an optional dependency, is not installed.

Packages that need torch import this module before anything else.
"""

from ballotine.errors import MissingExtraError

try:
    import torch  # noqa: F401
except ModuleNotFoundError as problem:
    raise MissingExtraError(
        "networks, neural students and patch features need torch, which is not installed: "
        "pip install 'ballotine[neural]'"
    ) from problem
