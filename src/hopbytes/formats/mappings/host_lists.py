"""Lists of hosts with a line for every rank or for consecutive ranks: writing, and reading as a mapping."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import MARK, Source
from hopbytes.formats.mappings.launch_files import Launch, LaunchFormat
from hopbytes.formats.mappings.numbering import Line
from hopbytes.model.allocation import Allocation
from hopbytes.model.mapping import Mapping
from hopbytes.text.hostlist import NODE_NAME, short_name

#: Largest number of ranks that a file may name; it bounds the memory of a reader.
MAX_RANKS = 2**27
#: A host with its number of ranks, in the notations of several launchers.
COUNTED = re.compile(
    r"(?P<host>[^\s:#]+)(?::(?P<colon>[0-9]{1,9})|\s+(?:slots=)?(?P<word>[0-9]{1,9}))?", re.ASCII
)

#: Line number and host of every rank.
RankHosts = list[tuple[int, str]]


class HostList(LaunchFormat):
    """Base of all host lists of launchers, which are read and recognised in the same way."""
    # A subclass defines how its lines name the hosts of ranks, the title in the first line, and the writer.

    __slots__ = ()
    #: Title in the comment at the top; "" if the launcher does not accept comments.
    title: ClassVar[str] = ""

    @staticmethod
    @abstractmethod
    def ranks(source: Source) -> RankHosts:
        """Return line number and host of every rank; :func:`rank_hosts` is one implementation."""

    def head(self, description: str) -> str:
        """Return the comment at the top of a written file, by which :meth:`sniff` recognises it."""
        return f"# {self.title} {MARK}: {description}"

    def read(self, source: Source) -> Mapping:
        """Return the mapping of a list of hosts; the file names no cores, so ranks take slots in order."""
        return mapping_by_hosts(source, self.ranks(source))

    def sniff(self, name: str, head: bytes) -> bool:
        return bool(self.title) and head.startswith(f"# {self.title} {MARK}".encode())


def hosts_by_rank(launch: Launch, *head: str) -> str:
    """Return the text of a file with the host of rank i in line i, after the lines of `head`."""
    return "\n".join([*head, *map(launch.host, range(launch.n))]) + "\n"


def rank_hosts(source: Source) -> RankHosts:
    """Return line number and host of every rank: one word a line, or words separated by commas."""
    hosts = []
    for number, text in lines_of(source):
        for word in text.split(","):
            if not NODE_NAME.fullmatch(word.strip()):
                raise FormatError(source.name, number, f"{word.strip()[:40]!r}, expected the name of a host")
            hosts.append((number, word.strip()))
    return hosts


def counted_hosts(source: Source) -> RankHosts:
    """Return line number and host of every rank from lines like ``host:4``, ``host 4`` or ``host``."""
    hosts: RankHosts = []
    for number, text in lines_of(source):
        parts = COUNTED.fullmatch(text)
        if parts is None or not NODE_NAME.fullmatch(parts["host"]):
            raise FormatError(source.name, number, f"{text[:40]!r}, expected a host like n1:4")
        count = int(parts["colon"] or parts["word"] or 1)
        if not 0 < count <= MAX_RANKS - len(hosts):
            what = f"{count} ranks on {parts['host']}, expected 1 or more, and at most {MAX_RANKS} in all"
            raise FormatError(source.name, number, what)
        hosts += [(number, parts["host"])] * count
    return hosts


def hosts_in_blocks(source: Source) -> RankHosts:
    """Return line and host of every rank from a file with one line for each host."""
    # Options of the source: `where`; `n`, by default the number of slots of the hosts.
    hosts = rank_hosts(source)
    where = allocation_of(source, "a list of hosts")
    n = source.options.get("n")
    nodes = max(len(hosts), 1)
    total = where.k * nodes // (int(where.machine.node_of_core()[-1]) + 1) if n is None else int(n)
    if not hosts or total % nodes or not total:
        what = f"{len(hosts)} hosts for {total} ranks, expected the same number of ranks on every host"
        raise FormatError(source.name, None, what)
    return [host for host in hosts for _ in range(total // nodes)]


def lines_of(source: Source) -> Iterator[tuple[int, str]]:
    """Yield number and text of the lines, without comments and blank lines."""
    for number, line in enumerate(source.text().splitlines(), start=1):
        text = line.partition("#")[0].strip()
        if text:
            yield number, text


def allocation_of(source: Source, form: str) -> Allocation:
    """Return the allocation for which a mapping is read."""
    where = source.options.get("where")
    if not isinstance(where, Allocation):
        raise UnsupportedError(
            f"{source.name}: {form} names hosts, expected the machine with these nodes (`where` with `hosts`)"
        )
    return where


def node_numbers(where: Allocation) -> dict[str, int]:
    """Return the node of every host name of an allocation."""
    return {host: node for node, host in enumerate(where.hosts)}


def node_of_host(where: Allocation, known: dict[str, int], host: str, line: Line) -> int:
    """Return the node with a host name; on a machine of one node without names every host is that node."""
    if host in known:
        return known[host]
    if not known and int(where.machine.node_of_core()[-1]) == 0:
        return 0
    # A domain may be missing on either side.
    short = [node for name, node in known.items() if short_name(name) == short_name(host)]
    if len(short) == 1:
        return short[0]
    names = ", ".join(list(known)[:4]) + (", …" if len(known) > 4 else "")
    expected = f"one of {names}" if known else "a machine whose nodes have names (`hosts`)"
    raise FormatError(*line, f"host {host[:60]}, expected {expected}")


def mapping_by_hosts(source: Source, hosts: RankHosts) -> Mapping:
    """Return the mapping of ranks whose hosts are known and whose cores the launcher chooses."""
    # The ranks of a node take its slots in order; if it has more ranks than slots, they start again at the
    # first slot. Options of the source: `where`, `n`.
    where = allocation_of(source, "a list of hosts")
    check_count(source, len(hosts))
    known = node_numbers(where)
    node_of: dict[str, int] = {}
    for line_number, host in hosts:
        if host not in node_of:
            node_of[host] = node_of_host(where, known, host, (source.name, line_number))
    node = np.array([node_of[host] for _, host in hosts], np.int64)
    return mapping_on_nodes(source, where, node, [line_number for line_number, _ in hosts])


def mapping_on_nodes(source: Source, where: Allocation, node: Int64, line_numbers: Sequence[int]) -> Mapping:
    """Return the mapping of ranks whose nodes are known; the ranks of a node take its slots in order."""
    without = np.flatnonzero(~np.isin(node, where.node_of_pe))
    if len(without):
        rank = int(without[0])
        name = where.hosts[node[rank]] if where.hosts else f"node {node[rank]}"
        what = f"{name} has no slot, expected a host the job may use"
        raise FormatError(source.name, line_numbers[rank], what)
    return as_launched(source, slots_in_order(where, node), where)


def slots_in_order(where: Allocation, node: Int32 | Int64) -> Int32:
    """Return int32[n], the slots of ranks that take those of their nodes in order, again and again."""
    slots = np.bincount(where.node_of_pe, minlength=int(node.max(initial=0)) + 1)
    order = np.argsort(node, kind="stable")
    in_node = np.empty(len(node), np.int64)
    in_node[order] = np.arange(len(node)) - np.searchsorted(node[order], node[order])
    return ((np.cumsum(slots) - slots)[node] + in_node % slots[node]).astype(np.int32)


def as_launched(source: Source, pe: object, where: Allocation) -> Mapping:
    """Return a mapping of processes that a file describes."""
    return Mapping(np.asarray(pe, np.int32), where, {"problem": "processes", "mapper": source.title})


def check_count(source: Source, found: int) -> None:
    """Raise FormatError if a file maps no rank or not the expected number; the text has both numbers."""
    n = source.options.get("n")
    if found == 0 or (n is not None and found != n):
        expected = "at least one" if n is None else str(n)
        raise FormatError(source.name, None, f"{found} ranks, expected {expected}")
