"""A fabric as arrays: devices, directed links with capacities, and where each switch forwards to."""

from __future__ import annotations

import dataclasses
import fnmatch
import os
from collections.abc import Sequence

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.fabrics.ibnetdiscover import (
    Device,
    Survey,
    is_ibnetdiscover,
    is_ports_report,
    read_ibnetdiscover,
    read_ibports,
)
from hopbytes.fabrics.ibtables import (
    HEADER,
    NO_PORT,
    SwitchTable,
    is_tables,
    read_tables,
    restored_tables,
    words_about_switch,
)
from hopbytes.text.open_input import check_reference

#: More ports than a switch can have: InfiniBand numbers them with one byte.
PORTS = 256


@frozen(eq=False)
class Fabric:
    """Switches, adapter ports and directed links between them.

    Devices are numbered switches first: switch s is device s, adapter a is device ``len(switches) + a``;
    both ascend by GUID where the file has some.
    A cable is two links, one for each direction; parallel cables are links of their own.
    """

    switches: tuple[Device, ...]  # adapters are ports: an adapter with two ports is two of them
    adapters: tuple[Device, ...]
    link_source: Int32  # int32[links]: Devices a link leads from and to; links ascend by source and port
    link_target: Int32  # int32[links]
    link_source_port: Int32  # int32[links]
    link_target_port: Int32  # int32[links]
    link_capacity: Int64  # int64[links]: Bytes per second; 1 for all when the file knows no rate
    #: int32[switches, adapters] or None: Link by which each switch forwards to each adapter, -1 for none;
    #: None without tables
    forward: Int32 | None
    notices: tuple[str, ...] = ()  # sentences for the user: what was left out, what had to be assumed
    #: file and line of the forwarding table of every switch; empty without tables
    tables: tuple[str, ...] = ()

    @property
    def n_links(self) -> int:
        """Number of directed links."""
        return len(self.link_source)

    def device(self, number: int) -> Device:
        """Return the device with a number."""
        switches = len(self.switches)
        return self.switches[number] if number < switches else self.adapters[number - switches]

    def first_link(self) -> Int32:
        """int32[adapters]: the link that leaves each adapter, -1 for an adapter without a cable."""
        switches = len(self.switches)
        first = np.full(len(self.adapters), -1, np.int32)
        out = np.flatnonzero(self.link_source >= switches)
        first[self.link_source[out] - switches] = out
        return first


def build_fabric(survey: Survey, tables: Sequence[SwitchTable] | None, lid_offset: int = 0) -> Fabric:
    """Turn what a discovery tool found, and forwarding tables, into arrays."""
    # The order of a file depends on where discovery began; that of GUIDs does not.
    devices = sorted(survey.devices.values(), key=lambda device: device.guid)
    switches = tuple(device for device in devices if device.is_switch)
    adapters = tuple(device for device in devices if not device.is_switch)
    number = {device.key: index for index, device in enumerate((*switches, *adapters))}
    ends = sorted(survey.ends.values(), key=lambda end: (number[end.near], end.near_port))
    notices = [
        f"{count} {what}{'s' * (count > 1)} left out: no host" for what, count in survey.dropped.items()
    ]
    sources = np.array([number[end.near] for end in ends], np.int32)
    source_ports = np.array([end.near_port for end in ends], np.int32)
    for end in ends:
        if end.near_port >= PORTS - 1:
            survey.fail(end.line, f"port {end.near_port}, expected at most {PORTS - 2}")
    capacity, assumed = link_rates([end.rate for end in ends])
    notices += assumed
    if survey.one_sided:
        first, count = survey.one_sided[0], len(survey.one_sided)
        verb = "is" if count == 1 else "are"
        notices.append(
            f"{count} cable{'s' * (count > 1)} {verb} listed from one end only ({survey.path}:{first}): "
            "taken to work both ways"
        )
    forward: Int32 | None = None
    places: tuple[str, ...] = ()
    if tables is not None:
        link_of_port = np.full((len(switches), PORTS), -1, np.int32)
        out = np.flatnonzero(sources < len(switches))
        link_of_port[sources[out], source_ports[out]] = out
        tables, restored = restored_tables(survey, tables)
        notices += restored
        forward, places = _forward(survey, switches, adapters, tables, link_of_port, lid_offset)
        unknown = [device.name for device in adapters if not device.lid]
        if unknown:
            notices.append(f"{len(unknown)} adapters have no LID and cannot be reached: {unknown[0]}, …")
    return Fabric(
        switches, adapters, sources,
        np.array([number[end.far] for end in ends], np.int32),
        source_ports,
        np.array([end.far_port for end in ends], np.int32),
        capacity, forward, tuple(notices), places,
    )


def link_rates(rates: list[int | None]) -> tuple[Int64, list[str]]:
    """Return bytes per second of each link; unknown ones count as the slowest known one."""
    known = [rate for rate in rates if rate]
    if not known:
        return np.ones(len(rates), np.int64), ["no link has a known rate: all count as equal (capacity 1)"]
    slowest = min(known)
    notices = []
    if len(known) < len(rates):
        notices.append(
            f"{len(rates) - len(known)} of {len(rates)} links have no known rate: "
            f"they count as the slowest known one, {slowest} bytes per second"
        )
    return np.array([rate or slowest for rate in rates], np.int64), notices


def _forward(
    survey: Survey,
    switches: tuple[Device, ...],
    adapters: tuple[Device, ...],
    tables: Sequence[SwitchTable],
    link_of_port: Int32,
    lid_offset: int,
) -> tuple[Int32, tuple[str, ...]]:
    _check_lids(survey, (*switches, *adapters))
    lids = np.array([device.lid + min(lid_offset, 2**device.lmc - 1) for device in adapters], np.int64)
    forward = np.full((len(switches), len(adapters)), -1, np.int32)
    by_guid = {device.guid: index for index, device in enumerate(switches) if device.guid}
    by_lid = {device.lid: index for index, device in enumerate(switches) if device.lid}
    seen: dict[int, SwitchTable] = {}
    for table in tables:
        switch = by_guid.get(table.guid) if table.guid else by_lid.get(table.lid)
        if switch is None:
            which = f"guid 0x{table.guid:016x}" if table.guid else f"LID {table.lid}"
            raise FormatError(
                table.path, table.line,
                f"a table of switch {which} ({table.name[:40]}), which is not in {survey.path}",
            )
        if switch in seen:
            first = seen[switch]
            raise FormatError(
                table.path, table.line,
                f"a second table of switch {table.name!r}, the first is at {first.path}:{first.line}: "
                "name the file to use (tables=FILE)",
            )
        seen[switch] = table
        ports = np.full(2**16, NO_PORT, np.uint8)
        ports[table.lids] = table.ports
        forward[switch] = link_of_port[switch, ports[lids]]
    missing = [device.name for index, device in enumerate(switches) if index not in seen]
    if missing:
        raise FormatError(
            survey.path, None,
            f"{len(missing)} of {len(switches)} switches have no forwarding table "
            f"({', '.join(map(repr, missing[:3]))}), expected one for each",
        )
    return forward, tuple(f"{seen[index].path}:{seen[index].line}" for index in range(len(switches)))


def _check_lids(survey: Survey, devices: tuple[Device, ...]) -> None:
    owner: dict[int, Device] = {}
    for device in devices:
        for lid in range(device.lid, device.lid + 2**device.lmc) if device.lid else ():
            other = owner.setdefault(lid, device)
            if other is not device:
                survey.fail(
                    device.line, f"LID {lid} of {device.name!r} belongs to {other.name!r} (line {other.line})"
                )


@frozen(eq=False)
class Arrival:
    """How far it is from each switch to each adapter."""

    #: int32[switches, adapters]: Links a message follows from a switch to an adapter, -1 when it never
    #: arrives. From the switch of the sender this is also the number of switches it passes.
    links: Int32

    def unrouted(self, fabric: Fabric) -> Int64:
        """int64[pairs, 2]: ordered pairs of adapters whose messages never arrive."""
        leaf = leaf_switches(fabric)
        found = []
        for source, switch in enumerate(leaf.tolist()):
            lost = self.links[switch] < 0 if switch >= 0 else _all_but_neighbour(fabric, source)
            lost[source] = False
            targets = np.flatnonzero(lost)
            found.append(np.stack([np.full(len(targets), source), targets], axis=1))
        return np.concatenate(found).astype(np.int64)


def leaf_switches(fabric: Fabric) -> Int32:
    """int32[adapters]: switch each adapter is connected to, -1 without a cable to a switch."""
    first = fabric.first_link()
    leaf = np.where(first >= 0, fabric.link_target[first], -1)
    leaf[leaf >= len(fabric.switches)] = -1
    return leaf.astype(np.int32)


def _all_but_neighbour(fabric: Fabric, source: int) -> Bool:
    """Return which adapters an adapter without a switch cannot reach: all but the one at its cable."""
    lost = np.ones(len(fabric.adapters), np.bool_)
    first = int(fabric.first_link()[source])
    if first >= 0:
        lost[int(fabric.link_target[first]) - len(fabric.switches)] = False
    return lost


def follow(fabric: Fabric) -> Arrival:
    """Follow the tables of a fabric from every switch to every adapter.

    Paths are doubled until all have ended: O(switches x adapters x log switches).
    """
    if fabric.forward is None:
        raise UnsupportedError("the fabric has no forwarding tables, so its routes are not known")
    switches, adapters = len(fabric.switches), len(fabric.adapters)
    arrived, lost = switches, switches + 1  # two more rows in which every path stays
    column = np.arange(adapters)
    has_link = fabric.forward >= 0
    device = np.where(has_link, fabric.link_target[fabric.forward], -1)
    ahead = np.full((switches + 2, adapters), lost, np.int32)
    ahead[arrived] = arrived
    ahead[:switches] = np.where(
        device == switches + column, arrived, np.where((device >= 0) & (device < switches), device, lost)
    )
    links = np.zeros((switches + 2, adapters), np.int32)
    links[:switches] = has_link
    for _ in range(max(1, (switches + 1).bit_length())):
        links += np.take_along_axis(links, ahead, axis=0)
        ahead = np.take_along_axis(ahead, ahead, axis=0)
    _refuse_circles(fabric, ahead[:switches])
    links[:switches][ahead[:switches] != arrived] = -1
    return Arrival(links[:switches])


def _refuse_circles(fabric: Fabric, end: Int32) -> None:
    """Raise for the first circle that messages of an adapter run into."""
    assert fabric.forward is not None
    leaf = leaf_switches(fabric)
    starts = np.unique(leaf[leaf >= 0])
    turning = np.argwhere(end[starts] < len(fabric.switches))
    if not len(turning):
        return
    switch, adapter = int(starts[turning[0, 0]]), int(turning[0, 1])
    walk: list[int] = []
    while switch not in walk:
        walk.append(switch)
        switch = int(fabric.link_target[fabric.forward[switch, adapter]])
    circle = [*walk[walk.index(switch) :], switch]
    names = " -> ".join(_said_switch(fabric, number) for number in circle[:6])
    raise FormatError(
        "forwarding tables", None,
        f"messages to {fabric.adapters[adapter].name!r} run in a circle: "
        f"{names}{' -> …' if len(circle) > 6 else ''}",
    )


def _said_switch(fabric: Fabric, number: int) -> str:
    """Name a switch so that it can be found: several may have one description."""
    switch = fabric.switches[number]
    details = [f"GUID 0x{switch.guid:016x}"] if switch.guid else []
    details += [fabric.tables[number]] if fabric.tables else []
    return f"{switch.name!r}" + (f" ({', '.join(details)})" if details else "")


def route(fabric: Fabric, source: int, target: int) -> list[int]:
    """Return the links a message follows from one adapter to another."""
    if fabric.forward is None:
        raise UnsupportedError("the fabric has no forwarding tables, so its routes are not known")
    switches = len(fabric.switches)
    if source == target:
        return []
    links = [int(fabric.first_link()[source])]
    while links[-1] >= 0 and len(links) <= switches + 1:
        here = int(fabric.link_target[links[-1]])
        if here == switches + target:
            return links
        links.append(int(fabric.forward[here, target]) if here < switches else -1)
    path = [fabric.device(int(fabric.link_target[link])).name for link in links if link >= 0]
    raise FormatError(
        "forwarding tables", None,
        f"messages from {fabric.adapters[source].name!r} to {fabric.adapters[target].name!r} never arrive: "
        f"they end after {' -> '.join(map(repr, path[:8])) or 'no link at all'}",
    )


def with_shortest_routes(fabric: Fabric) -> Fabric:
    """Give a fabric routes: from every switch a shortest path to every adapter.

    Of several links that begin a shortest path, the one to adapter number a is link a modulo their number,
    in the order of ports: neighbouring destinations leave by different links, as subnet managers do it.

    One search backwards from every switch with adapters: O(leaves x links + switches x adapters).
    """
    switches, adapters = len(fabric.switches), len(fabric.adapters)
    forward = np.full((switches, adapters), -1, np.int32)
    inner = np.flatnonzero((fabric.link_source < switches) & (fabric.link_target < switches))
    source, target = fabric.link_source[inner], fabric.link_target[inner]
    leaf = leaf_switches(fabric)
    for switch in np.unique(leaf[leaf >= 0]).tolist():
        distance = _distances(switches, source, target, switch)
        first = np.flatnonzero((distance[source] >= 1) & (distance[source] == distance[target] + 1))
        begin = np.searchsorted(source[first], np.arange(switches + 1))  # links ascend by source
        here = np.flatnonzero(leaf == switch)
        count = np.diff(begin)
        near = np.flatnonzero(count)
        place = begin[near][:, None] + here[None, :] % count[near][:, None]
        forward[np.ix_(near, here)] = inner[first[place]]
    down = np.flatnonzero((fabric.link_source < switches) & (fabric.link_target >= switches))
    forward[fabric.link_source[down], fabric.link_target[down] - switches] = down
    return dataclasses.replace(fabric, forward=forward)


def _distances(switches: int, source: Int32, target: Int32, goal: int) -> Int32:
    """int32[switches]: links of a shortest path from each switch to `goal`; -1 where there is none."""
    distance = np.full(switches, -1, np.int32)
    distance[goal] = 0
    step = 0
    reached = np.array([goal])
    while len(reached):
        step += 1
        at = np.zeros(switches, np.bool_)
        at[reached] = True
        reached = np.unique(source[at[target] & (distance[source] < 0)])
        distance[reached] = step
    # A switch that cannot reach the goal must not be taken for one at distance 1 from it.
    distance[distance < 0] = -2
    return distance


#: Most files that are read; a folder with more is not a folder of one fabric.
MAX_FILES = 8192
HEAD_BYTES = 1 << 14


@frozen
class Files:
    """The files of a folder by what they hold."""

    discovery: tuple[str, ...]
    tables: tuple[str, ...]


def read_fabric(path: str, tables: str | None = None, lid_offset: int = 0, *, routed: bool = True) -> Fabric:
    """Read a fabric from a folder (or one discovery file)."""
    files = sort_files(path, tables, routed=routed)
    if not files.discovery:
        raise FormatError(path, None, "no discovery file, expected one output of ibnetdiscover")
    if len(files.discovery) > 1:
        found = ", ".join(repr(os.path.relpath(name, path)) for name in files.discovery[:3])
        more = f" and {len(files.discovery) - 3} more" * (len(files.discovery) > 3)
        raise FormatError(
            path, None,
            f"{len(files.discovery)} discovery files ({found}{more}), expected one: name the one to use "
            f"and its tables, as in ib:{files.discovery[0]}:tables=dump_fts.txt",
        )
    found_tables = read_all_tables(files.tables) if routed else None
    return build_fabric(read_discovery(files.discovery[0]), found_tables, lid_offset)


def read_discovery(path: str) -> Survey:
    """Read the output of ibnetdiscover in either form, told apart by content."""
    head = _head(path)
    if is_ports_report(head):
        return read_ibports(path)
    if is_ibnetdiscover(head):
        return read_ibnetdiscover(path)
    raise FormatError(path, None, "neither form of ibnetdiscover, expected its plain output or that of -p")


def read_all_tables(paths: tuple[str, ...]) -> list[SwitchTable] | None:
    """Read the tables of several files; None when there is no file."""
    if not paths:
        return None
    return [table for path in paths for table in read_tables(path)]


def sort_files(path: str, tables: str | None, *, routed: bool = True) -> Files:
    """Find out what each file of a folder holds; tables are looked for when routes are wanted."""
    check_reference(path, folder=os.path.isdir(path))
    if not os.path.isdir(path):
        folder, candidates, discovery = os.path.dirname(path) or ".", [], [path]
        if tables is not None:
            candidates = _inside(folder)
    else:
        folder, candidates = path, _inside(path)
        discovery = [name for name in candidates if _is_discovery(name)]
    if tables is not None:
        chosen = [name for name in candidates if _fits(name, folder, tables)]
        if not chosen and os.path.isfile(tables):
            chosen = [tables]
        if not chosen:
            raise FormatError(path, None, f"tables={tables}: no such file in {folder}")
    elif not routed:
        chosen = []
    else:
        chosen = [name for name in candidates if name not in discovery and _is_table(name)]
        if len(discovery) < 2:  # an error about two fabrics comes first
            _refuse_several_sets(path, folder, chosen)
    return Files(tuple(discovery), tuple(chosen))


def _inside(folder: str) -> list[str]:
    """Return the regular files of a folder and of the folders in it, sorted."""
    found: list[str] = []
    for root, folders, names in os.walk(folder):
        folders.sort()
        if root.count(os.sep) - folder.rstrip(os.sep).count(os.sep) >= 2:
            folders.clear()
        found += [os.path.join(root, name) for name in sorted(names) if not name.startswith(".")]
        if len(found) > MAX_FILES:
            raise FormatError(folder, None, f"more than {MAX_FILES} files, expected those of one fabric")
    # Files of size 0 include those whose content a kernel generates on reading, perhaps without an end.
    return [name for name in found if os.path.isfile(name) and os.path.getsize(name)]


def _fits(name: str, folder: str, pattern: str) -> bool:
    inside = os.path.relpath(name, folder)
    return fnmatch.fnmatchcase(inside, pattern) or fnmatch.fnmatchcase(os.path.basename(name), pattern)


def _head(path: str) -> str:
    """Return the beginning of a file as text; "" when it cannot be read as one."""
    from hopbytes.text.open_input import open_stream

    with open_stream(path) as source:
        return source.stream.read(HEAD_BYTES).decode("utf-8", "replace")


def _is_discovery(path: str) -> bool:
    try:
        head = _head(path)
    except FormatError:  # an empty or damaged file is ignored; if it was needed, it is reported as missing
        return False
    return is_ports_report(head) or is_ibnetdiscover(head)


def _is_table(path: str) -> bool:
    try:
        return is_tables(_head(path))
    except FormatError:
        return False


def _refuse_several_sets(path: str, folder: str, chosen: list[str]) -> None:
    """Raise when two files hold a table of the same switch: the user has to say which set is meant."""
    owner: dict[bytes, str] = {}
    for name in chosen:
        first = _first_switch(name)
        if first in owner:
            names = [os.path.relpath(file, folder) for file in (owner[first], name)]
            raise FormatError(
                path, None,
                f"several sets of forwarding tables ({', '.join(names)}), expected one: "
                f"say which, as in ib:{path}:tables={names[0]}",
            )
        owner[first] = name


def _first_switch(path: str) -> bytes:
    found = HEADER.search(_head(path).encode())
    assert found is not None
    switch, about = words_about_switch(found)
    return about["guid"] if about else switch
