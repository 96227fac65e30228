"""write and convert: find the format, then let it do its work."""

from __future__ import annotations

import itertools
import os
import shlex
from dataclasses import dataclass, replace
from typing import Any

from hopbytes.errors import UnsupportedError, WrongTypeError
from hopbytes.formats.base import MARK, WRITING, Content, Format, LaunchLine, Written, formats
from hopbytes.formats.files import atomic_write, may_write
from hopbytes.formats.reading import check_options, read
from hopbytes.formats.recognition import format_to_write
from hopbytes.machines.common.level_names import one_host
from hopbytes.machines.common.tree import Tree
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.textio.open_input import MAX_BYTES, path_text


@dataclass(frozen=True, slots=True)
class Receipt:
    """What :func:`write` did: the files, the command to type ("" if none), sentences for the user.

    `placed` is the placement that was written: slots may have been renumbered inside nodes, which
    changes no metric. None for patterns. `lines` are the commands for different MPIs, where they differ.
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
    """Write a pattern or a mapping; every file is complete or not there at all.

    Parameters
    ----------
    thing : CommGraph or Mapping
    path : path or ``"-"``
        ``-`` is standard output; .gz, .xz and .bz2 are compressed. Formats of several files use it as stem.
    format : str, optional
        By default found from the suffix.
    force : bool
        Overwrite a file that hopbytes did not write. A file is known as ours by the words "written by
        hopbytes" near its start; formats without room for them always need `force` to be replaced.
    **options
        Each format takes what it can use. Placements: `hosts`, names of the nodes; `allowed`, the CPUs of
        each that the job has; `oversubscribe`, several tasks on a slot are meant; `version` of Open MPI;
        `launched`, how old ranks are placed before new ones; `graph` and `metrics` are noted in JSON.
        Patterns: `symmetrize`, both directions become their sum.

    Raises
    ------
    UnsupportedError
        Unknown format or option, a foreign file in the way, a format that cannot hold the thing; a thing
        that is neither of the two, a path that is none.

    Examples
    --------
    >>> import hopbytes as hb
    >>> ring = hb.CommGraph.from_edges([0, 1, 2], [1, 2, 0], [5, 5, 5])
    >>> hb.write(ring, "ring.pattern").paths   # doctest: +SKIP
    ('ring.pattern',)
    """
    path = _target(path)
    if not isinstance(thing, (CommGraph, Mapping)):
        raise WrongTypeError(f"a {type(thing).__name__} to write, expected a CommGraph or a Mapping")
    check_options(options, WRITING)
    holds = "pattern" if isinstance(thing, CommGraph) else "placement"
    chosen = format_to_write(path, format, holds)
    _check_place(path, chosen)
    written: Written
    if isinstance(thing, CommGraph):
        written = chosen.write_pattern(thing, options)
    else:
        written = chosen.write_placement(thing, options)
    if path == "-" and len(written.files) > 1:
        raise _needs_a_name(format)
    if len(written.files) > 1:
        _check_stem(path)
    for suffix in written.files:
        may_write(path + suffix, force, _unmarked(chosen))
    atomic_write(
        {path + suffix: _content(chosen, path, suffix, content) for suffix, content in written.files.items()},
        [path + suffix for suffix in written.executable],
    )
    placed = written.placed or (thing if isinstance(thing, Mapping) else None)
    typed = _typed(path)
    texts = (written.launch, *written.notices, *_said_hosts(thing, chosen))
    launch, *notices = (text.replace("{stem}", typed) for text in texts)
    lines = (replace(line, command=line.command.replace("{stem}", typed)) for line in written.lines)
    paths = tuple(path + suffix for suffix in written.files)
    return Receipt(paths, launch, tuple(notices), placed, tuple(lines))


def _unmarked(chosen: Format) -> str:
    """Name of a format without room for our mark, "" for others."""
    return "" if chosen.marked else formats.name_of(chosen) or "such"


def _content(chosen: Format, path: str, suffix: str, content: Content) -> Content:
    """Return what goes into a file: our mark in front where the format has comments, but not in a pipe."""
    if suffix or path == "-" or not chosen.comment:
        return content
    mark = f"{chosen.comment} {MARK}\n"
    if isinstance(content, str):
        return mark + content
    return itertools.chain((mark.encode(),), (content,) if isinstance(content, bytes) else content)


def _said_hosts(thing: CommGraph | Mapping, chosen: Format) -> tuple[str, ...]:
    """Say that launch files are for one host when the levels of a machine name no node."""
    if not isinstance(thing, Mapping) or not chosen.can.launcher:
        return ()
    machine = thing.where.machine
    said = one_host(machine.levels, machine.n_cores) if isinstance(machine, Tree) else None
    return () if said is None or any(said in notice for notice in thing.where.notices) else (said,)


def _typed(path: str) -> str:
    """Return how a file is called in a shell; a command cannot read what went to standard output."""
    if path == "-":
        return "FILE"
    # A leading dash would be taken for an option.
    return shlex.quote(f"./{path}" if path.startswith("-") else path)


def _check_stem(path: str) -> None:
    """Refuse a device for several files, which would lie beside it."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise UnsupportedError(f"{path}: no plain file, expected a name for several files beside each other")


def _check_place(path: str, chosen: Format) -> None:
    """Refuse names of launch files that no launcher, or nobody at a terminal, can be told."""
    if chosen.several_files and path != "-":
        _check_stem(path)
    if not chosen.can.launcher:
        return
    full, misread = os.path.abspath(path), chosen.misread + chosen.misread_in_folders
    found = [c for c in path if not c.isprintable() or c in misread]
    found += [c for c in full if c in chosen.misread_in_folders]
    if found:
        what = "is taken for something else by the launcher" if found[0] in misread else "cannot be typed"
        name = path if found[0] in path else full
        raise UnsupportedError(
            f"{name!a}: {found[0]!a} in the name of a launch file {what}, expected a name without"
        )


def _target(path: str | os.PathLike[str]) -> str:
    """Return the name of a file to write, if it can be one."""
    name = path_text(path)
    if not name:
        raise UnsupportedError("an empty name of a file to write, expected one, or - for standard output")
    if "\0" in name:
        raise UnsupportedError(f"{name!r}: not a file name")
    return name


def _needs_a_name(format: str | None) -> UnsupportedError:
    what = "needs several files, expected a file name (-o) instead of '-'"
    return UnsupportedError(f"format {format!r} {what}")


def check_target(
    path: str | os.PathLike[str], format: str | None = None, *, holds: str, force: bool = False
) -> None:
    """Find out before the work whether :func:`write` could write there; nothing is touched.

    Parameters
    ----------
    path : path or ``"-"``
    format : str, optional
        By default found from the suffix.
    holds : {"pattern", "placement"}
        What is going to be written.
    force : bool
        A file that hopbytes did not write may be overwritten.

    Raises
    ------
    UnsupportedError
        No such format, one that holds something else or needs several files where there is only
        standard output, a folder or a foreign file in the way, a folder that is missing or may not be
        written.
    """
    path = _target(path)
    chosen = format_to_write(path, format, holds)
    if path == "-":
        if chosen.several_files:
            raise _needs_a_name(format)
        return
    if os.path.isdir(path):
        raise UnsupportedError(f"{path}: cannot be written: a folder, expected a file name")
    _check_place(path, chosen)
    may_write(path, force, _unmarked(chosen))
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise UnsupportedError(f"{path}: cannot be written: the folder {folder} is missing")
    if not os.access(folder, os.W_OK):
        raise UnsupportedError(f"{path}: cannot be written: no permission for the folder {folder}")


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
        Of source and target; by default found from suffix and content.
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
