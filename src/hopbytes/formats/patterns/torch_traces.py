"""Calls of torch.distributed as its recorders name them: kinds, sizes of numbers, groups of ranks."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import Format, Source
from hopbytes.formats.patterns.recorded import (
    Collectives,
    Traffic,
    check_complete,
    faults,
    files_of_set,
    open_beside,
)
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns.collective_messages import ROOTED, check_model
from hopbytes.text.documents import parse_object
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
    """Return the kind of a call, ``send``, or None where the record moves no data."""
    word = "" if len(name) > LONGEST_NAME else name.rpartition(":")[2].split(" ")[0].strip("_").lower()
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


def number_list(value: Any, what: str, most: int = MAX_SUM) -> tuple[int, ...]:
    """Return numbers from a list or its text; none for an empty or a shortened one."""
    if isinstance(value, str):
        if "..." in value or value.strip() in ("", "[]"):
            return ()
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(value)
    if not isinstance(value, list):
        raise ValueError(f"{str(value)[:40]!r}, expected a list, each of which is {what}")
    return tuple(whole(number, what, most) for number in value)


def rank_list(value: Any) -> tuple[int, ...]:
    """Return the ranks of a group as :func:`number_list` does."""
    ranks = number_list(value, "a rank", LARGEST_RANK)
    if len(set(ranks)) != len(ranks):
        raise ValueError(f"{str(value)[:40]!r}, expected every rank once")
    return ranks


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
        """Add `calls` calls of rank `own` with `sent` bytes of input and `received` bytes of output."""
        # `root` is the place of the root among `members`; the first one where it was not recorded.
        member = self._place(own, members)
        if kind in ROOTED and root is None:
            self.rootless += calls
        if kind == "alltoall":
            volume = -(-sent // len(members))
        elif kind in ("reduce_scatter", "scatter"):
            volume = received
        else:
            volume = max(sent, received) if kind == "bcast" else sent
        self.collectives.add(member, kind, volume, root or 0, members, calls)

    def add_parts(self, own: int, members: tuple[int, ...], parts: Sequence[int]) -> None:
        """Add an all-to-all of rank `own` with another number of bytes for each member."""
        self._place(own, members)
        if len(parts) != len(members):
            raise ValueError(f"{len(parts)} parts for {len(members)} ranks, expected one for each")
        self.collectives.add_parts(self.traffic, own, members, parts, self.model)

    def _place(self, own: int, members: tuple[int, ...]) -> int:
        places = self._places.get(members)
        if places is None:
            places = self._places[members] = {rank: member for member, rank in enumerate(members)}
        if own not in places:
            raise ValueError(f"rank {own} calls in a group of {str(members)[:40]}, expected one of its ranks")
        return places[own]

    def graph(self, source: Source, format: str, n: int, notices: Sequence[str], **facts: Any) -> CommGraph:
        highest = max((max(members) for members in self._places), default=0)
        if highest >= n:  # before calls of such a group are expanded
            raise source.error(f"rank {highest} in a group, expected 0 to {n - 1}")
        calls, volume = self.collectives.calls, self.collectives.volume
        what = f"{calls} collective calls of {volume} bytes are "
        counted = [what + ("left out" if self.model == "ignore" else f"counted by the model {self.model}")]
        if self.rootless and self.model != "ignore":
            counted.append(f"the root of {self.rootless} calls was not recorded, the first rank is assumed")
        self.collectives.expand_into(self.traffic, self.model, n)
        counted = [*notices, *(counted if calls else ())]
        return self.traffic.graph(source, format, n, notices=counted, collectives=self.model, **facts)


#: The rank is the last number in the name of a file.
NAMES = re.compile(
    r"(?P<before>.*[^0-9]|)(?P<rank>(?<!\.bz)[0-9]{1,9})(?P<after>[^0-9]*(?:\.bz2)?)", re.ASCII
)
PEER = re.compile(r"[^ ]*send ([0-9]{1,9})->([0-9]{1,9})", re.ASCII)
#: Sums of the calls of one kind: bytes sent, bytes received, calls.
Sums = list[int]


class FlightRecorder(Format, form="flight"):
    """A file per rank, whose number ends the name: ``flight_0.json``, ``flight_1.json`` …"""
    # A program writes its file by ``torch._C._distributed_c10d._dump_fr_trace_json()`` (with ``nccl`` in
    # place of ``fr`` for NCCL alone), if ``TORCH_FR_BUFFER_SIZE`` is the number of calls to keep. The pickled
    # form of the same records is not read, because unpickling a file may run any program that it contains.
    # gloo names no ranks of groups; those that recorded calls of a group are its members then. The flight
    # recorder does not record roots, nor how many bytes of an all-to-all go to which rank: equal shares are
    # assumed.
    # Source: PyTorch tutorial "Flight Recorder for Debugging Stuck Jobs", and files of PyTorch 2.13.

    summary = "PyTorch's flight recorder (JSON, a file per rank): calls of torch.distributed"

    def sniff(self, name: str, head: bytes) -> bool:
        keys = (b'"collective_seq_id"', b'"profiling_name"')
        return head.lstrip()[:1] == b"{" and b'"entries"' in head and any(key in head for key in keys)

    def read(self, source: Source) -> CommGraph:
        calls = TorchCalls(source)
        dumps: dict[int, _Dump] = {}
        for rank, file in files_of_set(source, NAMES):
            if rank is None:
                raise file.error("no rank in the name of the file, expected one like flight_0.json")
            content = parse_object(file.stream.read(), file.name, "a dump of the flight recorder")
            dumps[rank] = _Dump(file.name, content)
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


class _Dump:
    """The calls of one rank, summed by group and kind."""

    def __init__(self, name: str, content: dict[str, Any]) -> None:
        self.name = name
        self.named: dict[str, None] = {}
        self.collective: dict[tuple[str, str], Sums] = {}
        self.sends: dict[tuple[str, int], Sums] = {}
        entries = content.get("entries")
        if not isinstance(entries, list):
            raise FormatError(name, None, "no list of entries, expected a dump of the flight recorder")
        with faults(name):
            self.ranks = _groups(content.get("pg_config"))
        self.lost = 0
        for number, entry in enumerate(entries):
            with faults(name, where=f"record {number}: "):
                self._take(entry)
                if number == 0:
                    self.lost = whole(entry.get("record_id", 0), "a number of a record")

    def _take(self, entry: Any) -> None:
        if not isinstance(entry, dict):
            raise ValueError("not an object, expected a call")
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
        with faults(self.name):
            for (group, kind), (sent, received, count) in self.collective.items():
                calls.add(own, kind, members[group], sent, received, calls=count)
            for (group, peer), (sent, _, count) in self.sends.items():
                ranks = members[group]
                if peer >= len(ranks):
                    what = f"a send to member {peer} of group {group[:40]!r}"
                    raise ValueError(f"{what}, expected 0 to {len(ranks) - 1}")
                calls.traffic.add(own, ranks[peer], sent, count)


def _groups(config: Any) -> dict[str, tuple[int, ...]]:
    """Return the ranks of each group of ``pg_config``: a mapping by name in dumps, a list in traces."""
    if isinstance(config, list):
        groups = (group for group in config if isinstance(group, dict) and "ranks" in group)
        config = {str(group.get("pg_name")): group for group in groups}
    found = {}
    for name, facts in config.items() if isinstance(config, dict) else ():
        try:
            ranks = rank_list(facts.get("ranks", [])) if isinstance(facts, dict) else ()
        except ValueError as error:
            raise ValueError(f"group {name[:40]!r}: {error}") from None
        if ranks:
            found[name] = ranks
    return found


def _total(shapes: Any, types: Any) -> int:
    """Return the bytes of tensors, given their shapes and types; one type may stand for all."""
    if not isinstance(shapes, list) or not isinstance(types, list):
        raise ValueError("no sizes and dtypes, expected those of tensors")
    total = 0
    for number, shape in enumerate(shapes):
        if not isinstance(shape, list) or not types:
            raise ValueError(f"{str(shape)[:40]!r}, expected the shape of a tensor and its type")
        total += _size(shape, types[min(number, len(types) - 1)])
    return whole(total, "tensors of less than 2^63 bytes")


def _size(shape: Any, name: Any) -> int:
    """Return the bytes of a tensor of a type; the shape may be one number."""
    size = bytes_of_type(name)
    for extent in shape if isinstance(shape, list) else [shape]:
        size *= whole(extent, "an extent of a tensor")
    return whole(size, "a tensor of less than 2^63 bytes")


#: Calls of ``c10d::`` and where among their arguments the root, or the receiver, is.
ROOT_AT = {"broadcast_": 2, "reduce_": 3, "gather_": 3, "scatter_": 3, "send": 2}


def gloo_calls(events: list[Any]) -> Iterator[tuple[str, int, int | None]]:
    """Yield kind, bytes, and root or receiver (None if unknown) of the annotations ``gloo:…``."""
    # The operators ``c10d::…`` beside them know roots and receivers. gloo works on collectives in threads of
    # its own, so a root is known where all calls of a kind have the same one; sends follow their operators.
    roots: dict[str, list[tuple[float, int]]] = {}
    calls: list[tuple[float, str, int]] = []
    for event in events:
        name = event.get("name") if isinstance(event, dict) else None
        if not isinstance(name, str) or not name.startswith(("gloo:", "c10d::")):
            continue
        args = event.get("args")
        args = args if isinstance(args, dict) else {}
        time = event.get("ts")
        if not isinstance(time, (int, float)):
            raise ValueError(f"{name[:40]!r} without a time, expected ts")
        operator = name.removeprefix("c10d::")
        if operator in ROOT_AT:
            words, at = args.get("Concrete Inputs"), ROOT_AT[operator]
            root = whole(words[at] if isinstance(words, list) and len(words) > at else None, "a rank")
            roots.setdefault(str(call_kind(operator)), []).append((time, root))
        elif operator == name:
            kind = call_kind(name)
            if kind is not None:
                calls.append((time, kind, _bytes(args, kind)))
    receivers = iter(root for _, root in sorted(roots.get("send", [])))
    for _, kind, sent in sorted(calls):
        known = {root for _, root in roots.get(kind, [])}
        only = known.pop() if len(known) == 1 else None
        yield kind, sent, next(receivers, None) if kind == "send" else only


def _bytes(args: dict[str, Any], kind: str) -> int:
    """Return the bytes of the tensors of a call; of a scatter those of one receiver."""
    shapes, types = args.get("Input Dims", []), args.get("Input type", [])
    if not isinstance(shapes, list) or not isinstance(types, list) or len(shapes) != len(types):
        raise ValueError("other shapes than types, expected those of tensors (record_shapes=True)")
    sizes = list(map(_size, shapes, types))
    total = max(sizes, default=0) if kind == "scatter" else sum(sizes)
    return whole(total, "tensors of less than 2^63 bytes")


class Kineto(Format, form="kineto"):
    """A file per rank; the files of a run have the same name but for numbers, ``trace_0.json`` …"""
    # Events ``record_param_comms`` name collective, sizes, group and ranks (NCCL). Where there are none but
    # those of gloo, which name no group, a trace is read if all its calls are of one group.
    # Source: ``torch/csrc/profiler/util.cpp`` of PyTorch (names of the fields), and traces of PyTorch 2.13.

    suffixes = (".pt.trace.json",)
    summary = "traces of torch.profiler (Kineto, a file per rank): calls of torch.distributed"

    def sniff(self, name: str, head: bytes) -> bool:
        return b'"schemaVersion"' in head and (b'"deviceProperties"' in head or b'"traceEvents"' in head)

    def read(self, source: Source) -> CommGraph:
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
            raise source.error(f"world sizes {sorted(sizes)[:4]}, expected traces of one run")
        check_complete(source.name, seen, n)
        facts = {"hosts": [hosts[rank] for rank in range(n)]} if all(hosts.values()) else {}
        return calls.graph(source, "kineto", n, (), **facts)


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
            with open_beside(source, path) as opened:
                yield opened.name, opened.stream.read()


class _Trace:
    def __init__(self, name: str, content: dict[str, Any]) -> None:
        self.name = name
        facts = content.get("distributedInfo")
        if not isinstance(facts, dict):
            what = "no distributedInfo, expected a trace of a program that uses torch.distributed"
            raise FormatError(name, None, what)
        events = content.get("traceEvents")
        if not isinstance(events, list):
            raise FormatError(name, None, "no traceEvents, expected a trace of torch.profiler")
        self.events = events
        self.host = str(content.get("host_name") or "")
        with faults(name, where="distributedInfo: "):
            self.rank = whole(facts.get("rank"), "a rank", LARGEST_RANK)
            self.size = whole(facts.get("world_size"), "a number of ranks", LARGEST_RANK)
            self.groups = _groups(facts.get("pg_config"))

    def add_to(self, calls: TorchCalls) -> None:
        records = 0
        for number, event in enumerate(self.events):
            if isinstance(event, dict) and event.get("name") == "record_param_comms":
                records += 1
                with faults(self.name, where=f"record {number}: "):
                    self._take(calls, event.get("args"))
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
        parts = number_list(args.get("In split size") or "", "a number of elements")
        if kind == "alltoall" and parts:
            calls.add_parts(self.rank, members, [part * size for part in parts])
            return
        root = args.get("Rank") if kind in ROOTED else None
        place = None if root is None else whole(root, "the root, a member of the group", len(members) - 1)
        calls.add(self.rank, kind, members, sent, received, root=place)

    def _members(self, args: dict[str, Any]) -> tuple[int, ...]:
        ranks = rank_list(args.get("Process Group Ranks", ""))
        ranks = ranks or self.groups.get(str(args.get("Process Group Name")).strip('"'), ())
        if not ranks:
            raise ValueError("no Process Group Ranks, expected the ranks of the group")
        return ranks

    def _take_gloo(self, calls: TorchCalls) -> None:
        """Add calls of gloo, which has no records with groups."""
        with faults(self.name):
            gloo = list(gloo_calls(self.events))
            if not gloo:
                return
            groups = {ranks for ranks in self.groups.values() if len(ranks) > 1}
            if len(groups) != 1:
                what = f"calls of gloo without their groups, of which there are {len(groups)}"
                raise UnsupportedError(f"{what}, expected one (the flight recorder names them)")
            (members,) = groups
            for kind, sent, root in gloo:
                if kind == "send":
                    calls.traffic.add(self.rank, members[whole(root, "a rank", len(members) - 1)], sent, 1)
                elif kind == "scatter":  # receivers record no sizes
                    if sent:
                        calls.add_parts(self.rank, members, [sent] * len(members))
                else:
                    calls.add(self.rank, kind, members, sent, sent, root=root)
