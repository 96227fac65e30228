"""Traces of ``torch.profiler`` (Kineto): calls of torch.distributed with their sizes, groups and ranks."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from hopbytes.errors import FormatError, ScaleError, UnsupportedError
from hopbytes.formats.base import Format, Source, formats
from hopbytes.formats.patterns.gloo_events import gloo_calls
from hopbytes.formats.patterns.recorded import check_complete
from hopbytes.formats.patterns.torch_calls import (
    LARGEST_RANK,
    TorchCalls,
    bytes_of_type,
    call_kind,
    guarded,
    rank_list,
    whole,
)
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns.collective_messages import ROOTED
from hopbytes.text.documents import parse_object
from hopbytes.text.open_input import check_reference, named_in, open_stream


class Kineto(Format):
    """A file per rank; the files of a run have the same name but for numbers, ``trace_0.json`` …

    Events ``record_param_comms`` name collective, sizes, group and ranks (NCCL). Where there are none but
    those of gloo, which name no group, a trace is read if all its calls are of one group.

    Source: ``torch/csrc/profiler/util.cpp`` of PyTorch (names of the fields), and traces of PyTorch 2.13.
    """

    holds = "pattern"
    suffixes = (".pt.trace.json",)
    summary = "traces of torch.profiler (Kineto, a file per rank): calls of torch.distributed"

    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether the file begins like a trace of Kineto."""
        return b'"schemaVersion"' in head and (b'"deviceProperties"' in head or b'"traceEvents"' in head)

    def read(self, source: Source) -> CommGraph:
        """Return the messages of all recorded calls, collectives by a model (``ring`` by default)."""
        calls = TorchCalls(source)
        seen: dict[int, str] = {}
        sizes, hosts = set[int](), dict[int, str]()
        for name, data in _files(source):
            trace = _Trace(name, parse_object(data, name, "a trace of torch.profiler"))
            if trace.rank in seen:
                what = f"rank {trace.rank} is also in {seen[trace.rank]}, expected every rank once"
                raise FormatError(name, None, what)
            seen[trace.rank] = name
            sizes.add(trace.size)
            hosts[trace.rank] = trace.host
            trace.add_to(calls)
        n = max(sizes)
        if len(sizes) != 1 or max(seen) >= n:
            what = f"world sizes {sorted(sizes)[:4]}, expected traces of one run"
            raise FormatError(source.name, None, what)
        check_complete(source.name, seen, n)
        facts = {"hosts": [hosts[rank] for rank in range(n)]} if all(hosts.values()) else {}
        return calls.graph(source, "kineto", n, (), **facts)


formats.register("kineto")(Kineto())


def _files(source: Source) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the file and of those whose names differ from its name by numbers only."""
    yield source.name, source.stream.read()
    if not source.path:
        return
    folder, own = os.path.split(source.path)
    if not re.search("[0-9]", own):
        return
    alike = re.compile("[0-9]+".join(re.escape(part) for part in re.split("[0-9]+", own)), re.ASCII)
    for other in sorted(os.listdir(folder or ".")):
        if other != own and alike.fullmatch(other):
            path = os.path.join(folder, other)
            with named_in(source.path):
                check_reference(path)
            with open_stream(path, max_bytes=source.max_bytes) as opened:
                yield opened.name, opened.stream.read()


class _Trace:
    """The trace of one rank."""

    def __init__(self, name: str, found: dict[str, Any]) -> None:
        self.name = name
        facts = found.get("distributedInfo")
        if not isinstance(facts, dict):
            what = "no distributedInfo, expected a trace of a program that uses torch.distributed"
            raise FormatError(name, None, what)
        events = found.get("traceEvents")
        if not isinstance(events, list):
            raise FormatError(name, None, "no traceEvents, expected a trace of torch.profiler")
        self.events = events
        self.host = str(found.get("host_name") or "")
        try:
            self.rank = whole(facts.get("rank"), "a rank", LARGEST_RANK)
            self.size = whole(facts.get("world_size"), "a number of ranks", LARGEST_RANK)
            self.groups = _groups(facts.get("pg_config"))
        except ValueError as error:
            raise FormatError(name, None, f"distributedInfo: {error}") from None

    def add_to(self, calls: TorchCalls) -> None:
        """Add the calls of this rank."""
        records = 0
        for number, event in enumerate(self.events):
            if isinstance(event, dict) and event.get("name") == "record_param_comms":
                records += 1
                try:
                    self._take(calls, event.get("args"))
                except (ValueError, ScaleError, UnsupportedError) as error:
                    raise guarded(self.name, number, error) from None
        if not records:
            self._take_gloo(calls)

    def _take(self, calls: TorchCalls, args: Any) -> None:
        if not isinstance(args, dict) or "Collective name" not in args:
            return  # profilers of PyTorch up to 2.1 have such events without fields
        kind = call_kind(str(args["Collective name"]).strip('"'))
        if kind is None:
            return
        members = self._members(args)
        size = bytes_of_type(str(args.get("dtype")).strip('"'))
        ways = (args.get("In msg nelems"), args.get("Out msg nelems"))
        sent, received = (whole(way, "a number of elements") * size for way in ways)
        if kind == "send":
            peer = args.get("Dst Rank")
            rank = members[whole(args.get("Rank"), "a rank", len(members) - 1)] if peer is None else peer
            calls.traffic.add(self.rank, whole(rank, "a rank", LARGEST_RANK), sent, 1)
            return
        parts = rank_sizes(args.get("In split size"))
        if kind == "alltoall" and parts:
            calls.add_parts(self.rank, members, [part * size for part in parts])
            return
        root = args.get("Rank") if kind in ROOTED else None
        place = None if root is None else whole(root, "the root, a member of the group", len(members) - 1)
        calls.add(self.rank, kind, members, sent, received, root=place)

    def _members(self, args: dict[str, Any]) -> tuple[int, ...]:
        ranks = rank_list(args.get("Process Group Ranks", ""))
        if ranks is None:
            ranks = self.groups.get(str(args.get("Process Group Name")).strip('"'))
        if ranks is None:
            raise ValueError("no Process Group Ranks, expected the ranks of the group")
        return ranks

    def _take_gloo(self, calls: TorchCalls) -> None:
        """Add calls of gloo, which has no records with groups."""
        try:
            found = list(gloo_calls(self.events))
            if not found:
                return
            groups = {ranks for ranks in self.groups.values() if len(ranks) > 1}
            if len(groups) != 1:
                what = f"calls of gloo without their groups, of which there are {len(groups)}"
                raise UnsupportedError(f"{what}, expected one (the flight recorder names them)")
            (members,) = groups
            for call in found:
                if call.kind == "send":
                    peer = whole(call.root, "a rank", len(members) - 1)
                    calls.traffic.add(self.rank, members[peer], call.sent, 1)
                elif call.kind == "scatter":  # receivers record no sizes
                    if call.sent:
                        calls.add_parts(self.rank, members, [call.sent] * len(members))
                else:
                    calls.add(self.rank, call.kind, members, call.sent, call.sent, root=call.root)
        except (UnsupportedError, ScaleError) as error:
            raise type(error)(f"{self.name}: {error}") from None
        except ValueError as error:
            raise FormatError(self.name, None, str(error)) from None


def rank_sizes(value: Any) -> list[int]:
    """Return the elements for each rank from a list or its text; empty where they are equal or shortened."""
    if value in (None, "", "[]", []):
        return []
    words = value if isinstance(value, list) else str(value).strip("[]").split(",")
    texts = [str(word).strip() for word in words]
    return [] if "..." in texts else [whole(word, "a number of elements") for word in texts]


def _groups(found: Any) -> dict[str, tuple[int, ...]]:
    """Return the ranks of each group of ``pg_config``."""
    groups = {}
    for group in found if isinstance(found, list) else ():
        if isinstance(group, dict) and "ranks" in group:
            ranks = rank_list(group["ranks"])
            if ranks:
                groups[str(group.get("pg_name"))] = ranks
    return groups
