"""Registries: objects by name, shipped with Ballotine, registered, or from other packages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from ballotine.errors import ParameterError

T = TypeVar("T")


@dataclass(frozen=True)
class Origin:
    """Where an object is defined; it is imported on first use.

    Attributes:
        path: "module:attribute", as in an entry point.
        package: the installed package that provides it; "" if it ships with Ballotine.
    """

    path: str
    package: str = ""

    def load(self) -> Any:
        """Import the module and return the attribute."""
        module, _, attribute = self.path.partition(":")
        return getattr(import_module(module), attribute)


class Registry(Mapping[str, T], Generic[T]):
    """A mapping from names to objects, which are imported on first use.

    Another package cannot take a name that ships with Ballotine.
    """

    def __init__(
        self,
        what: str,
        group: str,
        shipped: Mapping[str, str],
        check: Callable[[str, Any], T],
    ) -> None:
        """Create a registry that holds what ships with Ballotine.

        Args:
            what: the kind of object, for messages: "mechanism".
            group: the entry-point group through which other packages register theirs.
            shipped: "module:attribute" by name.
            check: returns the object loaded under a name if it is valid, else raises
                ParameterError.
        """
        self._what = what
        self._group = group
        self._check = check
        self._shipped = {name: Origin(path) for name, path in shipped.items()}
        self._registered: dict[str, T] = {}
        self._loaded: dict[str, T] = {}

    @property
    def shipped(self) -> Mapping[str, Origin]:
        """Where the shipped objects are defined."""
        return self._shipped

    @cached_property
    def installed(self) -> Mapping[str, Origin]:
        """Where the objects of other installed packages are defined."""
        points = sorted(entry_points(group=self._group), key=lambda point: point.name)
        return {
            point.name: Origin(point.value, "" if point.dist is None else point.dist.name)
            for point in points
            if point.name not in self._shipped
        }

    def register(self, name: str, thing: T) -> None:
        """Add an object for this process.

        Raises:
            ParameterError: if the name is taken by another object.
        """
        self._check(name, thing)
        if self._registered.get(name, thing) is not thing or name in self._shipped:
            raise ParameterError(f"there is already a {self._what} called {name!r}")
        self._registered[name] = thing

    def __getitem__(self, name: str) -> T:
        """Return the object of that name.

        Raises:
            KeyError: if there is none.
            ParameterError: if it cannot be loaded; the message names the broken package.
        """
        if name in self._registered:
            return self._registered[name]
        if name not in self._loaded:
            origin = self._shipped.get(name) or self.installed[name]
            self._loaded[name] = self._load(name, origin)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        yield from dict.fromkeys((*self._shipped, *self._registered, *self.installed))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        # The default of Mapping would load the object.
        return name in self._shipped or name in self._registered or name in self.installed

    def usable(self, *, shipped: bool = True) -> dict[str, T]:
        """Return everything that can be loaded: a broken package must not break the others.

        Args:
            shipped: whether to include what ships with Ballotine.
        """
        found = {}
        for name in self:
            if name in self._shipped and not shipped:
                continue
            try:
                found[name] = self[name]
            except ParameterError:
                continue
        return found

    def require(self, name: str) -> T:
        """Return the object of that name; otherwise the error lists the valid names."""
        if name not in self:
            raise ParameterError(f"unknown {self._what} {name!r}; choose one of {', '.join(self)}")
        return self[name]

    def _load(self, name: str, origin: Origin) -> T:
        if not origin.package:
            return self._check(name, origin.load())
        try:
            return self._check(name, origin.load())
        except Exception as problem:
            raise ParameterError(
                f"the {self._what} {name!r} of the package {origin.package!r} cannot be loaded "
                f"({type(problem).__name__}: {problem}); repair or uninstall that package"
            ) from problem
