"""XML element by element with line numbers, without entities, and without fetching anything."""

from __future__ import annotations

from collections.abc import Callable

from hopbytes.errors import FormatError
from hopbytes.fabrics.text import read_bytes

MAX_BYTES = 2**28
MAX_DEPTH = 100

Start = Callable[[str, dict[str, str], int], None]
End = Callable[[str], None]


def walk_xml(path: str, start: Start, end: End) -> None:
    """Call `start` (tag, attributes, line) and `end` (tag) for every element of a file.

    Parameters
    ----------
    path : str
        Possibly compressed.
    start, end : callable

    Raises
    ------
    FormatError
        With path and line: no well-formed XML, an entity declaration (a few of them can stand for
        gigabytes), more than 100 levels.

    Notes
    -----
    O(bytes). A document type is allowed and never fetched.
    """
    from xml.parsers import expat

    parser = expat.ParserCreate()
    depth = 0

    def opened(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise FormatError(path, parser.CurrentLineNumber, f"more than {MAX_DEPTH} levels of elements")
        start(tag, attributes, parser.CurrentLineNumber)

    def closed(tag: str) -> None:
        nonlocal depth
        depth -= 1
        end(tag)

    def entity(name: str, *_: object) -> None:
        raise FormatError(path, parser.CurrentLineNumber, f"an entity ({name[:20]}), expected plain elements")

    parser.StartElementHandler, parser.EndElementHandler = opened, closed
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(read_bytes(path, MAX_BYTES), True)
    except expat.ExpatError as error:
        raise FormatError(path, error.lineno, f"no XML: {expat.ErrorString(error.code)}") from None
    except ValueError as error:  # an encoding nobody knows
        raise FormatError(path, None, f"no XML: {error}") from None
