"""read, read_pattern and read_mapping: each finds the format and delegates the work to it."""

from __future__ import annotations

import os
from collections.abc import Mapping as Dictionary
from typing import Any, Literal, overload

from hopbytes._arrays import Int32
from hopbytes.errors import FormatError, ScaleError, UnsupportedError, damaged, unknown_name
from hopbytes.formats.base import READ_OPTIONS
from hopbytes.formats.files import open_source
from hopbytes.formats.recognition import OLD_KINDS, check_generator, format_named, recognise
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.patterns.base import is_pattern_spec, pattern
from hopbytes.text.open_input import MAX_BYTES, path_text
from hopbytes.util.checks import check_texts
from hopbytes.util.cpus import thread_count


@overload
def read(
    path: str | os.PathLike[str], format: str | None = None, *, holds: Literal["pattern"],
    max_bytes: int = MAX_BYTES, workers: int | None = None, **options: Any,
) -> CommGraph: ...


@overload
def read(
    path: str | os.PathLike[str], format: str | None = None, *, holds: Literal["mapping"],
    max_bytes: int = MAX_BYTES, workers: int | None = None, **options: Any,
) -> Mapping | Int32: ...


@overload
def read(
    path: str | os.PathLike[str], format: str | None = None, *, holds: str | None = None,
    max_bytes: int = MAX_BYTES, workers: int | None = None, **options: Any,
) -> Any: ...


def read(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    holds: str | None = None,
    max_bytes: int = MAX_BYTES,
    workers: int | None = None,
    **options: Any,
) -> Any:
    """Read a communication pattern or a mapping.

    Parameters
    ----------
    path : path, ``"-"`` or spec of a pattern
        ``-`` is standard input; gzip, xz and bzip2 are recognised by content. ``stencil:16x16:bytes=8``
        generates a pattern (:func:`hopbytes.patterns.base.pattern`) unless a file of that name exists.
    format : str, optional
        Name of the format (``hopbytes show formats``); by default determined from suffix and content.
    holds : {"pattern", "mapping"}, optional
        The expected kind of content; formats of the other kind are refused.
    max_bytes : int
        Largest size after decompression.
    workers : int, optional
        Number of threads that check a large pattern; the default is the number of CPUs that this process may
        use.
    **options
        Facts that the file does not contain; each format uses those that apply to it. Mappings: `where`, the
        Allocation; `n`, the number of tasks; `graph`, the pattern for which a JSON file must have been made;
        `threads`, true if a rankfile counts hardware threads; `launched`, how the launcher placed the old
        ranks of a file of new ranks. Patterns: `collectives`, the model that turns recorded collectives into
        messages; `counts`, the file of message counts that belongs to a CSV file.

    Returns
    -------
    CommGraph, Mapping or int32[n]
        A pattern, or a mapping; the plain format without `where` returns the PE of every task as an array.

    Raises
    ------
    FormatError
        ``path:line: what was found, what was expected``; also when no format fits.
    ScaleError
        A number or a sum of numbers exceeds 2^63 - 1.
    UnsupportedError
        The format or an option is unknown (the text names the nearest one), `path` is not a path, or the
        content does not fit into memory.

    Examples
    --------
    >>> import hopbytes as hb
    >>> hb.read("examples/lammps_lj_64.csv").n   # doctest: +SKIP
    64
    >>> hb.read("stencil:4x4").m
    48
    """
    check_texts(holds=holds)
    holds = OLD_KINDS.get(holds, holds)
    if holds not in (None, "pattern", "mapping"):
        raise unknown_name("content", holds, ["pattern", "mapping"])
    check_options(options, READ_OPTIONS)
    count = thread_count(workers, "workers")
    if format is None and holds != "mapping" and _means_pattern(path):
        return pattern(path_text(path))
    if format is None and holds == "pattern":
        check_generator(path)
    with open_source(path, max_bytes=max_bytes, options=options, workers=count) as source:
        chosen = format_named(format, holds) if format is not None else recognise(source, holds)
        if holds is not None and chosen.holds != holds:
            what = f"format {format!r} holds a {chosen.holds}, expected a {holds}"
            raise UnsupportedError(f"{source.name}: {what}")
        ambiguity = chosen.ambiguity(source) if format is None else None
        if ambiguity is not None:
            raise FormatError(source.name, None, ambiguity)
        try:
            with damaged(source.name, "a whole and unchanged file of its format"):
                found = chosen.read(source)
            if isinstance(found, CommGraph):
                found.know_directions()
            return found
        except MemoryError:
            raise UnsupportedError(f"{source.name}: the content does not fit into memory") from None
        except FormatError as error:
            if error.where != "graph":
                raise
            # The graph's constructor found the fault and does not know the file's name.
            raise FormatError(source.name, error.line, error.what) from None
        except ScaleError as error:
            if str(error).startswith(source.name):
                raise
            raise ScaleError(f"{source.name}: {error}") from None


def read_pattern(
    path: str | os.PathLike[str], format: str | None = None, *, max_bytes: int = MAX_BYTES,
    workers: int | None = None, **options: Any,
) -> CommGraph:
    """Read a communication pattern; see :func:`read` for the arguments and errors.

    Examples
    --------
    >>> import hopbytes as hb
    >>> hb.read_pattern("stencil:4x4").n
    16
    """
    graph: CommGraph = read(
        path, format, holds="pattern", max_bytes=max_bytes, workers=workers, **options
    )
    return graph


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
    Mapping(64 tasks → 72 PEs, J=1,699,892,202, eco, seed 0)
    """
    given = options if where is None else {**options, "where": where}
    found = read(path, format, holds="mapping", max_bytes=max_bytes, **given)
    if not isinstance(found, Mapping):
        what = "PEs of an unknown machine, expected `where` to say which"
        raise UnsupportedError(f"{path_text(path)}: {what}")
    return found


def check_options(options: Dictionary[str, Any], known: tuple[str, ...]) -> None:
    """Raise UnsupportedError for an option that no format uses, because it would have no effect."""
    for name in options:
        if name not in known:
            raise unknown_name("option", name, known)


def _means_pattern(path: str | os.PathLike[str]) -> bool:
    return isinstance(path, str) and is_pattern_spec(path) and not os.path.exists(path)
