"""Mappers and refiners, and what they share."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any


class RegisteredClasses(ModuleType):
    """A package whose attributes are all registered classes, also those of other packages.

    The file of a class is loaded when the attribute is first used; ``list(hopbytes.mappers)`` has the names.
    """

    def __getattr__(self, name: str) -> Any:
        # Names of files are in lower case: they are imported as modules.
        found = self._registry().class_named(name) if name[:1].isupper() else None
        if found is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return found

    def __dir__(self) -> list[str]:
        return sorted(registered.__name__ for _, registered in self._registry().items())

    def __iter__(self) -> Iterator[str]:
        return iter(self._registry())

    def _registry(self) -> Any:
        from hopbytes.algorithms import base

        return base.mappers if self.__name__.endswith("mappers") else base.refiners
