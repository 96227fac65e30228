"""The files that the interposer wrote, one per rank: their sums, and what is known besides the pattern."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Any

from hopbytes.errors import FormatError
from hopbytes.formats.files import open_source
from hopbytes.formats.patterns.recorded import Collectives, Traffic, files_of_set
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns.collective_messages import KINDS
from hopbytes.text.lines import Lines, shown

PARTS = re.compile(r"(?P<before>rank\.)(?P<rank>\d{1,9})(?P<after>\.txt)")
HEADING = b"hopbytes recording 1\n"
MESSAGES = (b"sent", b"got", b"direct")
#: Lines with one number, and the field of `Counts` to which it is added.
FACTS = {
    b"split_type": "split_types", b"shared": "shared_windows", b"spawned": "spawned", b"outside": "outside",
}  # fmt: skip

SPLIT = (
    "ranks were grouped by the hardware they share (MPI_Comm_split_type): the pattern depends on the "
    "mapping, record again after mapping"
)
#: Libraries by the prefix of their file names. The first group implements MPI collectives without messages
#: that Open MPI's monitoring counts; the interposer counts the calls themselves. A program calls the others
#: directly, without MPI.
COLLECTIVE_LIBRARIES = {"libhcoll": "hcoll", "libucc": "UCC", "libsharp": "SHARP"}
OTHER_LIBRARIES = {"libnccl": "NCCL", "librccl": "RCCL", "libnvshmem": "NVSHMEM", "libsma": "SHMEM"}
#: Settings by which the user enables these libraries, for recordings that do not list the loaded ones.
SWITCHES = {"hcoll": "coll_hcoll_enable", "UCC": "coll_ucc_enable"}


@dataclass
class Counts:
    """The sum of the counts of all ranks."""

    #: messages of the program and those that the model derives from collectives
    traffic: Traffic = field(default_factory=Traffic)
    collectives: Collectives = field(default_factory=Collectives)
    n: int = 0  # number of ranks in MPI_COMM_WORLD
    hosts: list[str] = field(default_factory=list)  # the host of every rank
    mpi: str = ""  # the version string of the MPI library
    seconds: float = 0.0  # time from MPI_Init to MPI_Finalize of the slowest rank
    split_types: int = 0  # number of calls of MPI_Comm_split_type
    #: numbers of calls of MPI_Win_allocate_shared and of MPI_Comm_spawn, and number of messages to processes
    #: outside MPI_COMM_WORLD
    shared_windows: int = 0
    spawned: int = 0
    outside: int = 0
    #: framework of Open MPI → the components in use
    components: dict[str, list[str]] = field(default_factory=dict)
    #: libraries that were loaded at the end: components of Open MPI, communication libraries that MPI uses,
    #: and those that are used instead of MPI
    libraries: list[str] = field(default_factory=list)
    #: members → bytes of the messages between them
    groups: dict[tuple[int, ...], int] = field(default_factory=dict)
    phases: dict[int, int] = field(default_factory=dict)  # phase → bytes of messages
    cut: int = 0  # number of ranks that were ended by a signal and wrote what they had sent until then


def read_counts(folder: str, model: str, phase: int | None = None) -> tuple[CommGraph, Counts]:
    """Read the folder of a recording by the interposer."""
    names = sorted(name for name in os.listdir(folder) if PARTS.fullmatch(name))
    if not names:
        raise FormatError(folder, None, "no rank wrote anything, expected a file per rank")
    counts = Counts()
    with open_source(os.path.join(folder, names[0])) as source:
        for own, lines in files_of_set(source, PARTS):
            assert own is not None
            _Reader(lines, own, counts, model, phase).read()
        if len(counts.hosts) != counts.n:
            missing = counts.n - len(counts.hosts)
            raise FormatError(folder, None, f"{missing} of {counts.n} ranks missing, expected all of them")
        counts.collectives.expand_into(counts.traffic, model, counts.n)
        return counts.traffic.graph(source, "recorded", counts.n), counts


class _Reader:
    def __init__(self, lines: Lines, own: int, counts: Counts, model: str, phase: int | None) -> None:
        self.lines, self.own, self.counts, self.model, self.phase = lines, own, counts, model, phase
        self.groups: dict[int, tuple[tuple[int, ...], int]] = {}

    def read(self) -> None:
        ended, line, lines = False, b"", self.lines
        for line in lines:
            if lines.number == 1:
                if line != HEADING:
                    raise lines.error(f"{shown(line.strip())}, expected a recording")
                continue
            word, _, rest = line.rstrip(b"\n").partition(b" ")
            self._take(word, rest)
            # The file has one part for each of several successive MPI sessions.
            ended = line in (b"end\n", b"cut\n")
        self.counts.cut += line == b"cut\n"
        if not ended:
            raise self.lines.error(f"rank {self.own} never reached MPI_Finalize")

    def _take(self, word: bytes, rest: bytes) -> None:
        counts, fields = self.counts, rest.split()
        if word == b"rank" and len(fields) == 2:
            size = self.lines.rank(fields[1])
            if self.lines.rank(fields[0]) != self.own or counts.n not in (0, size):
                raise self.lines.error(f"{shown(rest)}, expected rank {self.own}")
            counts.n = size
        elif word == b"host":
            counts.hosts.append(rest.decode(errors="replace"))
        elif word == b"mpi":
            self._describe(rest.decode(errors="replace").strip())
        elif word in (b"group", b"between"):
            skip = 1 + (word == b"between")
            members = tuple(map(self.lines.rank, fields[skip:]))
            first = self._whole(fields, 1) if word == b"between" else 0
            self.groups[self._whole(fields, 0)] = members, first
        elif word in MESSAGES and len(fields) == 5:
            self._messages(word, fields)
        elif word == b"call" and len(fields) == 6:
            self._call(fields)
        elif word in FACTS:
            name = FACTS[word]
            setattr(counts, name, getattr(counts, name) + self._whole(fields, 0))
        elif word in (b"component", b"library"):
            self._part(word, rest.decode(errors="replace"))
        elif word == b"seconds":
            counts.seconds = max(counts.seconds, float(rest))
        elif word not in (b"end", b"cut"):
            raise self.lines.error(f"{shown(word)}, expected a line of a recording")

    def _describe(self, version: str) -> None:
        """Keep the version string of the library; MPICH names its device on a line of its own."""
        if version and version not in self.counts.mpi:
            self.counts.mpi = f"{self.counts.mpi}, {version}" if self.counts.mpi else version

    def _part(self, word: bytes, text: str) -> None:
        framework, _, name = text.partition(" ")
        known = self.counts.components.setdefault(framework, []) if name else self.counts.libraries
        if (name or text) not in known:
            known.append(name or text)
            known.sort()

    def _messages(self, word: bytes, fields: list[bytes]) -> None:
        phase, group, other, volume, count = (self._whole(fields, i) for i in range(5))
        members, _ = self._members(group)
        if self.phase not in (None, phase) or (word == b"direct" and self.model == "ignore"):
            return
        source, target = (other, self.own) if word == b"got" else (self.own, other)
        self.counts.traffic.add(source, target, volume, count)
        self.counts.groups[members] = self.counts.groups.get(members, 0) + volume
        self.counts.phases[phase] = self.counts.phases.get(phase, 0) + volume

    def _call(self, fields: list[bytes]) -> None:
        phase, group, root, volume, calls = (self._whole(fields, i) for i in (0, 1, 3, 4, 5))
        kind = fields[2].decode(errors="replace")
        if kind not in KINDS:
            raise self.lines.error(f"{shown(fields[2])}, expected a kind of collective")
        members, first = self._members(group)
        self.counts.phases.setdefault(phase, 0)
        if self.phase in (None, phase) and self.own in members:
            self.counts.collectives.add(members.index(self.own), kind, volume, root, members, calls, first)

    def _members(self, group: int) -> tuple[tuple[int, ...], int]:
        if group not in self.groups:
            raise self.lines.error(f"group {group}, expected one of the groups above")
        return self.groups[group]

    def _whole(self, fields: list[bytes], at: int) -> int:
        if at >= len(fields):
            raise self.lines.error("an incomplete line")
        return self.lines.whole(fields[at])


def counted(counts: Counts, model: str, per_communicator: bool) -> dict[str, Any]:
    """Return the metadata of a recording by the interposer."""
    notices = _warnings(counts, OTHER_LIBRARIES)
    if counts.cut:
        ended = f"a signal ended {counts.cut} of {counts.n} ranks"
        notices.append(f"{ended}: the pattern holds what they had sent until then")
    if counts.collectives.calls and model == "ignore":
        notices.append(f"{counts.collectives.calls} collective calls are left out (`collectives`)")
    facts: dict[str, Any] = {"by": "interposer", "collectives": model, **_seen(counts), "notices": notices}
    if counts.cut:
        facts["cut"] = counts.cut
    if set(counts.phases) - {0}:
        facts["phases"] = {str(phase): volume for phase, volume in sorted(counts.phases.items()) if volume}
    if per_communicator:
        facts["communicators"] = [
            {"ranks": list(members), "bytes": volume} for members, volume in sorted(counts.groups.items())
        ]
    return facts


def witnessed(counts: Counts) -> dict[str, Any]:
    """Return the metadata that the interposer collected while Open MPI's monitoring counted."""
    switched = [name for name, setting in SWITCHES.items() if os.environ.get(f"OMPI_MCA_{setting}") == "1"]
    notices = _warnings(counts, COLLECTIVE_LIBRARIES | OTHER_LIBRARIES, switched)
    return _seen(counts) | {"notices": notices}


def _seen(counts: Counts) -> dict[str, Any]:
    """Return the MPI library, the hosts, and the components and libraries in use at the end of the run."""
    facts = {
        "mpi": counts.mpi, "hosts": counts.hosts, "mpi_seconds": counts.seconds,
        "components": counts.components, "libraries": counts.libraries,
    }  # fmt: skip
    return {name: fact for name, fact in facts.items() if fact}


def _warnings(counts: Counts, escaping: dict[str, str], switched: list[str] | None = None) -> list[str]:
    notices = [SPLIT] if counts.split_types else []
    if counts.shared_windows:
        notices.append("memory is shared (MPI_Win_allocate_shared): loads and stores are not in the pattern")
    if counts.spawned:
        notices.append("processes were started (MPI_Comm_spawn): what they send is not in the pattern")
    elif counts.outside:
        notices.append(f"{counts.outside} messages to processes of other programs are left out")
    loaded = [escaping[start] for start in escaping for file in counts.libraries if file.startswith(start)]
    notices += [
        f"{name} was in use: data that it sent without MPI messages is not in the pattern"
        for name in dict.fromkeys([*loaded, *(switched or [])])
    ]
    return notices
