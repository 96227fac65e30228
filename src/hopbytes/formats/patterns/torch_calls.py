"""Calls of torch.distributed as its recorders name them: kinds, sizes of numbers, groups of ranks."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from hopbytes.errors import FormatError, ScaleError, UnsupportedError
from hopbytes.formats.base import Source
from hopbytes.formats.patterns.recorded import Collectives, Traffic
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns.collective_messages import ROOTED, check_model
from hopbytes.util.integers import MAX_SUM

#: Calls by their names without underscores and endings, and the collectives that they are.
KINDS = {
    "allreduce": "allreduce", "allreducesparse": "allreduce", "allgather": "allgather",
    "allgatherv": "allgather", "reducescatter": "reduce_scatter", "reducescatterv": "reduce_scatter",
    "broadcast": "bcast", "reduce": "reduce", "alltoall": "alltoall", "alltoallv": "alltoall",
    "gather": "gather", "scatter": "scatter", "barrier": "barrier", "allreducebarrier": "barrier",
    "send": "send", "recv": "recv", "recvanysource": "recv",
}  # fmt: skip
#: Records that move no data of their own: the calls inside a bundle are recorded as well.
SILENT = re.compile(r"wait|init|split|new_?window|recv.*|.*coalesc(ed|ing)|monitored_?barrier|abort|shutdown")
ENDINGS = re.compile(r"(_coalesced|_into_tensor|_tensor|_base|_oop|_single|_sparse){1,8}$")
#: Bytes of a number by the names of its type in PyTorch and in C++.
TYPE_BYTES = {
    "float": 4, "double": 8, "half": 2, "bfloat16": 2, "int": 4, "long": 8, "long int": 8, "short": 2,
    "short int": 2, "byte": 1, "unsigned char": 1, "char": 1, "signed char": 1, "bool": 1,
    "complexfloat": 8, "complex<float>": 8, "complexdouble": 16, "complex<double>": 16, "complexhalf": 4,
    "uint16": 2, "uint32": 4, "uint64": 8,
}  # fmt: skip
LARGEST_RANK = 2**31 - 2
#: No call has a longer name; the endings of longer ones would take quadratic time.
LONGEST_NAME = 200


def call_kind(name: str) -> str | None:
    """Return the kind of a call, ``send``, or None where the record moves no data.

    >>> call_kind("nccl:_all_gather_base"), call_kind("nccl:send 0->1"), call_kind("nccl:coalesced")
    ('allgather', 'send', None)
    """
    if len(name) > LONGEST_NAME:
        raise UnsupportedError(f"call {name[:60]!r}, which hopbytes does not know")
    word = name.rpartition(":")[2].split(" ")[0].strip("_").lower()
    kind = KINDS.get(ENDINGS.sub("", word).replace("_", ""))
    if kind == "recv" or (kind is None and SILENT.fullmatch(word)):
        return None
    if kind is None:
        raise UnsupportedError(f"call {name[:60]!r}, which hopbytes does not know")
    return kind


def bytes_of_type(name: Any) -> int:
    """Return the bytes of a number; UnsupportedError for an unknown type."""
    word = str(name).lower().replace("c10::", "")
    if word.startswith("float8"):
        return 1
    if word not in TYPE_BYTES:
        raise UnsupportedError(f"numbers of type {str(name)[:40]!r}, whose size is not known")
    return TYPE_BYTES[word]


def whole(value: Any, what: str, most: int = MAX_SUM) -> int:
    """Return an integer from 0 to `most`, also from its decimal text; ValueError names `what`."""
    if isinstance(value, str) and re.fullmatch("[0-9]{1,19}", value, re.ASCII):
        value = int(value)
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"{str(value)[:40]!r}, expected {what}")
    return value


def rank_list(value: Any) -> tuple[int, ...] | None:
    """Return the ranks of a group from a list or its text; None for an empty or a shortened one."""
    if isinstance(value, str):
        if "..." in value or value.strip() in ("", "[]"):
            return None
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise ValueError(f"{value[:40]!r}, expected a list of ranks") from None
    if not isinstance(value, list):
        raise ValueError(f"{str(value)[:40]!r}, expected a list of ranks")
    ranks = tuple(whole(rank, "a rank", LARGEST_RANK) for rank in value)
    if len(set(ranks)) != len(ranks):
        raise ValueError(f"{str(value)[:40]!r}, expected every rank once")
    return ranks or None


class TorchCalls:
    """Calls of all ranks, summed, and turned into messages under a model."""

    def __init__(self, source: Source) -> None:
        self.model = check_model(source.options.get("collectives") or "ring")
        self.traffic, self.collectives = Traffic(), Collectives()
        self.rootless = 0
        self._places: dict[tuple[int, ...], dict[int, int]] = {}

    def add(
        self, own: int, kind: str, members: tuple[int, ...], sent: int, received: int, *,
        calls: int = 1, root: int | None = None,
    ) -> None:
        """Add `calls` calls of rank `own` with `sent` bytes of input and `received` bytes of output.

        `root` is the place of the root among `members`; the first one where it was not recorded.
        """
        place = self._place(own, members)
        if kind in ROOTED and root is None:
            self.rootless += calls
        if kind == "alltoall":
            volume = -(-sent // len(members))
        elif kind in ("reduce_scatter", "scatter"):
            volume = received
        else:
            volume = max(sent, received) if kind == "bcast" else sent
        self.collectives.add(place, kind, volume, root or 0, members, calls)

    def add_parts(self, own: int, members: tuple[int, ...], parts: Sequence[int]) -> None:
        """Add an all-to-all of rank `own` with another number of bytes for each member."""
        place = self._place(own, members)
        if len(parts) != len(members):
            raise ValueError(f"{len(parts)} parts for {len(members)} ranks, expected one for each")
        self.collectives.calls += 1
        self.collectives.volume += sum(parts)
        for other, volume in enumerate(parts if self.model != "ignore" else ()):
            if other != place:
                self.traffic.add(own, members[other], volume, 1)

    def _place(self, own: int, members: tuple[int, ...]) -> int:
        places = self._places.get(members)
        if places is None:
            places = self._places[members] = {rank: place for place, rank in enumerate(members)}
        if own not in places:
            raise ValueError(f"rank {own} calls in a group of {str(members)[:40]}, expected one of its ranks")
        return places[own]

    def graph(self, source: Source, format: str, n: int, notices: Sequence[str], **facts: Any) -> CommGraph:
        """Return the pattern of `n` ranks."""
        highest = max((max(members) for members in self._places), default=0)
        if highest >= n:  # before calls of such a group are expanded
            raise FormatError(source.name, None, f"rank {highest} in a group, expected 0 to {n - 1}")
        calls, volume = self.collectives.calls, self.collectives.volume
        what = f"{calls} collective calls of {volume} bytes are "
        told = [what + ("left out" if self.model == "ignore" else f"counted by the model {self.model}")]
        if self.rootless and self.model != "ignore":
            told.append(f"the root of {self.rootless} calls was not recorded, the first rank is assumed")
        self.collectives.expand_into(self.traffic, self.model, n)
        told = [*notices, *(told if calls else ())]
        return self.traffic.graph(source, format, n, notices=told, collectives=self.model, **facts)


def guarded(name: str, number: int, error: Exception) -> FormatError | ScaleError | UnsupportedError:
    """Return the error to raise for a fault in record `number` of a file."""
    where = f"record {number}: {error}"
    if isinstance(error, UnsupportedError):
        return UnsupportedError(f"{name}: {where}")
    if isinstance(error, ScaleError):
        return ScaleError(f"{name}: {where}")
    return FormatError(name, None, where)
