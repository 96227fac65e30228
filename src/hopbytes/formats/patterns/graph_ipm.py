"""IPM's XML profile: the sends of every rank, by peer."""

from __future__ import annotations

import re

from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import Format, Source, formats
from hopbytes.formats.patterns.recorded import Traffic, check_complete, number
from hopbytes.model.comm_graph import CommGraph
from hopbytes.text.documents import Element, parse_xml

#: Calls that send; calls that receive are ignored, because they repeat the same messages.
SENDING = re.compile(r"MPI_(I?[SRB]?[Ss]end|Sendrecv(_replace)?|I[srb]?send)(_c)?", re.ASCII)
COLLECTIVE = re.compile(
    r"MPI_I?(bcast|reduce|reduce_scatter|gatherv?|scatterv?|scan|exscan|allgatherv?|allreduce|alltoall[vw]?)",
    re.IGNORECASE | re.ASCII,
)


class Ipm(Format):
    """The profile must be recorded with ``IPM_LOG=full``, because a terse profile contains no peers.

    Collectives are left out, because IPM does not record which ranks took part.
    """

    holds = "pattern"
    suffixes = (".ipm.xml",)
    summary = "IPM's XML profile (IPM_LOG=full): point-to-point messages, counted by their senders"

    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether the start of the file contains the outermost element."""
        return b"<ipm_job_profile" in head

    def read(self, source: Source) -> CommGraph:
        """Return directed traffic; the attribute `bytes` of an entry is the size of one call."""
        top = parse_xml(source.stream, source.name, root="ipm_job_profile")
        traffic, seen, hosts, sizes = Traffic(), set[int](), dict[int, str](), set[int]()
        calls = volume = entries = 0
        for task in top.named("task"):
            own, size = _whole(source, task, "mpi_rank"), _whole(source, task, "mpi_size")
            if own in seen:
                raise FormatError(source.name, task.line, f"rank {own} is repeated, expected every rank once")
            seen.add(own)
            sizes.add(size)
            hosts[own] = next((host.text.strip() for host in task.named("host")), "")
            for entry in (e for table in task.named("hash") for e in table.named("hent")):
                entries += 1
                more = _add(source, traffic, own, entry)
                calls, volume = calls + more[0], volume + more[1]
        n = max(sizes, default=0)
        if len(sizes) != 1 or not n or max(seen) >= n:
            what = f"{len(seen)} ranks, expected every rank of one program once"
            raise FormatError(source.name, None, what)
        check_complete(source.name, seen, n)
        if not entries:
            what = "the profile contains no calls with peers, expected one recorded with IPM_LOG=full"
            raise UnsupportedError(f"{source.name}: {what}")
        notice = f"{calls} collective calls of {volume} bytes are left out: IPM does not record their ranks"
        notices = [notice] if calls else []
        return traffic.graph(source, "ipm", n, hosts=[hosts[i] for i in range(n)], notices=notices)


formats.register("ipm")(Ipm())


def _whole(source: Source, element: Element, name: str) -> int:
    what = f"a number as {name} of <{element.tag}>"
    return number(source.name, element.line, element.get(name).encode(), what)


def _add(source: Source, traffic: Traffic, own: int, entry: Element) -> tuple[int, int]:
    """Add an entry to the traffic if it is a send; return its calls and bytes if it is a collective."""
    call = entry.get("call")
    sends, collective = SENDING.fullmatch(call), COLLECTIVE.fullmatch(call)
    if not sends and not collective:
        return 0, 0
    count, size = _whole(source, entry, "count"), _whole(source, entry, "bytes")
    if collective:
        return count, count * size
    # A negative peer is MPI_PROC_NULL.
    if not entry.get("orank").startswith("-"):
        traffic.add(own, _whole(source, entry, "orank"), count * size, count)
    return 0, 0
