"""Registries of named objects; `name` is defined in ``name.py`` of a known package, or where `modules` says.

An algorithm, a topology or a format is therefore added by adding one file; a table names the files that
define several. Looking up a name imports only its own file, so that commands start quickly; listing a
registry imports all files.

Other packages add objects by entry points: group ``hopbytes.mappers`` (refiners, machines, formats), name of
the object → ``module:object``. They are looked up when no file here has the name, and for listing.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar, cast

from hopbytes.errors import HopbytesWarning, UnsupportedError, unknown_name

T = TypeVar("T")
#: A class keeps its own type, and so its parameters, when it is registered.
S = TypeVar("S")


class Registry(Generic[T]):
    """The registered objects of one kind, by name."""

    def __init__(
        self, kind: str, packages: str | tuple[str, ...], aliases: Mapping[str, str] | None = None,
        entry_points: str = "", modules: Mapping[str, str] | None = None,
    ) -> None:
        self.kind = kind
        self._packages = (packages,) if isinstance(packages, str) else packages
        self._aliases = dict(aliases or {})
        self._things: dict[str, T] = {}
        self._discovered = False
        self._group = entry_points
        self._modules = dict(modules or {})

    def register(self, name: str) -> Callable[[S], S]:
        """Return a decorator that registers an object under `name`, which must be unique in the registry.

        An object of the same module and qualified name replaces itself, as when a cell of a notebook runs
        again.
        """

        def add(thing: S) -> S:
            if name in self._things and _origin(self._things[name]) != _origin(thing):
                raise ValueError(f"two {self.kind}s are called {name!r}")
            self._things[name] = cast("T", thing)
            return thing

        return add

    def _discover(self, only: str = "") -> None:
        """Import all modules, or those of one package."""
        if self._discovered:
            return
        self._discovered = not only
        for name in [only] if only else self._packages:
            package = importlib.import_module(name)
            # A registry in a single module (presets) has no package to search.
            for module in pkgutil.iter_modules(getattr(package, "__path__", [])):
                importlib.import_module(f"{name}.{module.name}")
        if not only:
            self.load_elsewhere()

    def load_elsewhere(self) -> None:
        """Load all objects of other packages; one that cannot be loaded is left out with a warning."""
        for entry in self._entries():
            self._take(entry, listing=True)

    def _entries(self) -> list[Any]:
        """Return the entry points of other packages; importlib.metadata is loaded only for them."""
        if not self._group:
            return []
        from importlib.metadata import entry_points

        return [entry for entry in entry_points(group=self._group) if entry.name not in self._things]

    def _take(self, entry: Any, *, listing: bool = False) -> None:
        """File what an entry point names; in a list, one that cannot be loaded is left out with a warning."""
        try:
            thing = entry.load()
        except Exception as error:
            what = f"{self.kind} {entry.name!r} of {entry.value} cannot be loaded: {error}"
            if not listing:
                raise UnsupportedError(what) from error
            warnings.warn(what, HopbytesWarning, stacklevel=2)
            return
        self._things.setdefault(entry.name, thing)

    def class_named(self, class_name: str) -> T | None:
        """Return the thing whose class has a name, None if there is none; the likely file is tried first."""
        snake = re.sub("(?<=[a-z])(?=[A-Z])", "_", class_name).lower()
        for name in (snake, class_name.lower()):
            self._load(name)
            if getattr(self._things.get(name), "__name__", None) == class_name:
                return self._things[name]
        named = (thing for _, thing in self.items() if getattr(thing, "__name__", None) == class_name)
        return next(named, None)

    def _load(self, name: str) -> None:
        """Import the module that defines `name`, or load its entry point, if either exists."""
        if self._discovered or name in self._things:
            return
        if name in self._modules:
            module = self._modules[name]  # a name without dots is that of a module of the first package
            importlib.import_module(module if "." in module else f"{self._packages[0]}.{module}")
        elif name.isidentifier():
            for package in self._packages:
                module, inside = f"{package}.{name}", hasattr(importlib.import_module(package), "__path__")
                if inside and importlib.util.find_spec(module) is not None:
                    importlib.import_module(module)
        if name not in self._things:
            for entry in self._entries():
                if entry.name == name:
                    self._take(entry)

    def __getitem__(self, name: str) -> T:
        """Return the object `name`; UnsupportedError, with the nearest name, if there is none."""
        if not isinstance(name, str) or name not in self:
            self._discover()
            raise unknown_name(self.kind, name, self._things)
        return self._things[self._aliases.get(name, name)]

    def __contains__(self, name: str) -> bool:
        name = self._aliases.get(name, name)
        self._load(name)
        return name in self._things

    def holds(self, name: str) -> bool:
        """Return whether `name` is registered by now; imports nothing."""
        return name in self._things

    def name_of(self, thing: T) -> str | None:
        """Return the name under which `thing` is registered, or None; imports nothing."""
        return next((name for name, known in self._things.items() if known is thing), None)

    def __iter__(self) -> Iterator[str]:
        self._discover()
        return iter(sorted(self._things))

    def items(self, only: str = "") -> list[tuple[str, T]]:
        """Return (name, object) in alphabetical order, at least those of the package `only`."""
        self._discover(only)
        return sorted(self._things.items())


def _origin(thing: object) -> tuple[str, str]:
    """Return module and qualified name of a class or function, or of the class of another thing."""
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return getattr(named, "__module__", ""), getattr(named, "__qualname__", "")
