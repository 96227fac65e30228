"""read, read_pattern and read_mapping: find the format, then let it do its work."""

from __future__ import annotations

import os
from collections.abc import Mapping as Dictionary
from typing import Any, Literal, overload

from hopbytes._arrays import Int32
from hopbytes.errors import FormatError, ScaleError, UnsupportedError, unknown_name
from hopbytes.formats.base import READING
from hopbytes.formats.files import open_source
from hopbytes.formats.recognition import check_generator, format_named, recognise
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.patterns.base import is_pattern_spec, pattern
from hopbytes.textio.open_input import MAX_BYTES, path_text


@overload
def read(
    path: str | os.PathLike[str], format: str | None = None, *, holds: Literal["pattern"],
    max_bytes: int = MAX_BYTES, **options: Any,
) -> CommGraph: ...


@overload
def read(
    path: str | os.PathLike[str], format: str | None = None, *, holds: Literal["placement"],
    max_bytes: int = MAX_BYTES, **options: Any,
) -> Mapping | Int32: ...


@overload
def read(
    path: str | os.PathLike[str], format: str | None = None, *, holds: str | None = None,
    max_bytes: int = MAX_BYTES, **options: Any,
) -> Any: ...


def read(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    holds: str | None = None,
    max_bytes: int = MAX_BYTES,
    **options: Any,
) -> Any:
    """Read a communication pattern or a placement.

    Parameters
    ----------
    path : path, ``"-"`` or spec of a pattern
        ``-`` is standard input; gzip, xz and bzip2 are recognised by content. ``stencil:16x16:bytes=8``
        makes a pattern (:func:`hopbytes.patterns.base.pattern`) unless there is a file of that name.
    format : str, optional
        Name of the format (``hopbytes list formats``); by default found from suffix and content.
    holds : {"pattern", "placement"}, optional
        What is wanted; narrows the search and refuses formats that hold something else.
    max_bytes : int
        Largest size after decompression.
    **options
        What the file does not say, each format takes what it can use. Placements: `where`, the Allocation,
        `n`, the number of tasks, and `graph`, the pattern one in JSON must be for; `threads`, rankfiles
        count hardware threads; `launched`, how old ranks were placed before new ones. Patterns:
        `collectives`, a model for recordings; `counts`, the file of message counts beside a CSV file.

    Returns
    -------
    CommGraph, or for placements what the format describes

    Raises
    ------
    FormatError
        ``path:line: what was found, what was expected``; also when no format fits.
    ScaleError
        Numbers, or sums of them, beyond 2^63 - 1.
    UnsupportedError
        Unknown format or option (with the nearest one), a path that is none, or more content than memory.

    Examples
    --------
    >>> import hopbytes as hb
    >>> hb.read("examples/lammps_lj_64.csv").n   # doctest: +SKIP
    64
    >>> hb.read("stencil:4x4").m
    48
    """
    if holds not in (None, "pattern", "placement"):
        raise unknown_name("content", holds, ["pattern", "placement"])
    check_options(options, READING)
    if format is None and holds != "placement" and _means_pattern(path):
        return pattern(path_text(path))
    if format is None and holds == "pattern":
        check_generator(path)
    with open_source(path, max_bytes=max_bytes, options=options) as source:
        chosen = format_named(format, holds) if format is not None else recognise(source, holds)
        if holds is not None and chosen.holds != holds:
            what = f"format {format!r} holds a {chosen.holds}, expected a {holds}"
            raise UnsupportedError(f"{source.name}: {what}")
        doubt = chosen.doubt(source) if format is None else None
        if doubt is not None:
            raise FormatError(source.name, None, doubt)
        try:
            return chosen.read(source)
        except MemoryError:
            raise UnsupportedError(f"{source.name}: needs more memory than there is") from None
        except FormatError as error:
            if error.where != "graph":
                raise
            # A fault of the numbers as a whole, found when the graph was built.
            raise FormatError(source.name, error.line, error.what) from None
        except ScaleError as error:
            if str(error).startswith(source.name):
                raise
            raise ScaleError(f"{source.name}: {error}") from None


def read_pattern(
    path: str | os.PathLike[str], format: str | None = None, *, max_bytes: int = MAX_BYTES, **options: Any
) -> CommGraph:
    """Read a communication pattern; see :func:`read` for the arguments and errors.

    Examples
    --------
    >>> import hopbytes as hb
    >>> hb.read_pattern("stencil:4x4").n
    16
    """
    return read(path, format, holds="pattern", max_bytes=max_bytes, **options)


def read_mapping(
    path: str | os.PathLike[str],
    where: Allocation | None = None,
    format: str | None = None,
    *,
    max_bytes: int = MAX_BYTES,
    **options: Any,
) -> Mapping:
    """Read a mapping: one that hopbytes stored, a launch file, or one PE per line.

    Parameters
    ----------
    path : path or ``"-"``
    where : Allocation, optional
        The slots the mapping is for. Files in JSON know theirs, and are refused if these are others; files of
        other formats need it.
    format, max_bytes, **options
        See :func:`read`.

    Raises
    ------
    FormatError
        As :func:`read`.
    UnsupportedError
        As :func:`read`; also a file that does not say of which machine its PEs are, without `where`.

    Examples
    --------
    >>> import hopbytes as hb
    >>> hb.read_mapping("placed.json")   # doctest: +SKIP
    Mapping(64 tasks → 72 PEs, J=1 699 892 202, eco, seed 0)
    """
    given = options if where is None else {**options, "where": where}
    found = read(path, format, holds="placement", max_bytes=max_bytes, **given)
    if not isinstance(found, Mapping):
        what = "PEs of an unknown machine, expected `where` to say which"
        raise UnsupportedError(f"{path_text(path)}: {what}")
    return found


def check_options(options: Dictionary[str, Any], known: tuple[str, ...]) -> None:
    """Refuse a name that no format knows: it would do nothing."""
    for name in options:
        if name not in known:
            raise unknown_name("option", name, known)


def _means_pattern(path: str | os.PathLike[str]) -> bool:
    return isinstance(path, str) and is_pattern_spec(path) and not os.path.exists(path)
