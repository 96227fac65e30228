"""Name → thing, filled by importing every file of one folder the first time it is asked.

Adding an algorithm, a topology or a format is adding one file; this module is why.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from hopbytes.errors import unknown_name

T = TypeVar("T")


class Registry(Generic[T]):
    """The things of one kind, by name.

    Parameters
    ----------
    kind : str
        Word for messages: ``"mapper"``.
    package : str
        Dotted name of the folder whose files register themselves on import.
    """

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self._package = package
        self._things: dict[str, T] = {}
        self._discovered = False

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that files a thing under `name` (unique within the kind)."""

        def file_under_name(thing: T) -> T:
            if name in self._things:
                raise ValueError(f"two {self.kind}s are called {name!r}")
            self._things[name] = thing
            return thing

        return file_under_name

    def _discover(self) -> None:
        if self._discovered:
            return
        self._discovered = True
        package = importlib.import_module(self._package)
        # A registry kept in one file (presets) has no folder to walk.
        for module in pkgutil.iter_modules(getattr(package, "__path__", [])):
            importlib.import_module(f"{self._package}.{module.name}")

    def __getitem__(self, name: str) -> T:
        """Return the thing called `name`; UnsupportedError with the nearest name if there is none."""
        self._discover()
        if name not in self._things:
            raise unknown_name(self.kind, name, self._things)
        return self._things[name]

    def __contains__(self, name: str) -> bool:
        self._discover()
        return name in self._things

    def __iter__(self) -> Iterator[str]:
        """Names in alphabetical order."""
        self._discover()
        return iter(sorted(self._things))

    def items(self) -> list[tuple[str, T]]:
        """Return (name, thing) in alphabetical order."""
        return [(name, self._things[name]) for name in self]
