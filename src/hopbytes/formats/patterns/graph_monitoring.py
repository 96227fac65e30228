"""Output of Open MPI's monitoring component: ``NAME.<rank>.prof``, or all ranks in one file."""

from __future__ import annotations

import re
from io import BufferedReader

from hopbytes.errors import FormatError
from hopbytes.formats.base import Format, Source, formats
from hopbytes.formats.parsing import shown
from hopbytes.formats.patterns.recorded import Traffic, check_complete, files_of_set, number, rank
from hopbytes.model.comm_graph import CommGraph
from hopbytes.text.lines import bounded_lines

#: E: point-to-point messages of the program. I: messages that implement collectives. S and R: one-sided puts
#: and gets. C holds the collectives of I again, as calls, and is ignored so that they do not count twice.
SENT, GOT = (b"E", b"I", b"S"), b"R"
#: Communicators in which the writing process is certainly a member.
CERTAIN = (b"MPI_COMM_WORLD", b"MPI_COMM_SELF")
PARTS = re.compile(r"(?P<before>.*\.)(?P<rank>\d{1,9})(?P<after>\.prof)")
HEADING = b"# POINT TO POINT"


class Monitoring(Format):
    """Ranks are those of MPI_COMM_WORLD; reading one file of a set reads the whole set."""

    holds = "pattern"
    suffixes = (".prof",)
    summary = "Open MPI monitoring: point-to-point messages, messages of collectives, one-sided traffic"

    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether the file begins with the first heading."""
        return head.startswith(HEADING)

    def read(self, source: Source) -> CommGraph:
        """Return directed traffic E + I + S, plus R reversed, because a get moves data to its caller."""
        traffic, seen, world = Traffic(), set[int](), 0
        for place, name, stream in files_of_set(source, PARTS):
            own, members = _read_part(name, stream, traffic)
            if place is not None and own - {place}:
                what = f"rank {min(own - {place})}, expected rank {place} as in the file's name"
                raise FormatError(name, None, what)
            seen |= own if place is None else {place}
            world = max(world, members)
        n = max([world - 1, *seen, *traffic.targets, *traffic.sources], default=-1) + 1
        if not n:
            raise FormatError(source.name, None, "no rank, expected lines that begin with E, I or O2A")
        check_complete(source.name, seen, n)
        return traffic.graph(source, "monitoring", n)


formats.register("monitoring")(Monitoring())


def _read_part(name: str, stream: BufferedReader, traffic: Traffic) -> tuple[set[int], int]:
    """Add the content of a file; return its writers and the size of MPI_COMM_WORLD (0 if unknown).

    The number after O2A, A2O and A2A is the writing rank only if that rank is a member of the communicator.
    For an intercommunicator it is a rank of the remote group, or -1, and its name does not show the kind.
    """
    own, members, certain = set[int](), 0, True
    for place, line in bounded_lines(stream, name):
        fields = line.split()
        if not fields or fields[0].startswith(b"#"):
            # If several files were joined, these are the headings of the next one.
            certain = True
            continue
        letter = fields[0]
        if letter in SENT or letter == GOT:
            if len(fields) < 6:
                raise FormatError(name, place, "an incomplete line, expected: E source target bytes messages")
            source, target = rank(name, place, fields[1]), rank(name, place, fields[2])
            volume = number(name, place, fields[3], "a number of bytes")
            count = number(name, place, fields[5], "a number of messages")
            own.add(source)
            if letter == GOT:
                source, target = target, source
            traffic.add(source, target, volume, count)
        elif letter in (b"O2A", b"A2O", b"A2A"):
            if certain and len(fields) > 1:
                own.add(rank(name, place, fields[1]))
        elif letter == b"D":
            certain = fields[1:2] in ([known] for known in CERTAIN)
            if fields[1:2] == [b"MPI_COMM_WORLD"]:
                members = max(members, _members(name, place, fields[-1]))
        elif letter != b"C":
            raise FormatError(name, place, f"{shown(letter)}, expected a letter such as E")
    return own, members


def _members(name: str, place: int, listed: bytes) -> int:
    return max((rank(name, place, token) for token in listed.split(b",")), default=-1) + 1
