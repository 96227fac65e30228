"""Files that list hosts, switches and the links between them, one per line."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from hopbytes.errors import FormatError
from hopbytes.text.hostlist import expand_hosts
from hopbytes.text.lines import read_lines

MAX_CAPACITY = 2**62
MAX_CABLES = 4096
WORDS = "host, switch, link, arc or route"


@dataclass(slots=True)
class LinkFile:
    """What a file of links says."""

    path: str
    #: in the order of the file; without any declaration all vertices are hosts
    hosts: list[str] = field(default_factory=list)
    switches: list[str] = field(default_factory=list)
    links: list[tuple[str, str, int]] = field(default_factory=list)  # directed links: from, to, capacity
    #: given routes: vertices from source to target, both included
    routes: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)


def read_link_file(path: str) -> LinkFile:
    """Read a graph of links.

    A star of three hosts::

        host a b c
        switch s
        link a s 10
        link b s 10
        link c s 10 x2
    """
    found = LinkFile(path)
    known: dict[str, str] = {}
    pending: list[tuple[int, tuple[str, ...]]] = []
    for number, line in enumerate(read_lines(path), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        kind, rest = words[0], words[1:]
        if kind in ("host", "switch"):
            _declare(found, known, kind, rest, number)
        elif kind in ("link", "arc"):
            _link(found, kind, rest, number)
        elif kind == "route":
            if len(rest) < 2:
                raise FormatError(path, number, f"a route of {len(rest)} vertices, expected two or more")
            pending.append((number, tuple(rest)))
        else:
            raise FormatError(path, number, f"{kind[:40]!r}, expected {WORDS}")
    _settle(found, known, pending)
    return found


def _declare(found: LinkFile, known: dict[str, str], kind: str, rest: list[str], number: int) -> None:
    names = [name for word in rest for name in expand_hosts(word, found.path, number)]
    if not names:
        raise FormatError(found.path, number, f"{kind} without a name, expected {kind} NAME…")
    for name in names:
        if name in known:
            raise FormatError(found.path, number, f"{name[:40]!r} twice, expected every vertex once")
        known[name] = kind
    (found.hosts if kind == "host" else found.switches).extend(names)


def _link(found: LinkFile, kind: str, rest: list[str], number: int) -> None:
    words = list(rest)
    cables = 1
    if len(words) > 2 and words[-1].startswith("x"):
        text = words.pop()[1:]
        if not text.isdigit() or not 1 <= int(text[:9]) <= MAX_CABLES or len(text) > 9:
            raise FormatError(found.path, number, f"x{text[:40]}, expected x1 to x{MAX_CABLES} cables")
        cables = int(text)
    if len(words) not in (2, 3):
        raise FormatError(found.path, number, f"{len(rest)} words, expected {kind} FROM TO [CAPACITY] [xN]")
    capacity = 1
    if len(words) == 3:
        if not (words[2].isascii() and words[2].isdigit()) or not 1 <= int(words[2][:20]) <= MAX_CAPACITY:
            what = f"capacity {words[2][:40]}, expected an integer > 0"
            raise FormatError(found.path, number, what)
        capacity = int(words[2])
    near, far = words[:2]
    if near == far:
        raise FormatError(found.path, number, f"a link from {near[:40]!r} to itself, expected two vertices")
    for _ in range(cables):
        found.links.append((near, far, capacity))
        if kind == "link":
            found.links.append((far, near, capacity))


def _settle(found: LinkFile, known: dict[str, str], pending: list[tuple[int, tuple[str, ...]]]) -> None:
    """Check what could only be checked at the end of the file."""
    if not known:
        found.hosts = list(dict.fromkeys(name for near, far, _ in found.links for name in (near, far)))
        known.update(dict.fromkeys(found.hosts, "host"))
    for near, far, _ in found.links:
        for name in (near, far):
            if name not in known:
                what = f"a link at {name[:40]!r}, expected a vertex declared by host or switch"
                raise FormatError(found.path, None, what)
    if not found.hosts:
        raise FormatError(found.path, None, "no host, expected lines like 'host n[1-4]' or 'link a b'")
    pairs = {(near, far) for near, far, _ in found.links}
    hosts = set(found.hosts)
    for number, vertices in pending:
        for near, far in pairwise(vertices):
            if (near, far) not in pairs:
                raise FormatError(
                    found.path, number, f"a route from {near!r} to {far!r}, expected a link there"
                )
        ends = vertices[0], vertices[-1]
        if not hosts.issuperset(ends) or ends[0] == ends[1] or ends in found.routes:
            what = (
                f"a route from {ends[0]!r} to {ends[1]!r}, expected each pair of different hosts at most once"
            )
            raise FormatError(found.path, number, what)
        again = next((place for place, name in enumerate(vertices) if name in vertices[:place]), None)
        if again is not None:
            loop = " -> ".join(vertices[vertices.index(vertices[again]) : again + 1])
            what = f"a route from {ends[0]!r} to {ends[1]!r} with a loop ({loop[:80]}), expected none"
            raise FormatError(found.path, number, what)
        found.routes[ends] = vertices
