"""What a generator of patterns is, and how a text such as ``stencil:16x16:bytes=8`` becomes a graph."""

from __future__ import annotations

import dataclasses
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._util.options import build, describe
from hopbytes._util.registry import Registry
from hopbytes.errors import UnsupportedError
from hopbytes.model.comm_graph import PROCESSES, CommGraph

#: Tasks and arcs beyond this are a slip of the pen rather than a pattern.
MAX_TASKS = 2**26
MAX_ARCS = 2**28
MAX_VOLUME = 2**63 - 1

patterns: Registry[type[Pattern]] = Registry("pattern", "hopbytes.patterns")


@dataclass(frozen=True, slots=True, eq=False)
class Arcs:
    """Directed arcs of one kind of traffic: task, task, bytes and number of messages of each."""

    sources: Int64
    targets: Int64
    volumes: Int64
    messages: Int64


class Pattern(ABC):
    """A family of communication patterns. Subclasses are frozen dataclasses; fields are parameters.

    The first field is what stands behind the name without a key: ``stencil:16x16`` sets `dims`.
    """

    __slots__ = ()
    #: Tasks are processes that exchange messages, not vertices of a mesh (see CommGraph.of_processes).
    of_processes: ClassVar[bool] = True

    @abstractmethod
    def graph(self) -> CommGraph:
        """Return the pattern; the same parameters always give the same one."""


def is_pattern_spec(text: str) -> bool:
    """Whether a text names a generator, with or without parameters.

    Examples
    --------
    >>> is_pattern_spec("stencil:4x4"), is_pattern_spec("stencil.csv")
    (True, False)
    """
    name, colon, _ = text.partition(":")
    return bool(colon) and name in patterns


def pattern(spec: str) -> CommGraph:
    """Return the pattern a spec describes.

    Parameters
    ----------
    spec : str
        ``name:value:key=value,key=value``; items are separated by colons or commas. One item, the first,
        may go without its key.

    Returns
    -------
    CommGraph
        Volumes in bytes and message counts per arc; ``meta`` holds the complete spec.

    Raises
    ------
    UnsupportedError
        An unknown name, parameter or value.

    Examples
    --------
    >>> pattern("stencil:4x4:periodic=xy:bytes=8").total_volume
    512
    """
    name, _, rest = spec.partition(":")
    kind = patterns[name]
    items = [item.strip() for item in re.split("[:,]", rest) if item.strip()]
    first = dataclasses.fields(kind)[0].name  # type: ignore[arg-type]
    if items and "=" not in items[0]:
        items[0] = f"{first}={items[0]}"
    try:
        graph = build(patterns, f"{name}:{','.join(items)}").graph()
    except MemoryError:
        raise UnsupportedError(f"pattern {spec!r}: needs more memory than there is") from None
    return graph


def made(thing: Pattern, n: int, kinds: list[Arcs]) -> CommGraph:
    """Return the sum of several kinds of traffic among n tasks; arcs of a task to itself are left out."""
    if n > MAX_TASKS:
        raise refused(thing, f"{n} tasks, expected at most {MAX_TASKS}")
    columns = [
        np.concatenate([getattr(arcs, field.name) for arcs in kinds] or [np.empty(0, np.int64)])
        for field in dataclasses.fields(Arcs)
    ]
    keep = columns[0] != columns[1]
    sources, targets, volumes, messages = (column[keep] for column in columns)
    meta = {"name": describe(patterns, thing), "format": "generated"}
    if thing.of_processes:
        meta["tasks"] = PROCESSES
    return CommGraph.from_edges(sources, targets, volumes, messages, n=n, meta=meta)


def every(sources: Int64, targets: Int64, volume: int, messages: int = 1) -> Arcs:
    """Arcs that all carry the same."""
    if volume > MAX_VOLUME:
        raise UnsupportedError(f"{volume} bytes on an arc, expected at most {MAX_VOLUME}")
    return Arcs(
        sources.astype(np.int64), targets.astype(np.int64), np.full(len(sources), volume, np.int64),
        np.full(len(sources), messages, np.int64),
    )


def check_arcs(thing: Pattern, arcs: int) -> None:
    """Refuse a pattern too large to be meant, before its arrays are made."""
    if arcs > MAX_ARCS:
        raise refused(thing, f"{arcs} arcs, expected at most {MAX_ARCS}")


def dimensions(thing: Pattern, text: str, most: int = 3, least: int = 1) -> tuple[int, ...]:
    """Read ``16x16x4``: as many positive numbers as allowed, whose product is a bearable number of tasks."""
    parts = text.split("x")
    if not all(re.fullmatch("[1-9][0-9]{0,8}", part) for part in parts) or not least <= len(parts) <= most:
        wanted = f"{least} to {most} numbers" if least < most else f"{most} numbers"
        raise refused(thing, f"dimensions {text!r}, expected {wanted} >= 1 such as {'x'.join('844'[:most])}")
    sizes = tuple(map(int, parts))
    total = 1
    for size in sizes:
        total *= size
    if total > MAX_TASKS:
        raise refused(thing, f"{total} tasks, expected at most {MAX_TASKS}")
    return sizes


def refused(thing: Pattern, what: str) -> UnsupportedError:
    """Return the error about a value of a parameter."""
    return UnsupportedError(f"pattern {patterns.name_of(type(thing)) or '?'!r}: {what}")
