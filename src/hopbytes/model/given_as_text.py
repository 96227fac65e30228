"""Patterns, machines and mappings that are given as text: a file, or the spec of a generator or a machine.

Nothing here reads files: the top of the package says what does (``hopbytes/__init__.py``).
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` would cost more than all that `import hopbytes` does
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: What makes a "pattern", a "mapping", a "machine" or the "parts" of tasks of a text, or refuses what is none
#: of them; and the "partition" of a graph into so many parts.
readers: dict[str, Callable[..., Any]] = {}


def converted(kind: str, thing: object, **options: Any) -> Any:
    """Return the pattern, mapping or machine that a text describes."""
    if kind not in readers:
        from hopbytes.errors import UnsupportedError

        raise UnsupportedError(f"a {kind} as {type(thing).__name__}, expected names taken from `hopbytes`")
    return readers[kind](thing, **options)
