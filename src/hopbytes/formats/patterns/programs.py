"""Several programs that are started by one command: a pattern of each, and the traffic between them."""

from __future__ import annotations

import math
import os
import re
import shlex
from typing import NamedTuple

import numpy as np

from hopbytes.errors import FormatError
from hopbytes.formats.base import Format, Source
from hopbytes.formats.exchange import read_pattern
from hopbytes.formats.files import open_source
from hopbytes.formats.mappings.several_programs import startable
from hopbytes.model.comm_graph import PROCESSES, CommGraph
from hopbytes.patterns.base import is_pattern_spec
from hopbytes.text.open_input import named_in

MOST_PROGRAMS = 1000
#: No machine runs more ranks of one command; a digit too much would be generated for seconds.
MOST_RANKS = 2**22


class _Program(NamedTuple):
    """A program: its pattern, and the words of its command."""

    graph: CommGraph
    words: list[str]


class Programs(Format, form="programs"):
    """A line ``program PATTERN COMMAND`` per program, in the order of ranks, and ``between PATTERN``."""
    # Ranks of all programs are numbered through, as MPI_COMM_WORLD does. Patterns are files, relative to the
    # folder of this one, or generated (``stencil:8x8``). ``between`` has the messages among ranks of
    # different programs, in these common numbers. ``#`` begins a comment.

    suffixes = (".programs",)
    summary = "several programs of one command: a pattern of each, and the traffic between them"

    def sniff(self, name: str, head: bytes) -> bool:
        return _is_list(head)

    def read(self, source: Source) -> CommGraph:
        programs: list[_Program] = []
        between: list[tuple[int, CommGraph]] = []
        for number, words in _lines(source):
            with named_in(source.path):
                graph = _pattern_called(source, number, words[1])
            if words[0] == "program":
                programs.append(_Program(graph, words[2:]))
            else:
                between.append((number, graph))
        n = sum(program.graph.n for program in programs)
        for number, graph in between:
            if graph.n > n:
                raise source.error(f"{graph.n} ranks, but the programs have {n}", number)
        return _together(source, programs, [graph for _, graph in between], n)


def _is_list(head: bytes) -> bool:
    for line in head.split(b"\n"):
        words = line.split(b"#", 1)[0].split()
        if words:
            return words[0] in (b"program", b"between") and len(words) > 1
    return False


def _lines(source: Source) -> list[tuple[int, list[str]]]:
    """Return the number and the words of every line, all of which are checked before a pattern is read."""
    lines = []
    for number, line in enumerate(source.text().splitlines(), 1):
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise FormatError(source.name, number, f"{error}, expected words as in a shell") from None
        if not words:
            continue
        fits = (words[0] == "program" and len(words) > 2) or (words[0] == "between" and len(words) == 2)
        if not fits:
            what = f"{' '.join(words)[:60]!r}, expected `program PATTERN COMMAND` or `between PATTERN`"
            raise source.error(what, number)
        if words[0] == "program" and not startable(words[2:]):
            what = f"{' '.join(words[2:])[:60]!r}, expected a program and its arguments, none of them ':'"
            raise source.error(what, number)
        lines.append((number, words))
    count = sum(words[0] == "program" for _, words in lines)
    if not count:
        raise source.error("no program, expected lines `program PATTERN COMMAND`")
    if count > MOST_PROGRAMS:
        raise source.error(f"{count} programs, expected at most {MOST_PROGRAMS}")
    return lines


def _check_size(source: Source, number: int, spec: str) -> None:
    """Refuse a generated pattern by the sizes in its first part, such as ``4096x4096``."""
    sizes = re.findall("[0-9]+", re.split("[:,]", spec.partition(":")[2])[0])
    ranks = math.prod(int(size[:9]) for size in sizes)
    if ranks > MOST_RANKS:
        what = f"{spec[:60]!r} has {ranks} ranks, expected at most {MOST_RANKS} of one command"
        raise source.error(what, number)


def _pattern_called(source: Source, number: int, name: str) -> CommGraph:
    path = name
    if not is_pattern_spec(name) or os.path.exists(name):
        path = os.path.join(os.path.dirname(source.path or ""), name)
        with open_source(path, max_bytes=source.max_bytes) as opened:
            if _is_list(opened.head()):
                raise source.error(f"{name[:60]} is a list of programs, expected a pattern", number)
    else:
        _check_size(source, number, name)
    return read_pattern(path, max_bytes=source.max_bytes)


def _together(source: Source, programs: list[_Program], between: list[CommGraph], n: int) -> CommGraph:
    graphs = [program.graph for program in programs]
    firsts = np.cumsum([0, *(graph.n for graph in graphs)]).tolist()[:-1] + [0] * len(between)
    graphs += between
    scales = {graph.scale for graph in graphs}
    if len(scales) > 1:
        what = f"volumes in different units (scales {', '.join(map(str, sorted(scales)))})"
        raise source.error(f"{what}, expected whole numbers of bytes in all patterns")
    src = [graph.sources().astype(np.int64) + first for graph, first in zip(graphs, firsts, strict=True)]
    dst = [graph.targets.astype(np.int64) + first for graph, first in zip(graphs, firsts, strict=True)]
    known = all(graph.messages is not None for graph in graphs if graph.m)
    loads = [graph.loads for graph in graphs[: len(programs)]]
    given = any(load is not None for load in loads)
    commands = [{"command": program.words, "tasks": program.graph.n} for program in programs]
    meta = {"name": source.title, "format": "programs", "tasks": PROCESSES, "programs": commands}
    return CommGraph.from_edges(
        np.concatenate(src), np.concatenate(dst), np.concatenate([graph.arc_volumes() for graph in graphs]),
        np.concatenate([graph.arc_messages() for graph in graphs]) if known else None,
        n=n, meta=meta,
        loads=np.concatenate([
            np.ones(graph.n, np.int64) if load is None else load
            for graph, load in zip(graphs, loads, strict=False)
        ]) if given else None,
    )  # fmt: skip
