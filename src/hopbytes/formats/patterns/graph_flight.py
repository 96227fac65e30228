"""PyTorch's flight recorder: the last calls of every rank in its ring buffer, as JSON."""

from __future__ import annotations

import re
from typing import Any

from hopbytes.errors import FormatError, ScaleError, UnsupportedError
from hopbytes.formats.base import Format, Source, formats
from hopbytes.formats.patterns.recorded import check_complete, files_of_set
from hopbytes.formats.patterns.torch_calls import (
    TorchCalls,
    bytes_of_type,
    call_kind,
    guarded,
    rank_list,
    whole,
)
from hopbytes.model.comm_graph import CommGraph
from hopbytes.text.documents import parse_object

#: The rank is the last number in the name of a file.
NAMES = re.compile(
    r"(?P<before>.*[^0-9]|)(?P<rank>(?<!\.bz)[0-9]{1,9})(?P<after>[^0-9]*(?:\.bz2)?)", re.ASCII
)
PEER = re.compile(r"[^ ]*send ([0-9]{1,9})->([0-9]{1,9})", re.ASCII)
#: Sums of the calls of one kind: bytes sent, bytes received, calls.
Sums = list[int]


class FlightRecorder(Format):
    """A file per rank, whose number ends the name: ``flight_0.json``, ``flight_1.json`` …

    A program writes its file by ``torch._C._distributed_c10d._dump_fr_trace_json()`` (with ``nccl`` in place
    of ``fr`` for NCCL alone), if ``TORCH_FR_BUFFER_SIZE`` is the number of calls to keep. The pickled form of
    the same records is not read, because unpickling a file may run any program that it contains. gloo names
    no ranks of groups; those that recorded calls of a group are its members then. The flight recorder does
    not record roots, nor how many bytes of an all-to-all go to which rank: equal shares are assumed.

    Source: PyTorch tutorial "Flight Recorder for Debugging Stuck Jobs", and files of PyTorch 2.13.
    """

    holds = "pattern"
    summary = "PyTorch's flight recorder (JSON, a file per rank): calls of torch.distributed"

    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether the file begins like a dump of calls."""
        keys = (b'"collective_seq_id"', b'"profiling_name"')
        return head.lstrip()[:1] == b"{" and b'"entries"' in head and any(key in head for key in keys)

    def read(self, source: Source) -> CommGraph:
        """Return the messages of all recorded calls, collectives by a model (``ring`` by default)."""
        calls = TorchCalls(source)
        dumps: dict[int, _Dump] = {}
        for rank, name, stream in files_of_set(source, NAMES):
            if rank is None:
                what = "no rank in the name of the file, expected one like flight_0.json"
                raise FormatError(name, None, what)
            dumps[rank] = _Dump(name, parse_object(stream.read(), name, "a dump of the flight recorder"))
        users: dict[str, list[int]] = {}
        for rank, dump in dumps.items():
            for group in dump.named:
                users.setdefault(group, []).append(rank)
        n = 1 + max(dumps)
        for rank, dump in dumps.items():
            members = {group: dump.ranks.get(group) or tuple(users[group]) for group in dump.named}
            largest = max((max(group) for group in members.values()), default=0)
            check_complete(source.name, dumps, max(n, largest + 1))
            dump.add_to(calls, rank, members)
        lost = sum(dump.lost for dump in dumps.values())
        notices = [f"{lost} older calls are no longer in the buffers (TORCH_FR_BUFFER_SIZE)"] if lost else []
        return calls.graph(source, "flight", n, notices)


formats.register("flight")(FlightRecorder())


class _Dump:
    """The calls of one rank, summed by group and kind."""

    def __init__(self, name: str, found: dict[str, Any]) -> None:
        self.name = name
        self.named: dict[str, None] = {}
        self.collective: dict[tuple[str, str], Sums] = {}
        self.sends: dict[tuple[str, int], Sums] = {}
        entries = found.get("entries")
        if not isinstance(entries, list):
            raise FormatError(name, None, "no list of entries, expected a dump of the flight recorder")
        self.ranks = _groups(name, found.get("pg_config"))
        self.lost = 0
        for number, entry in enumerate(entries):
            try:
                self._take(entry)
                if number == 0:
                    self.lost = whole(entry.get("record_id", 0), "a number of a record")
            except (ValueError, ScaleError, UnsupportedError) as error:
                raise guarded(name, number, error) from None

    def _take(self, entry: Any) -> None:
        if not isinstance(entry, dict):
            raise ValueError("no object, expected a call")
        call, group = entry.get("profiling_name"), entry.get("process_group")
        if not isinstance(call, str) or not isinstance(group, list) or not group:
            raise ValueError("no profiling_name and process_group, expected those of a call")
        kind, name = call_kind(call), str(group[0])
        if kind is None:
            return
        self.named[name] = None
        sent = _total(entry.get("input_sizes"), entry.get("input_dtypes"))
        received = _total(entry.get("output_sizes"), entry.get("output_dtypes"))
        if kind == "send":
            peer = PEER.fullmatch(call)
            if peer is None:
                raise ValueError(f"{call[:40]!r}, expected a send with two ranks")
            sums = self.sends.setdefault((name, int(peer[2])), [0, 0, 0])
        else:
            sums = self.collective.setdefault((name, kind), [0, 0, 0])
        for place, value in enumerate((sent, received, 1)):
            sums[place] += value

    def add_to(self, calls: TorchCalls, own: int, members: dict[str, tuple[int, ...]]) -> None:
        """Add the calls of rank `own`, given the ranks of each group."""
        try:
            for (group, kind), (sent, received, count) in self.collective.items():
                calls.add(own, kind, members[group], sent, received, calls=count)
            for (group, peer), (sent, _, count) in self.sends.items():
                ranks = members[group]
                if peer >= len(ranks):
                    what = f"a send to member {peer} of group {group[:40]!r}"
                    raise ValueError(f"{what}, expected 0 to {len(ranks) - 1}")
                calls.traffic.add(own, ranks[peer], sent, count)
        except ValueError as error:
            raise FormatError(self.name, None, str(error)) from None


def _groups(name: str, found: Any) -> dict[str, tuple[int, ...]]:
    """Return the ranks of each group that the dump tells."""
    groups = {}
    for group, facts in (found if isinstance(found, dict) else {}).items():
        try:
            ranks = rank_list(facts.get("ranks", [])) if isinstance(facts, dict) else None
        except ValueError as error:
            raise FormatError(name, None, f"group {group[:40]!r}: {error}") from None
        if ranks:
            groups[group] = ranks
    return groups


def _total(shapes: Any, types: Any) -> int:
    """Return the bytes of tensors, given their shapes and types; one type may stand for all."""
    if not isinstance(shapes, list) or not isinstance(types, list):
        raise ValueError("no sizes and dtypes, expected those of tensors")
    total = 0
    for place, shape in enumerate(shapes):
        if not isinstance(shape, list) or not types:
            raise ValueError(f"{str(shape)[:40]!r}, expected the shape of a tensor and its type")
        size = bytes_of_type(types[min(place, len(types) - 1)])
        for extent in shape:
            size *= whole(extent, "an extent of a tensor")
        total += whole(size, "a tensor of less than 2^63 bytes")
    return whole(total, "tensors of less than 2^63 bytes")
