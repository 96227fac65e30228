"""read, write and convert: each finds the format of a file and delegates the work to it."""

from __future__ import annotations

import itertools
import os
import shlex
from collections.abc import Callable, Sequence
from collections.abc import Mapping as Dictionary
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, ScaleError, UnsupportedError, WrongTypeError, damaged, unknown_name
from hopbytes.formats.base import MARK, Content, Format, LaunchLine, Written
from hopbytes.formats.files import atomic_write, check_writable, may_write, open_source
from hopbytes.formats.kept_trace import with_kept_trace
from hopbytes.formats.recognition import check_generator, format_named, format_to_write, recognise
from hopbytes.machines.tree import Tree, one_host
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.patterns.base import is_pattern_spec, pattern
from hopbytes.text.hostlist import read_hosts
from hopbytes.text.open_input import MAX_BYTES, path_text
from hopbytes.util.checks import check_texts, check_truths, hosts_of, thread_count, whole
from hopbytes.util.integers import MAX_SUM


def read(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    holds: str | None = None,
    max_bytes: int = MAX_BYTES,
    workers: int | None = None,
    where: Allocation | str | None = None,
    n: int | None = None,
    graph: CommGraph | str | None = None,
    threads: bool | None = None,
    launched: str | None = None,
    collectives: str | None = None,
    counts: str | os.PathLike[str] | None = None,
    **unknown: NoReturn,
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
    where : Allocation, or an object that can be converted to one, optional
        For mappings, as all up to `launched`: the slots. A format ignores what it does not need.
    n : int, optional
        Number of tasks.
    graph : CommGraph, or the name or spec of a pattern, optional
        The pattern for which a mapping in JSON must have been made, with as many tasks.
    threads : bool, optional
        Whether a rankfile counts hardware threads.
    launched : str, optional
        How the launcher maps the old ranks of a file of new ranks.
    collectives : str, optional
        For patterns, as `counts`: the model that turns recorded collectives into messages.
    counts : path, optional
        The file of message counts that belongs to a CSV file; ``""`` reads none.

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
    _refuse(unknown, read)
    facts = {
        "where": where, "n": n, "graph": graph, "threads": threads, "launched": launched,
        "collectives": collectives, "counts": counts,
    }  # fmt: skip
    return _read(path, format, holds, max_bytes, workers, facts)


def read_pattern(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    max_bytes: int = MAX_BYTES,
    workers: int | None = None,
    collectives: str | None = None,
    counts: str | os.PathLike[str] | None = None,
    **unknown: NoReturn,
) -> CommGraph:
    """Read a communication pattern; see :func:`read` for the arguments and errors.

    Examples
    --------
    >>> import hopbytes as hb
    >>> hb.read_pattern("stencil:4x4").n
    16
    """
    _refuse(unknown, read_pattern)
    facts = {"collectives": collectives, "counts": counts}
    graph: CommGraph = _read(path, format, "pattern", max_bytes, workers, facts)
    return graph


def read_mapping(
    path: str | os.PathLike[str],
    where: Allocation | str | None = None,
    format: str | None = None,
    *,
    max_bytes: int = MAX_BYTES,
    n: int | None = None,
    graph: CommGraph | str | None = None,
    threads: bool | None = None,
    launched: str | None = None,
    **unknown: NoReturn,
) -> Mapping:
    """Read a mapping: one that hopbytes stored, a launch file, or one PE per line.

    Parameters
    ----------
    path : path or ``"-"``
    where : Allocation, or an object that can be converted to one, optional
        The slots the mapping is for. Files in JSON know theirs, and are refused if these are others; files of
        other formats need it.
    format, max_bytes, n, graph, threads, launched
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
    _refuse(unknown, read_mapping)
    facts = {"where": where, "n": n, "graph": graph, "threads": threads, "launched": launched}
    mapping = _read(path, format, "mapping", max_bytes, None, facts)
    if not isinstance(mapping, Mapping):
        raise UnsupportedError(f"{path_text(path)}: PEs of an unknown machine, expected `where` to say which")
    return mapping


def _refuse(unknown: Dictionary[str, Any], function: Any) -> None:
    """Raise UnsupportedError, with the nearest keyword of a function, for one that it does not have."""
    for name in unknown:
        raise unknown_name("option", name, function.__kwdefaults__)


def _options(**facts: Any) -> dict[str, Any]:
    """Return the options that are given; a machine, a pattern and hosts may be given as text."""
    check_texts(allowed=facts.get("allowed"), collectives=facts.get("collectives"))
    check_truths(oversubscribe=facts.get("oversubscribe"), threads=facts.get("threads"))
    metrics = facts.get("metrics")
    if metrics is not None and not isinstance(metrics, Dictionary):
        raise WrongTypeError(f"metrics {metrics!r}, expected a dictionary")
    made: dict[str, Callable[[Any], Any]] = {
        "where": Allocation.of, "graph": CommGraph.checked,
        "n": lambda n: whole("n", n, 0),
        "hosts": lambda hosts: read_hosts(hosts_of(hosts)),
    }  # fmt: skip
    given = {name: value for name, value in facts.items() if value is not None}
    return given | {name: make(given[name]) for name, make in made.items() if name in given}


def _read(
    path: str | os.PathLike[str], format: str | None, holds: str | None, max_bytes: int,
    workers: int | None, facts: Dictionary[str, Any],
) -> Any:
    check_texts(holds=holds)
    if holds not in (None, "pattern", "mapping"):
        raise unknown_name("content", holds, ["pattern", "mapping"])
    options = _options(**facts)
    count = thread_count(workers, "workers")
    if format is None and holds != "mapping" and isinstance(path, str) and is_pattern_spec(path) and (
        not os.path.exists(path)
    ):
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
                content = chosen.read(source)
            if isinstance(content, CommGraph):
                content.know_directions()
                content = with_kept_trace(content, source.path)
            return content
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


@frozen
class Receipt:
    """The result of :func:`write`: the files, the command to type ("" if none), sentences for the user.

    `mapping` is what was written: the writer may have renumbered slots inside nodes, which
    changes no metric. It is None for patterns. `lines` are the commands for different MPIs, if they differ.
    """

    paths: tuple[str, ...]
    launch: str = ""
    notices: tuple[str, ...] = ()
    mapping: Mapping | None = None
    lines: tuple[LaunchLine, ...] = ()


def write(
    thing: CommGraph | Mapping,
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    force: bool = False,
    hosts: str | os.PathLike[str] | Sequence[str] | None = None,
    allowed: str | None = None,
    oversubscribe: bool = False,
    version: str | None = None,
    launched: str | None = None,
    graph: CommGraph | str | None = None,
    metrics: Dictionary[str, Any] | None = None,
    symmetrize: bool = False,
    **unknown: NoReturn,
) -> Receipt:
    """Write a pattern or a mapping; every file is written completely or not at all.

    Parameters
    ----------
    thing : CommGraph or Mapping
    path : path or ``"-"``
        ``-`` is standard output; files named .gz, .xz and .bz2 are compressed. Formats that consist of
        several files add suffixes to this name.
    format : str, optional
        By default determined from the suffix.
    force : bool
        Overwrite an existing file that hopbytes did not write. hopbytes recognises its own files by the
        words "written by hopbytes" near the start; those of formats without comments by an attribute of the
        file, which a copy or a file system may not have.
    hosts : str, path or sequence of str, optional
        For mappings, as all up to `metrics`: names of the nodes, ``"n[1-4]"``. A format ignores
        what it does not need.
    allowed : str, optional
        The CPUs that the job may use on every node, ``"0-15,32-47"``.
    oversubscribe : bool
        Whether a slot may hold several tasks.
    version : str, optional
        Version of Open MPI.
    launched : str, optional
        How the launcher maps the old ranks of a file of new ranks.
    graph, metrics : optional
        The pattern, with as many tasks as the mapping, and a dictionary of metrics, which are stored in JSON.
    symmetrize : bool
        For patterns: add both directions.

    Raises
    ------
    UnsupportedError
        The format or an option is unknown, a file exists that hopbytes did not write, the format cannot hold
        the pattern or mapping, `graph` has another number of tasks, or `path` is not a path.
    WrongTypeError
        `thing` is neither of the two, or an option has a type that does not fit.

    Examples
    --------
    >>> import hopbytes as hb
    >>> ring = hb.CommGraph.from_edges([0, 1, 2], [1, 2, 0], [5, 5, 5])
    >>> hb.write(ring, "ring.pattern").paths   # doctest: +SKIP
    ('ring.pattern',)
    """
    path = _target(path)
    check_truths(force=force)
    if not isinstance(thing, (CommGraph, Mapping)):
        raise WrongTypeError(f"a {type(thing).__name__} to write, expected a CommGraph or a Mapping")
    _refuse(unknown, write)
    holds = "pattern" if isinstance(thing, CommGraph) else "mapping"
    chosen = format_to_write(path, format, holds)
    _check_name(path, chosen)
    stem = _shell_name(path)
    if isinstance(thing, CommGraph):
        pattern_notices: list[str] = []
        if symmetrize:
            thing, pattern_notices = symmetrized(thing)
        written = _filled(chosen.write_pattern(thing), stem)
        written = replace(written, notices=(*pattern_notices, *written.notices))
    else:
        options = _options(
            hosts=hosts, allowed=allowed, oversubscribe=oversubscribe, version=version,
            launched=launched, graph=graph, metrics=metrics,
        )  # fmt: skip
        if "graph" in options and options["graph"].n != thing.n:
            raise UnsupportedError(f"{path}: {thing.n} tasks are mapped, expected a pattern of as many tasks")
        written = _filled(chosen.write_mapping(thing, options), stem)
        if written.launch:
            from hopbytes.formats.mappings.several_programs import programs_of, with_programs

            written = with_programs(written, programs_of(options, thing), chosen.form, stem)
    if path == "-" and len(written.files) > 1:
        raise _needs_a_name(format)
    if len(written.files) > 1:
        _check_stem(path)
    for suffix in written.files:
        may_write(path + suffix, force)
    atomic_write(
        {path + suffix: _content(chosen, path, suffix, content) for suffix, content in written.files.items()},
        [path + suffix for suffix in written.executable],
    )
    mapping = written.mapping or (thing if isinstance(thing, Mapping) else None)
    paths = tuple(path + suffix for suffix in written.files)
    notices = (*written.notices, *_one_host_notice(thing, chosen))
    return Receipt(paths, written.launch, notices, mapping, written.lines)


def _filled(written: Written, stem: str) -> Written:
    """Return what a writer made with the name of the file, before anything that a file says is added."""
    return replace(
        written,
        launch=written.launch.replace("{stem}", stem),
        notices=tuple(notice.replace("{stem}", stem) for notice in written.notices),
        lines=tuple(replace(line, command=line.command.replace("{stem}", stem)) for line in written.lines),
    )


def _content(chosen: Format, path: str, suffix: str, content: Content) -> Content:
    """Return the content, after a comment with the mark if the format has comments and it is a file."""
    if suffix or path == "-" or not chosen.comment:
        return content
    mark = f"{chosen.comment} {MARK}\n"
    if isinstance(content, str):
        return mark + content
    return itertools.chain((mark.encode(),), (content,) if isinstance(content, bytes) else content)


def _one_host_notice(thing: CommGraph | Mapping, chosen: Format) -> tuple[str, ...]:
    """Return a notice that launch files are for one host if no level of the machine is a node."""
    if not isinstance(thing, Mapping) or not chosen.capabilities.launcher:
        return ()
    machine = thing.where.machine
    notice = one_host(machine.levels, machine.n_cores) if isinstance(machine, Tree) else None
    return () if notice is None or any(notice in given for given in thing.where.notices) else (notice,)


def _shell_name(path: str) -> str:
    """Return a file's name quoted for a shell; FILE for standard output, which a command cannot read."""
    if path == "-":
        return "FILE"
    # A shell command would interpret a leading dash as an option.
    return shlex.quote(f"./{path}" if path.startswith("-") else path)


def _check_stem(path: str) -> None:
    """Raise UnsupportedError for a device or folder: further files would be written beside it."""
    # /dev/stdout may be a regular file, but what stands beside it is in /dev.
    folder = os.path.realpath(os.path.dirname(path))
    is_stream = folder == "/dev" or folder.startswith("/proc/")
    if is_stream or (os.path.exists(path) and not os.path.isfile(path)):
        raise UnsupportedError(f"{path}: not a regular file, expected a name to which suffixes can be added")


def _check_name(path: str, chosen: Format) -> None:
    """Raise UnsupportedError for names of launch files that a launcher misreads or that cannot be typed."""
    if chosen.several_files and path != "-":
        _check_stem(path)
    if not chosen.capabilities.launcher:
        return
    full, forbidden = os.path.abspath(path), chosen.forbidden_characters + chosen.forbidden_in_folders
    wrong = [c for c in path if not c.isprintable() or c in forbidden]
    wrong += [c for c in full if c in chosen.forbidden_in_folders]
    if wrong:
        what = "has a special meaning for the launcher" if wrong[0] in forbidden else "cannot be typed"
        name = path if wrong[0] in path else full
        raise UnsupportedError(
            f"{name!a}: {wrong[0]!a} in the name of a launch file {what}, expected a name without it"
        )


def _target(path: str | os.PathLike[str]) -> str:
    name = path_text(path)
    if not name:
        raise UnsupportedError("an empty name of the file to write, expected a name, or - (standard output)")
    return name


def _needs_a_name(format: str | None) -> UnsupportedError:
    what = "consists of several files, expected a file name (-o) instead of '-'"
    return UnsupportedError(f"format {format!r} {what}")


def check_target(
    path: str | os.PathLike[str], format: str | None = None, *, holds: str, force: bool = False
) -> None:
    """Check before a mapping is computed whether :func:`write` can write its file; no file is changed."""
    path = _target(path)
    chosen = format_to_write(path, format, holds)
    if path == "-":
        if chosen.several_files:
            raise _needs_a_name(format)
        return
    _check_name(path, chosen)
    check_writable(path, force)


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    input_format: str | None = None,
    format: str | None = None,
    symmetrize: bool = False,
    force: bool = False,
    max_bytes: int = MAX_BYTES,
) -> Receipt:
    """Read a pattern and write it in another format.

    Parameters
    ----------
    source, target : path or ``"-"``
    input_format, format : str, optional
        Formats of source and target; by default determined from suffix and content.
    symmetrize : bool
        Write the pattern with the same weight in both directions: the mean of both, or their sum where a mean
        would be fractional.
    force : bool
        Overwrite a file that hopbytes did not write.

    Examples
    --------
    >>> import hopbytes as hb
    >>> hb.convert("examples/lammps_lj_64.csv", "lj.graph", symmetrize=True).notices   # doctest: +SKIP
    """
    graph = read_pattern(source, input_format, max_bytes=max_bytes)
    return write(graph, target, format, force=force, symmetrize=symmetrize)


def symmetrized(graph: CommGraph) -> tuple[CommGraph, list[str]]:
    """Return the pattern with equal weights in both directions, and notices about the change."""
    # J counts both directions, so the exact counterpart of C has the weight (C[i,j] + C[j,i]) / 2 in each. If
    # halving would round, the sums themselves are the weights, which doubles the J of every mapping.
    if graph.undirected:
        return graph, []
    notices: list[str] = []
    # Volumes and messages are symmetrized over the same arcs, so that both get the same rows.
    indptr, targets, volumes = _both_ways(graph, graph.arc_volumes(), "volumes", notices)
    messages = None
    if graph.messages is not None:
        _, _, messages = _both_ways(graph, graph.messages, "messages", notices)
    unit = graph.volumes is None and bool(np.all(volumes == 1))
    symmetric = CommGraph.of_own(
        indptr, targets, None if unit else volumes, messages, graph.loads, undirected=True, scale=graph.scale,
        meta=graph.meta,
    )
    return symmetric, notices


def _both_ways(graph: CommGraph, values: Int64, what: str, notices: list[str]) -> tuple[Int64, Int32, Int64]:
    if kernels.checked_sum(np.ascontiguousarray(values)) > MAX_SUM // 2:
        raise ScaleError(f"{what} of both directions sum to more than 2^63 - 1: divide them by 2 or more")
    indptr, targets, sums = kernels.symmetrize(graph.arcs(values))
    assert sums is not None
    if bool(np.any(sums & 1)):
        cost = "J" if what == "volumes" else "every count"
        notices.append(
            f"{what} of the two directions are added, not averaged: {cost} is twice that of the source"
        )
        return indptr, targets, sums
    return indptr, targets, sums >> 1
