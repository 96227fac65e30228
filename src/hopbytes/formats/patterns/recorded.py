"""Common parts of readers of recordings: summed traffic, sets of files (one per rank), parsed numbers."""

from __future__ import annotations

import contextlib
import os
import re
from array import array
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from hopbytes.errors import FormatError, ScaleError, UnsupportedError
from hopbytes.formats.base import Source
from hopbytes.formats.parsing import check_tasks
from hopbytes.model.comm_graph import PROCESSES, CommGraph
from hopbytes.patterns.collective_messages import check_model, expand
from hopbytes.text.lines import Lines
from hopbytes.text.open_input import Opened, check_reference, named_in, open_stream
from hopbytes.util.integers import MAX_SUM

#: If fewer than this share of the ranks send anything, a notice calls the pattern nearly empty.
SENDING_SHARE = 0.5


class Traffic:
    """Directed traffic in the order of the recording."""

    def __init__(self) -> None:
        self.sources, self.targets = array("q"), array("q")
        self.volumes, self.counts = array("q"), array("q")

    def add(self, source: int, target: int, volume: int, count: int) -> None:
        """Add `count` messages with `volume` bytes in total."""
        if volume > MAX_SUM:
            raise ScaleError(f"{volume} bytes from task {source} to {target}, expected at most 2^63 - 1")
        self.sources.append(source)
        self.targets.append(target)
        self.volumes.append(volume)
        self.counts.append(count)

    def add_collective(
        self, kind: str, model: str, members: Sequence[int], volumes: Sequence[int], root: int, calls: int,
        first: int | None = None,
    ) -> None:
        """Add the messages of a collective call among `members` under a model."""
        for source, target, volume, count in expand(kind, model, volumes, root, calls, first=first):
            self.add(members[source], members[target], volume, count)

    def graph(self, source: Source, format: str, n: int, **facts: Any) -> CommGraph:
        """Return the pattern, the sum of each pair that exchanges something; `facts` go into its meta."""
        columns = [np.array(c, np.int64) for c in (self.sources, self.targets, self.volumes, self.counts)]
        kept = (columns[2] > 0) | (columns[3] > 0)
        src, dst, volumes, counts = (column[kept] for column in columns)
        check_tasks(source, None, n, len(src))
        highest = int(max(src.max(initial=-1), dst.max(initial=-1)))
        if highest >= n:
            raise source.error(f"task {highest}, expected 0 to {n - 1}")
        notices, sending = [*facts.pop("notices", ())], len(np.unique(src))
        if n > 1 and sending < SENDING_SHARE * n:
            notices.append(f"the pattern is nearly empty: only {sending} of {n} ranks have recorded sends")
        meta = {"name": source.title, "format": format, "tasks": PROCESSES, **facts}
        if notices:
            meta["notices"] = notices
        return CommGraph.from_edges(src, dst, volumes, counts, n=n, meta=meta)


def chosen_model(source: Source) -> str:
    """Return the model of collectives that the caller named; by default collectives are left out."""
    return check_model(source.options.get("collectives") or "ignore")


def files_of_set(
    source: Source, names: re.Pattern[str], first: int = 0
) -> Iterator[tuple[int | None, Lines]]:
    """Yield (rank, lines) of the files of a recording, in the order of ranks."""
    # `names` has the groups ``before``, ``rank`` (from `first` on) and ``after``. Another name, or standard
    # input, is a complete recording, and its rank is None.
    own = names.fullmatch(os.path.basename(source.path)) if source.path else None
    if own is None:
        yield None, Lines(source.stream, source.name)
        return
    folder = os.path.dirname(source.path or "")
    files: dict[int, str] = {}
    for name in os.listdir(folder or "."):
        match = names.fullmatch(name)
        if match and all(match[part] == own[part] for part in ("before", "after")):
            files[int(match["rank"]) - first] = os.path.join(folder, name)
    check_complete(source.name, files, max(files) + 1)
    for rank, path in sorted(files.items()):
        if rank == int(own["rank"]) - first:
            yield rank, Lines(source.stream, source.name)
        else:
            with open_beside(source, path) as opened:
                yield rank, Lines(opened.stream, opened.name)


@contextlib.contextmanager
def open_beside(source: Source, path: str) -> Iterator[Opened]:
    """Open another file of a recording, which the file of the source stands for."""
    with named_in(source.path):
        check_reference(path)
    with open_stream(path, max_bytes=source.max_bytes) as opened:
        yield opened


@contextlib.contextmanager
def faults(name: str, line_number: int | None = None, where: str = "") -> Iterator[None]:
    """Say of errors inside the block in which file, line and record they are; ValueError is a FormatError."""
    try:
        yield
    except (UnsupportedError, ScaleError) as error:
        at = name if line_number is None else f"{name}:{line_number}"
        raise type(error)(f"{at}: {where}{error}") from None
    except ValueError as error:
        raise FormatError(name, line_number, f"{where}{error}") from None


def check_complete(where: str, found: Any, n: int) -> None:
    """Raise FormatError, with the missing ranks, unless `found` contains all ranks of 0..n-1."""
    absent = n - len(found)
    if absent <= 0:
        return
    missing = list(islice((rank for rank in range(n) if rank not in found), 8))
    named = ", ".join(map(str, missing)) + (", …" if absent > len(missing) else "")
    raise FormatError(where, None, f"{absent} of {n} ranks are missing ({named}), expected all of them")


class Collectives:
    """Collective calls, summed by kind, root and members, and turned into messages at the end."""

    def __init__(self) -> None:
        # Recordings hold the part of every rank separately; the parts of one call have the same key. Calls of
        # a key may be summed, because every model is linear in the volumes.
        self._sums: dict[tuple[str, int, tuple[int, ...] | None, int], dict[int, list[int]]] = {}
        self.calls, self.volume = 0, 0

    def add(
        self, own: int, kind: str, volume: int, root: int = 0, members: tuple[int, ...] | None = None,
        calls: int = 1, first: int = 0,
    ) -> None:
        """Add the part of member `own`: `volume` bytes in `calls` calls; `members` None means all ranks."""
        # With `first` > 0 the call is between two groups, and the first `first` members form the first group.
        sums = self._sums.setdefault((kind, root, members, first), {}).setdefault(own, [0, 0])
        sums[0] += volume
        sums[1] += calls
        self.calls += calls
        self.volume += volume

    def add_parts(
        self, traffic: Traffic, rank: int, members: Sequence[int], parts: Sequence[int], model: str
    ) -> None:
        """Add an all-to-all of a rank with another number of bytes for each member, alike in every model."""
        self.calls += 1
        self.volume += sum(parts)
        for member, volume in zip(members, parts, strict=True) if model != "ignore" else ():
            if member != rank:
                traffic.add(rank, member, volume, 1)

    def expand_into(self, traffic: Traffic, model: str, n: int) -> list[str]:
        """Add the messages of all calls of `n` ranks to the traffic; return a notice if they are left out."""
        for (kind, root, members, first), sums in self._sums.items():
            ranks = tuple(range(n)) if members is None else members
            volumes = [sums.get(i, (0, 0))[0] for i in range(len(ranks))]
            calls = max(count for _, count in sums.values())
            if root < len(ranks):
                traffic.add_collective(kind, model, ranks, volumes, root, calls, first or None)
        what = f"{self.calls} collective calls of {self.volume} bytes are left out"
        return [f"{what} (collectives=ring, binomial, pairs)"] if self.calls and model == "ignore" else []
