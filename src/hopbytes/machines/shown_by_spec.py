"""How a machine shows itself: by its spec, from which it can be made again."""

from __future__ import annotations

from abc import ABC, abstractmethod

#: Characters of a spec in one line.
LONGEST_SPEC = 80


class ShownBySpec(ABC):
    """What has a spec and a number of cores."""

    __slots__ = ()

    def __init_subclass__(cls, **options: object) -> None:
        """Keep the representation of every kind; a dataclass would replace it by one of all its fields."""
        super().__init_subclass__(**options)
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = ShownBySpec.__repr__  # type: ignore[method-assign]

    @abstractmethod
    def spec(self) -> str:
        """Return a text from which :func:`hopbytes.allocate` makes this again."""

    @property
    @abstractmethod
    def n_cores(self) -> int:
        """Number of places."""

    def __repr__(self) -> str:
        text = self.spec()
        cut = text if len(text) <= LONGEST_SPEC else f"{text[: LONGEST_SPEC - 1]}…"
        return f"{type(self).__name__}({cut!r}, {self.n_cores} cores)"
