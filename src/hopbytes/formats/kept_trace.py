"""The trace that `record` keeps beside a pattern: who waits for whom, for the first steps of every rank."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

from hopbytes.errors import FormatError
from hopbytes.formats.base import MARK, WAITING
from hopbytes.formats.files import atomic_write, may_write
from hopbytes.formats.hashes import pattern_sha256
from hopbytes.model.comm_graph import CommGraph
from hopbytes.text.open_input import open_stream, plain_name

SUFFIX = ".trace.gz"
#: The comment at the start of such a file, before the hash of the pattern.
HEAD = f"# {MARK} beside the pattern "


def kept_trace_path(pattern: str) -> str:
    """Return the path of the trace beside a pattern.

    >>> kept_trace_path("runs/app.pattern"), kept_trace_path("app.csv.gz")
    ('runs/app.trace.gz', 'app.trace.gz')
    """
    return os.path.splitext(plain_name(pattern))[0] + SUFFIX


def write_kept_trace(
    graph: CommGraph, pattern: str, order: Iterable[list[str]], *, force: bool = False
) -> str:
    """Write the actions of all ranks beside the file of a pattern, and return the path."""
    path = kept_trace_path(pattern)
    may_write(path, force)
    lines = [f"{HEAD}{pattern_sha256(graph)}", *(action for own in order for action in own)]
    atomic_write({path: "\n".join(lines) + "\n"})
    return path


def with_kept_trace(graph: CommGraph, pattern: str | None) -> CommGraph:
    """Return a pattern that was read from a file, with the trace of the same recording beside it, if any."""
    meta = {name: value for name, value in graph.meta.items() if name != WAITING}
    path = None if pattern is None else kept_trace_path(pattern)
    if path is not None and path != pattern and os.path.isfile(path) and _belongs(path, graph):
        meta[WAITING] = path
    return graph if meta == graph.meta else replace(graph, meta=meta)


def _belongs(path: str, graph: CommGraph) -> bool:
    try:
        with open_stream(path) as opened:
            head = opened.stream.readline(200).decode(errors="replace")
    except (FormatError, OSError):
        return False
    return head.startswith(HEAD) and head.removeprefix(HEAD).strip() == pattern_sha256(graph)
