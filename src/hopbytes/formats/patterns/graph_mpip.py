"""mpiP's report with a communication matrix, as CeNAT's fork of mpiP writes it."""

from __future__ import annotations

import re

from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import Format, Source, formats
from hopbytes.formats.patterns.recorded import Traffic, check_complete, number, rank
from hopbytes.model.comm_graph import CommGraph
from hopbytes.text.lines import bounded_lines

START = re.compile(rb"-+ Start Communication Matrix -+")
END = re.compile(rb"-+ End Communication Matrix -+")


class MpiP(Format):
    """Rows are ``source target bytes messages``; the diagonal holds the sum of a row and is not traffic.

    Calls of MPI_Sendrecv and collectives are not in the matrix.
    """

    holds = "pattern"
    suffixes = (".mpip",)
    summary = "mpiP's report with a communication matrix (unmodified mpiP writes none)"

    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether the file begins like a report of mpiP."""
        return head.startswith(b"@ mpiP")

    def read(self, source: Source) -> CommGraph:
        """Return directed traffic without the diagonal."""
        traffic, hosts = Traffic(), dict[int, str]()
        seen, inside, ended = set[int](), False, False
        for place, line in bounded_lines(source.stream, source.name):
            text = line.strip()
            if not inside:
                _host(source, place, text, hosts)
                inside = START.fullmatch(text) is not None
            elif END.fullmatch(text):
                ended = True
                break
            elif text[:1].isdigit() or text[:1] == b"-":
                seen.add(_row(source, place, text, traffic))
            elif text and not text.startswith((b"Statistics of rank", b"Source")):
                raise FormatError(source.name, place, "a line of text, expected: source target bytes count")
        if not inside:
            what = "a report of mpiP without a communication matrix, expected one that has it"
            raise UnsupportedError(f"{source.name}: {what} (hopbytes record writes patterns with peers)")
        if not ended:
            what = "the file ends inside the communication matrix, expected a complete report"
            raise FormatError(source.name, None, what)
        n = max([*hosts, *seen, *traffic.targets], default=-1) + 1
        check_complete(source.name, seen, n)
        named = [hosts.get(i, "") for i in range(n)]
        notices = ["mpiP counts neither MPI_Sendrecv nor collectives"]
        return traffic.graph(source, "mpip", n, hosts=named, notices=notices)


formats.register("mpip")(MpiP())


def _host(source: Source, place: int, text: bytes, hosts: dict[int, str]) -> None:
    if text.startswith(b"@ MPI Task Assignment"):
        fields = text.partition(b":")[2].split()
        if len(fields) < 2:
            raise FormatError(source.name, place, "an incomplete assignment, expected a rank and a host")
        hosts[rank(source.name, place, fields[0])] = fields[1].decode(errors="replace")


def _row(source: Source, place: int, text: bytes, traffic: Traffic) -> int:
    fields = text.split()
    if len(fields) != 4:
        raise FormatError(source.name, place, f"{len(fields)} numbers, expected source target bytes count")
    own, target = (rank(source.name, place, field) for field in fields[:2])
    volume, count = (number(source.name, place, field, "a whole number") for field in fields[2:])
    if own != target:
        traffic.add(own, target, volume, count)
    return own
