"""Output of Open MPI's monitoring component: ``NAME.<rank>.prof``, or all ranks in one file."""

from __future__ import annotations

import math
import re

from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import Format, Source
from hopbytes.formats.patterns.recorded import Traffic, check_complete, files_of_set
from hopbytes.model.comm_graph import CommGraph
from hopbytes.text.documents import Element, parse_xml
from hopbytes.text.lines import Lines, shown, whole_number

#: E: point-to-point messages of the program. I: messages that implement collectives. S and R: one-sided puts
#: and gets. C holds the collectives of I again, as calls, and is ignored so that they do not count twice.
SENT, GOT = (b"E", b"I", b"S"), b"R"
#: Communicators in which the writing process is certainly a member.
CERTAIN = (b"MPI_COMM_WORLD", b"MPI_COMM_SELF")
MONITORING_FILES = re.compile(r"(?P<before>.*\.)(?P<rank>\d{1,9})(?P<after>\.prof)")


class Monitoring(Format, form="monitoring"):
    """Ranks are those of MPI_COMM_WORLD; reading one file of a set reads the whole set."""

    signature = re.compile(rb"\A# POINT TO POINT")
    suffixes = (".prof",)
    summary = "Open MPI monitoring: point-to-point messages, messages of collectives, one-sided traffic"

    def read(self, source: Source) -> CommGraph:
        traffic, seen, world = Traffic(), set[int](), 0
        for of_file, lines in files_of_set(source, MONITORING_FILES):
            own, members = _read_part(lines, traffic)
            if of_file is not None and own - {of_file}:
                what = f"rank {min(own - {of_file})}, expected rank {of_file} as in the file's name"
                raise FormatError(lines.name, None, what)
            seen |= own if of_file is None else {of_file}
            world = max(world, members)
        n = max([world - 1, *seen, *traffic.targets, *traffic.sources], default=-1) + 1
        if not n:
            raise source.error("no rank, expected lines that begin with E, I or O2A")
        check_complete(source.name, seen, n)
        return traffic.graph(source, "monitoring", n)


def _read_part(lines: Lines, traffic: Traffic) -> tuple[set[int], int]:
    """Add the content of a file; return its writers and the size of MPI_COMM_WORLD (0 if unknown)."""
    # The number after O2A, A2O and A2A is the writing rank only if that rank is a member of the communicator.
    # For an intercommunicator it is a rank of the remote group, or -1, and its name does not show the kind.
    own, members, certain = set[int](), 0, True
    for line in lines:
        fields = line.split()
        if not fields or fields[0].startswith(b"#"):
            # If several files were joined, these are the headings of the next one.
            certain = True
            continue
        letter = fields[0]
        if letter in SENT or letter == GOT:
            if len(fields) < 6:
                raise lines.error("an incomplete line, expected: E source target bytes messages")
            source, target = lines.rank(fields[1]), lines.rank(fields[2])
            volume = lines.whole(fields[3], "a number of bytes")
            count = lines.whole(fields[5], "a number of messages")
            own.add(source)
            if letter == GOT:
                source, target = target, source
            traffic.add(source, target, volume, count)
        elif letter in (b"O2A", b"A2O", b"A2A"):
            if certain and len(fields) > 1:
                own.add(lines.rank(fields[1]))
        elif letter == b"D":
            certain = fields[1:2] in ([known] for known in CERTAIN)
            if fields[1:2] == [b"MPI_COMM_WORLD"]:
                members = max(members, 1 + max(map(lines.rank, fields[-1].split(b","))))
        elif letter != b"C":
            raise lines.error(f"{shown(letter)}, expected a letter such as E")
    return own, members


#: Calls that send; calls that receive are ignored, because they repeat the same messages.
IPM_SENDING = re.compile(r"MPI_(I?[SRB]?[Ss]end|Sendrecv(_replace)?|I[srb]?send)(_c)?", re.ASCII)
IPM_COLLECTIVE = re.compile(
    r"MPI_I?(bcast|reduce|reduce_scatter|gatherv?|scatterv?|scan|exscan|allgatherv?|allreduce|alltoall[vw]?)",
    re.IGNORECASE | re.ASCII,
)


class Ipm(Format, form="ipm"):
    """The profile must be recorded with ``IPM_LOG=full``, because a terse profile contains no peers."""
    # Collectives are left out, because IPM does not record which ranks took part.

    signature = re.compile(b"<ipm_job_profile")
    suffixes = (".ipm.xml",)
    summary = "IPM's XML profile (IPM_LOG=full): point-to-point messages, counted by their senders"

    def read(self, source: Source) -> CommGraph:
        top = parse_xml(source.stream, source.name, root="ipm_job_profile")
        traffic, seen, hosts, sizes = Traffic(), set[int](), dict[int, str](), set[int]()
        calls = volume = entries = 0
        for task in top.named("task"):
            own, size = _ipm_number(source, task, "mpi_rank"), _ipm_number(source, task, "mpi_size")
            if own in seen:
                raise source.error(f"rank {own} is repeated, expected every rank once", task.line)
            seen.add(own)
            sizes.add(size)
            hosts[own] = next((host.text.strip() for host in task.named("host")), "")
            for entry in (e for table in task.named("hash") for e in table.named("hent")):
                entries += 1
                more = _add_ipm(source, traffic, own, entry)
                calls, volume = calls + more[0], volume + more[1]
        n = max(sizes, default=0)
        if len(sizes) != 1 or not n or max(seen) >= n:
            raise source.error(f"{len(seen)} ranks, expected every rank of one program once")
        check_complete(source.name, seen, n)
        if not entries:
            what = "the profile contains no calls with peers, expected one recorded with IPM_LOG=full"
            raise UnsupportedError(f"{source.name}: {what}")
        notice = f"{calls} collective calls of {volume} bytes are left out: IPM does not record their ranks"
        notices = [notice] if calls else []
        return traffic.graph(source, "ipm", n, hosts=[hosts[i] for i in range(n)], notices=notices)


def _ipm_number(source: Source, element: Element, name: str) -> int:
    what = f"a number as {name} of <{element.tag}>"
    return whole_number(source.name, element.line, element.get(name).encode(), what)


def _add_ipm(source: Source, traffic: Traffic, own: int, entry: Element) -> tuple[int, int]:
    """Add an entry to the traffic if it is a send; return its calls and bytes if it is a collective."""
    call = entry.get("call")
    sends, collective = IPM_SENDING.fullmatch(call), IPM_COLLECTIVE.fullmatch(call)
    if not sends and not collective:
        return 0, 0
    count, size = _ipm_number(source, entry, "count"), _ipm_number(source, entry, "bytes")
    if collective:
        return count, count * size
    # A negative peer is MPI_PROC_NULL.
    if not entry.get("orank").startswith("-"):
        traffic.add(own, _ipm_number(source, entry, "orank"), count * size, count)
    return 0, 0


MPIP_START = re.compile(rb"-+ Start Communication Matrix -+")
MPIP_END = re.compile(rb"-+ End Communication Matrix -+")


class MpiP(Format, form="mpip"):
    """Rows are ``source target bytes messages``; the diagonal holds the sum of a row and is not traffic."""
    # Calls of MPI_Sendrecv and collectives are not in the matrix.

    signature = re.compile(rb"\A@ mpiP")
    suffixes = (".mpip",)
    summary = "mpiP's report with a communication matrix (unmodified mpiP writes none)"

    def read(self, source: Source) -> CommGraph:
        traffic, hosts = Traffic(), dict[int, str]()
        seen, inside, ended = set[int](), False, False
        lines = Lines(source.stream, source.name)
        for line in lines:
            text = line.strip()
            if text.startswith(b"@ MPI Task Assignment") and not inside:
                fields = text.partition(b":")[2].split()
                if len(fields) < 2:
                    raise lines.error("an incomplete assignment, expected a rank and a host")
                hosts[lines.rank(fields[0])] = fields[1].decode(errors="replace")
            elif not inside:
                inside = MPIP_START.fullmatch(text) is not None
            elif MPIP_END.fullmatch(text):
                ended = True
                break
            elif text[:1].isdigit() or text[:1] == b"-":
                fields = text.split()
                if len(fields) != 4:
                    raise lines.error(f"{len(fields)} numbers, expected source target bytes count")
                own, target = map(lines.rank, fields[:2])
                volume, count = map(lines.whole, fields[2:])
                seen.add(own)
                if own != target:
                    traffic.add(own, target, volume, count)
            elif text and not text.startswith((b"Statistics of rank", b"Source")):
                raise lines.error("a line of text, expected: source target bytes count")
        if not inside:
            what = "a report of mpiP without a communication matrix, expected one that has it"
            raise UnsupportedError(f"{source.name}: {what} (hopbytes record writes patterns with peers)")
        if not ended:
            raise source.error("the file ends inside the communication matrix, expected a complete report")
        n = max([*hosts, *seen, *traffic.targets], default=-1) + 1
        check_complete(source.name, seen, n)
        named = [hosts.get(i, "") for i in range(n)]
        notices = ["mpiP counts neither MPI_Sendrecv nor collectives"]
        return traffic.graph(source, "mpip", n, hosts=named, notices=notices)


TAU_FILES = re.compile(r"(?P<before>profile\.)(?P<rank>\d{1,9})(?P<after>\.0\.0)")
#: Events with a path after the node ("through …", "=> …") repeat the plain events and are not counted.
EVENT = re.compile(rb'"Message size sent to node (\d+)"\s+(.*)')
ANY_EVENT = re.compile(rb'"Message size sent to node (\d+)')


class Tau(Format, form="tau"):
    """One event per peer: ``"Message size sent to node 3" messages max min mean sum_of_squares``."""

    signature = re.compile(rb"\A.*templated_functions")
    suffixes = (".0.0",)
    summary = "TAU's profiles recorded with TAU_COMM_MATRIX=1"

    def read(self, source: Source) -> CommGraph:
        traffic, ranks, events = Traffic(), 0, False
        for own, lines in files_of_set(source, TAU_FILES):
            if own is None:
                what = "a single profile, expected profile.<rank>.0.0 together with those of the other ranks"
                raise FormatError(lines.name, None, what)
            ranks = max(ranks, own + 1)
            for line in lines:
                match = EVENT.match(line)
                events = events or ANY_EVENT.match(line) is not None
                if match:
                    volume, count = _tau_volume(lines, match[2])
                    traffic.add(own, lines.rank(match[1]), volume, count)
        if not events:
            what = "the profiles have no messages by peer, expected profiles recorded with TAU_COMM_MATRIX=1"
            raise UnsupportedError(f"{source.name}: {what}")
        return traffic.graph(source, "tau", ranks)


def _tau_volume(lines: Lines, text: bytes) -> tuple[int, int]:
    """Return bytes and messages of an event: count, max, min, mean."""
    fields = text.split()
    if len(fields) < 4:
        raise lines.error("an incomplete event, expected: messages max min mean")
    try:
        count, mean = float(fields[0]), float(fields[3])
    except ValueError:
        raise lines.error(f"{shown(text)}, expected numbers: messages max min mean") from None
    volume = count * mean
    if not (math.isfinite(volume) and volume >= 0 and 0 <= count < 2**53 and volume < 2**63):
        raise lines.error(f"{shown(text)}, expected messages and their mean size")
    return round(volume), round(count)
