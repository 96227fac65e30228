"""The base class of generators, and the conversion of a spec such as ``stencil:16x16:bytes=8`` to a graph."""

from __future__ import annotations

import dataclasses
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.errors import UnsupportedError
from hopbytes.model.comm_graph import PROCESSES, CommGraph
from hopbytes.text.hostlist import HOST_NAME
from hopbytes.util.options import build, describe
from hopbytes.util.registry import Registry

#: Limits of tasks and arcs, above which a spec is taken for a typing error.
MAX_TASKS = 2**26
MAX_ARCS = 2**28
MAX_VOLUME = 2**63 - 1

patterns: Registry[type[Pattern]] = Registry(
    "pattern", "hopbytes.patterns",
    modules=dict.fromkeys(
        ("alltoall", "butterfly", "hierarchical", "stencil", "transpose"), "hopbytes.patterns.exchanges"
    ),
)


class Arcs(NamedTuple):
    """Directed arcs of one kind of traffic: source task, target task, bytes and messages of each arc."""

    sources: Int64
    targets: Int64
    volumes: Int64
    messages: Int64


class Pattern(ABC):
    """A family of communication patterns. Subclasses are frozen dataclasses; fields are parameters.

    A value without a key after the name sets the first field: ``stencil:16x16`` sets `dims`.
    """

    __slots__ = ()
    #: Tasks are processes that exchange messages, not vertices of a mesh (see CommGraph.of_processes).
    of_processes: ClassVar[bool] = True
    #: Parameters whose product is the number of tasks, so that a notice states their defaults.
    sizes: ClassVar[tuple[str, ...]] = ()
    #: Parameters by the names that they have elsewhere, and what to write for them.
    meant: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def graph(self) -> CommGraph:
        """Return the pattern; the same parameters always give the same pattern."""


def is_pattern_spec(text: str) -> bool:
    """Tell whether a text is a spec: the name of a generator, a colon, and possibly parameters."""
    name, colon, _ = text.partition(":")
    return bool(colon) and _known_name(name) in patterns


def _known_name(name: str) -> str:
    """Return the name of a generator as it is registered; people write ``ML:TP=8``, too."""
    return name if name in patterns or name.lower() not in patterns else name.lower()


def pattern(spec: str) -> CommGraph:
    """Return the pattern of a spec ``name:value:key=value,key=value``: bytes and messages of every arc."""
    # Only the first item may omit its key, capitals count as small letters, and ``meta`` has the whole spec.
    name, _, rest = spec.partition(":")
    name = _known_name(name)
    kind = patterns[name]
    items = [item.strip() for item in re.split("[:,]", rest) if item.strip()]
    if items and "=" not in items[0]:
        items[0] = f"{dataclasses.fields(kind)[0].name}={items[0]}"  # type: ignore[arg-type]
    items = [re.sub("^[^=]*=", lambda key: key[0].lower(), item) for item in items]
    given = [item.partition("=")[0] for item in items]
    for key in given:
        if key in kind.meant:
            raise UnsupportedError(f"pattern {name!r}: {key}= is unknown, expected {kind.meant[key]}")
    try:
        thing = build(patterns, f"{name}:{','.join(items)}")
        graph = thing.graph()
    except MemoryError:
        raise UnsupportedError(f"pattern {spec!r}: the pattern does not fit into memory") from None
    chosen = [key for key in kind.sizes if key not in given and getattr(thing, key) > 1]
    if chosen and given:
        factors = [(key, getattr(thing, key)) for key in kind.sizes if key in given or key in chosen]
        product = " x ".join(str(size) for _, size in factors)
        defaults = ", ".join(f"{key}={getattr(thing, key)}" for key in chosen)
        words = f"{product} ({' x '.join(key for key, _ in factors)}; {defaults} by default)"
        graph = dataclasses.replace(graph, meta={**graph.meta, "sizes": words})
    return graph


def build_graph(thing: Pattern, n: int, kinds: list[Arcs]) -> CommGraph:
    """Return the graph of several kinds of traffic among n tasks, without arcs of a task to itself."""
    if n > MAX_TASKS:
        raise invalid_parameter(thing, f"{n} tasks, expected at most {MAX_TASKS}")
    meta = {"name": describe(patterns, thing), "format": "generated"}
    if thing.of_processes:
        meta["tasks"] = PROCESSES
    return CommGraph.from_edges(*joined(kinds), n=n, meta=meta)


def joined(kinds: list[Arcs]) -> Arcs:
    """Return the arcs of all kinds, without those of a task to itself."""
    nothing = [np.empty(0, np.int64)] * 4
    columns = [np.concatenate(column) for column in zip(nothing, *kinds, strict=True)]
    keep = columns[0] != columns[1]
    return Arcs(*(column[keep] for column in columns))


def uniform_arcs(sources: Int64, targets: Int64, volume: int, messages: int = 1) -> Arcs:
    """Return arcs that all have the same volume and number of messages."""
    if volume > MAX_VOLUME:
        raise UnsupportedError(f"{volume} bytes on an arc, expected at most {MAX_VOLUME}")
    return Arcs(
        sources.astype(np.int64), targets.astype(np.int64), np.full(len(sources), volume, np.int64),
        np.full(len(sources), messages, np.int64),
    )


def check_arcs(thing: Pattern, arcs: int) -> None:
    """Raise UnsupportedError for more arcs than :data:`MAX_ARCS`, before arrays are allocated."""
    if arcs > MAX_ARCS:
        raise invalid_parameter(thing, f"{arcs} arcs, expected at most {MAX_ARCS}")


def dimensions(thing: Pattern, text: str, most: int = 3, least: int = 1) -> tuple[int, ...]:
    """Parse a text like ``16x16x4``: `least` to `most` positive numbers with a product up to MAX_TASKS."""
    parts = text.split("x")
    if not all(re.fullmatch("[1-9][0-9]{0,8}", part) for part in parts) or not least <= len(parts) <= most:
        wanted = f"{least} to {most} numbers" if least < most else f"{most} numbers"
        example = "x".join("844"[:most])
        raise invalid_parameter(thing, f"dimensions {text!r}, expected {wanted} >= 1 such as {example}")
    sizes = tuple(map(int, parts))
    if math.prod(sizes) > MAX_TASKS:
        raise invalid_parameter(thing, f"{math.prod(sizes)} tasks, expected at most {MAX_TASKS}")
    return sizes


def invalid_parameter(thing: Pattern, what: str) -> UnsupportedError:
    """Return the error for an invalid value of a parameter."""
    return UnsupportedError(f"pattern {patterns.name_of(type(thing)) or '?'!r}: {what}")


def recorded_hosts(graph: CommGraph) -> list[str] | None:
    """Return the host of every task in the recorded run, or None if the pattern does not contain it."""
    facts: Any = graph.meta.get("recorded")
    for hosts in (facts.get("hosts") if isinstance(facts, dict) else None, graph.meta.get("hosts")):
        if isinstance(hosts, (list, tuple)) and len(hosts) == graph.n and all(
            isinstance(host, str) and HOST_NAME.fullmatch(host) for host in hosts
        ):
            return list(hosts)
    return None
