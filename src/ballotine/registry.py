"""Things that are known by name: those that ship, registered ones, and those of other packages."""

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
    """Where a thing is defined; it is imported when it is first needed.

    Attributes:
        path: "module:attribute", as in an entry point.
        package: the installed package that registers it; "" if it ships with Ballotine.
    """

    path: str
    package: str = ""

    def load(self) -> Any:
        """Import the module and fetch the attribute."""
        module, _, attribute = self.path.partition(":")
        return getattr(import_module(module), attribute)


class Registry(Mapping[str, T], Generic[T]):
    """A mapping from names to things, which are imported when they are asked for.

    A name that ships with Ballotine cannot be taken by another package.
    """

    def __init__(
        self,
        what: str,
        group: str,
        shipped: Mapping[str, str],
        check: Callable[[str, Any], T],
    ) -> None:
        """Make a registry of what ships.

        Args:
            what: what is registered, for messages: "mechanism".
            group: the group of entry points by which other packages register theirs.
            shipped: "module:attribute" by name.
            check: returns what was loaded under a name, or raises ParameterError.
        """
        self._what = what
        self._group = group
        self._check = check
        self._shipped = {name: Origin(path) for name, path in shipped.items()}
        self._registered: dict[str, T] = {}
        self._loaded: dict[str, T] = {}

    @property
    def shipped(self) -> Mapping[str, Origin]:
        """Where those that ship with Ballotine are defined."""
        return self._shipped

    @cached_property
    def installed(self) -> Mapping[str, Origin]:
        """Where those of other installed packages are defined."""
        points = sorted(entry_points(group=self._group), key=lambda point: point.name)
        return {
            point.name: Origin(point.value, "" if point.dist is None else point.dist.name)
            for point in points
            if point.name not in self._shipped
        }

    def register(self, name: str, thing: T) -> None:
        """Add a thing for this process.

        Raises:
            ParameterError: if the name belongs to another one.
        """
        self._check(name, thing)
        if self._registered.get(name, thing) is not thing or name in self._shipped:
            raise ParameterError(f"there is a {self._what} called {name!r} already")
        self._registered[name] = thing

    def __getitem__(self, name: str) -> T:
        """Return the thing of that name.

        Raises:
            KeyError: if there is none.
            ParameterError: if it cannot be loaded; this says which package is broken.
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
        # Mapping would load the thing to find out.
        return name in self._shipped or name in self._registered or name in self.installed

    def usable(self, *, shipped: bool = True) -> dict[str, T]:
        """Everything that can be loaded: a broken package must not break the others.

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
        """The thing of that name, or an error that lists the names."""
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
