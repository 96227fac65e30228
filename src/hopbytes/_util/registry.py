"""Registries of named objects; the object `name` is defined in the file ``name.py`` of a known package.

An algorithm, a topology or a format is therefore added by adding one file. Looking up a name imports only its
own file, so that commands start quickly; listing a registry imports all files.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

from hopbytes.errors import unknown_name

T = TypeVar("T")


class Registry(Generic[T]):
    """The registered objects of one kind, by name.

    Parameters
    ----------
    kind : str
        Name of the kind in messages: ``"mapper"``.
    packages : str or tuple of str
        Dotted names of the packages whose modules register themselves on import, or of one module that
        registers all objects.
    prefixes : tuple of str
        Possible prefixes of file names before the name of the object.
    aliases : mapping of str to str
        Alternative names, which are accepted but not listed.
    """

    def __init__(
        self, kind: str, packages: str | tuple[str, ...], prefixes: tuple[str, ...] = ("",),
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        self.kind = kind
        self._packages = (packages,) if isinstance(packages, str) else packages
        self._prefixes = prefixes
        self._aliases = dict(aliases or {})
        self._things: dict[str, T] = {}
        self._discovered = False

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that registers an object under `name`, which must be unique in the registry."""

        def add(thing: T) -> T:
            if name in self._things:
                raise ValueError(f"two {self.kind}s are called {name!r}")
            self._things[name] = thing
            return thing

        return add

    def _discover(self, beginning: str = "") -> None:
        """Import all modules whose names start with `beginning`."""
        if self._discovered:
            return
        self._discovered = not beginning
        for name in self._packages:
            package = importlib.import_module(name)
            # A registry in a single module (presets) has no package to search.
            for module in pkgutil.iter_modules(getattr(package, "__path__", [])):
                if module.name.startswith(beginning):
                    importlib.import_module(f"{name}.{module.name}")

    def _load(self, name: str) -> None:
        """Import the module that defines `name`, if it exists."""
        if self._discovered or name in self._things or not name.isidentifier():
            return
        for package in self._packages:
            if not hasattr(importlib.import_module(package), "__path__"):
                continue
            for prefix in self._prefixes:
                module = f"{package}.{prefix}{name}"
                if importlib.util.find_spec(module) is not None:
                    importlib.import_module(module)

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

    def name_of(self, thing: T) -> str | None:
        """Return the name under which `thing` is registered, or None; imports nothing."""
        return next((name for name, known in self._things.items() if known is thing), None)

    def __iter__(self) -> Iterator[str]:
        """Iterate over all names in alphabetical order."""
        self._discover()
        return iter(sorted(self._things))

    def items(self, beginning: str = "") -> list[tuple[str, T]]:
        """Return (name, object) in alphabetical order, at least of modules whose names start so."""
        self._discover(beginning)
        return sorted(self._things.items())
