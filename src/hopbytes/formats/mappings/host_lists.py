"""Lists of hosts, a line for every rank or for a run of ranks: written, read, turned into a placement."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import MARK, Format, Source
from hopbytes.formats.mappings.launch_files import HOST_NAME, Launch
from hopbytes.model.allocation import Allocation
from hopbytes.model.mapping import Mapping

#: Most ranks a file may ask for; more than any launcher has started.
MAX_RANKS = 2**27

#: A host with the number of its ranks, as machine files of several launchers have it.
COUNTED = re.compile(
    r"(?P<host>[^\s:#]+)(?::(?P<colon>[0-9]{1,9})|\s+(?:slots=)?(?P<word>[0-9]{1,9}))?", re.ASCII
)


class HostList(Format):
    """What launchers' lists of hosts have in common: all of them are read, and known, in the same way.

    A format says how its lines name the hosts of ranks, and how its first line begins; it adds its writer.
    """

    __slots__ = ()
    holds = "placement"
    title: ClassVar[str] = ""  # of the comment at the top; "" where the launcher takes no comments

    @staticmethod
    @abstractmethod
    def ranks(source: Source) -> list[tuple[int, str]]:
        """Return line number and host of every rank: :func:`rank_hosts`, say."""

    def head(self, said: str) -> str:
        """Return the comment at the top of what we write, by which we know it again."""
        return f"# {self.title} {MARK}: {said}"

    def read(self, source: Source) -> Mapping:
        """Return the mapping of a list of hosts; cores are not named, so the slots of a host go in order.

        Options: `where` (an Allocation with host names), `n`.

        Raises
        ------
        FormatError, UnsupportedError
            See :func:`placed_by_hosts`; where a host stands once for all its ranks, see :func:`in_blocks`.
        """
        return placed_by_hosts(source, self.ranks(source))

    def sniff(self, name: str, head: bytes) -> bool:
        """Only our own mark tells a list of hosts from any other list of words."""
        return bool(self.title) and head.startswith(f"# {self.title} {MARK}".encode())


def hosts_by_rank(launch: Launch, *head: str) -> str:
    """Return the text of a file with the host of rank i in line i, below lines given."""
    return "\n".join([*head, *(launch.host(rank) for rank in range(launch.n))]) + "\n"


def rank_hosts(source: Source) -> list[tuple[int, str]]:
    """Return line number and host of every rank: one word a line, or words separated by commas.

    Raises
    ------
    FormatError
        A line with something else, a word that is no host name.
    """
    found = []
    for number, text in _lines(source):
        for word in text.split(","):
            if not HOST_NAME.fullmatch(word.strip()):
                raise FormatError(source.name, number, f"{word.strip()[:40]!r}, expected the name of a host")
            found.append((number, word.strip()))
    return found


def counted_hosts(source: Source) -> list[tuple[int, str]]:
    """Return line number and host of every rank from lines like ``host:4``, ``host 4`` or ``host``.

    Raises
    ------
    FormatError
        A line with something else, a count of 0, more ranks than anybody could mean.
    """
    found: list[tuple[int, str]] = []
    for number, text in _lines(source):
        parts = COUNTED.fullmatch(text)
        if parts is None or not HOST_NAME.fullmatch(parts["host"]):
            raise FormatError(source.name, number, f"{text[:40]!r}, expected a host like n1:4")
        count = int(parts["colon"] or parts["word"] or 1)
        if not 0 < count <= MAX_RANKS - len(found):
            raise FormatError(source.name, number, f"{count} ranks on {parts['host']}, expected 1 or more")
        found += [(number, parts["host"])] * count
    return found


def in_blocks(source: Source) -> list[tuple[int, str]]:
    """Return line and host of every rank from a file with one line for each host.

    Options of the source: `where`; `n`, without which every slot of the hosts gets a rank.

    Raises
    ------
    FormatError, UnsupportedError
        No machine was given; no host; a number of ranks that the hosts do not share evenly.
    """
    hosts = rank_hosts(source)
    where = allocation_of(source, "a list of hosts")
    n = source.options.get("n")
    nodes = max(len(hosts), 1)
    total = where.k * nodes // (int(where.machine.node_of_core()[-1]) + 1) if n is None else int(n)
    if not hosts or total % nodes or not total:
        what = f"{len(hosts)} hosts for {total} ranks, expected hosts that hold the same number of ranks each"
        raise FormatError(source.name, None, what)
    return [host for host in hosts for _ in range(total // nodes)]


def _lines(source: Source) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(source.text().splitlines(), start=1):
        text = line.partition("#")[0].strip()
        if text:
            yield number, text


def allocation_of(source: Source, form: str) -> Allocation:
    """Return the allocation a placement is to be read for.

    Raises
    ------
    UnsupportedError
        The caller gave none: such a file does not say what its hosts are.
    """
    where = source.options.get("where")
    if not isinstance(where, Allocation):
        raise UnsupportedError(
            f"{source.name}: {form} names hosts, expected the machine they are nodes of (`where` with "
            "`hosts`)"
        )
    return where


def node_numbers(where: Allocation) -> dict[str, int]:
    """Return the node of every host name of an allocation."""
    return {host: node for node, host in enumerate(where.hosts)}


def node_of_host(
    where: Allocation, known: dict[str, int], host: str, place: tuple[str, int | None]
) -> int:
    """Return the node a host name stands for; a one-node machine without names is whatever it is called.

    Raises
    ------
    FormatError
        Another host than the allocation has, or an allocation without names.
    """
    if host in known:
        return known[host]
    if not known and int(where.machine.node_of_core()[-1]) == 0:
        return 0
    short = [node for name, node in known.items() if name.split(".")[0] == host.split(".")[0]]
    if len(short) == 1 and not host.replace(".", "").isdigit():  # with or without a domain, but no address
        return short[0]
    names = ", ".join(list(known)[:4]) + (", …" if len(known) > 4 else "")
    expected = f"one of {names}" if known else "a machine whose nodes have names (`hosts`)"
    raise FormatError(*place, f"host {host[:60]}, expected {expected}")


def placed_by_hosts(source: Source, hosts: Sequence[tuple[int, str]]) -> Mapping:
    """Return the placement of ranks whose hosts are known and whose cores the launcher chooses.

    The ranks of a node take its slots in order, again from the first when there are more.
    Options of the source: `where`, `n`.

    Raises
    ------
    UnsupportedError
        No machine was given.
    FormatError
        An unknown host, a host without slots, another number of ranks than `n`.
    """
    where = allocation_of(source, "a list of hosts")
    check_count(source, len(hosts))
    known = node_numbers(where)
    node = np.empty(len(hosts), np.int64)
    cache: dict[str, int] = {}
    for rank, (line, host) in enumerate(hosts):
        if host not in cache:
            cache[host] = node_of_host(where, known, host, (source.name, line))
        node[rank] = cache[host]
    return placed_on_nodes(source, where, node, [line for line, _ in hosts])


def placed_on_nodes(source: Source, where: Allocation, node: Int64, lines: Sequence[int]) -> Mapping:
    """Return the placement of ranks whose nodes are known; the ranks of a node take its slots in order.

    Parameters
    ----------
    node : int64[n]
        Node of every rank.
    lines : sequence of int
        Line that says so, for messages.

    Raises
    ------
    FormatError
        A node without slots.
    """
    slots = np.bincount(where.node_of_pe, minlength=int(node.max(initial=0)) + 1)
    without = np.flatnonzero(slots[node] == 0)
    if len(without):
        rank = int(without[0])
        name = where.hosts[node[rank]] if where.hosts else f"node {node[rank]}"
        raise FormatError(source.name, lines[rank], f"{name} has no slot, expected a host the job may use")
    first = np.cumsum(slots) - slots
    order = np.argsort(node, kind="stable")
    place = np.empty(len(node), np.int64)
    place[order] = np.arange(len(node)) - np.searchsorted(node[order], node[order])
    pe = first[node] + place % slots[node]
    return Mapping(pe.astype(np.int32), where, {"problem": "processes", "mapper": source.title})


def check_count(source: Source, found: int) -> None:
    """Refuse a file that places another number of ranks than is expected, or none.

    Raises
    ------
    FormatError
        Names both numbers.
    """
    n = source.options.get("n")
    if found == 0 or (n is not None and found != n):
        expected = "at least one" if n is None else str(n)
        raise FormatError(source.name, None, f"{found} ranks, expected {expected}")
