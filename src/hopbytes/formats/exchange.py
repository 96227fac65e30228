"""write and convert: each finds the format and delegates the work to it."""

from __future__ import annotations

import itertools
import os
import shlex
from dataclasses import replace
from typing import Any

from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError, WrongTypeError
from hopbytes.formats.base import MARK, WRITE_OPTIONS, Content, Format, LaunchLine, Written, formats
from hopbytes.formats.files import atomic_write, check_writable, may_write
from hopbytes.formats.reading import check_options, read
from hopbytes.formats.recognition import format_to_write
from hopbytes.machines.kinds.tree import Tree, one_host
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.text.open_input import MAX_BYTES, path_text
from hopbytes.util.checks import check_truths


@frozen
class Receipt:
    """The result of :func:`write`: the files, the command to type ("" if none), sentences for the user.

    `placed` is the mapping that was written: the writer may have renumbered slots inside nodes, which
    changes no metric. It is None for patterns. `lines` are the commands for different MPIs, if they differ.
    """

    paths: tuple[str, ...]
    launch: str = ""
    notices: tuple[str, ...] = ()
    placed: Mapping | None = None
    lines: tuple[LaunchLine, ...] = ()


def write(
    thing: CommGraph | Mapping,
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    force: bool = False,
    **options: Any,
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
    **options
        Each format uses those that apply to it. Mappings: `hosts`, the names of the nodes; `allowed`, the
        CPUs of each node that the job may use; `oversubscribe`, true if a slot may hold several tasks;
        `version` of Open MPI; `launched`, how the launcher places the old ranks of a file of new ranks;
        `graph` and `metrics`, which are stored in JSON. Patterns: `symmetrize`, add both directions.

    Raises
    ------
    UnsupportedError
        The format or an option is unknown, a file exists that hopbytes did not write, the format cannot hold
        the pattern or mapping, `thing` is neither of the two, or `path` is not a path.

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
    check_options(options, WRITE_OPTIONS)
    holds = "pattern" if isinstance(thing, CommGraph) else "mapping"
    chosen = format_to_write(path, format, holds)
    _check_place(path, chosen)
    stem = _shell_name(path)
    if isinstance(thing, CommGraph):
        written = _filled(chosen.write_pattern(thing, options), stem)
    else:
        written = _filled(chosen.write_mapping(thing, options), stem)
        if written.launch:
            from hopbytes.formats.mappings.several_programs import programs_of, with_programs

            programs = programs_of(options, thing)
            written = with_programs(written, programs, formats.name_of(chosen) or "", stem)
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
    placed = written.placed or (thing if isinstance(thing, Mapping) else None)
    paths = tuple(path + suffix for suffix in written.files)
    notices = (*written.notices, *_one_host_notice(thing, chosen))
    return Receipt(paths, written.launch, notices, placed, written.lines)


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
    if os.path.exists(path) and not os.path.isfile(path):
        raise UnsupportedError(f"{path}: not a regular file, expected a name to which suffixes can be added")


def _check_place(path: str, chosen: Format) -> None:
    """Raise UnsupportedError for names of launch files that a launcher misreads or that cannot be typed."""
    if chosen.several_files and path != "-":
        _check_stem(path)
    if not chosen.capabilities.launcher:
        return
    full, forbidden = os.path.abspath(path), chosen.forbidden_characters + chosen.forbidden_in_folders
    found = [c for c in path if not c.isprintable() or c in forbidden]
    found += [c for c in full if c in chosen.forbidden_in_folders]
    if found:
        what = "has a special meaning for the launcher" if found[0] in forbidden else "cannot be typed"
        name = path if found[0] in path else full
        raise UnsupportedError(
            f"{name!a}: {found[0]!a} in the name of a launch file {what}, expected a name without it"
        )


def _target(path: str | os.PathLike[str]) -> str:
    """Return the name of the file to write; UnsupportedError if it cannot be a file's name."""
    name = path_text(path)
    if not name:
        raise UnsupportedError("an empty name of the file to write, expected a name, or - (standard output)")
    if "\0" in name:
        raise UnsupportedError(f"{name!r}: not a file name, expected a name without null characters")
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
    _check_place(path, chosen)
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
        Write the pattern with the same weight in both directions, see :func:`symmetrized`.
    force : bool
        Overwrite a file that hopbytes did not write.

    Examples
    --------
    >>> import hopbytes as hb
    >>> hb.convert("examples/lammps_lj_64.csv", "lj.graph", symmetrize=True).notices   # doctest: +SKIP
    """
    graph = read(source, input_format, holds="pattern", max_bytes=max_bytes)
    return write(graph, target, format, force=force, symmetrize=symmetrize)
