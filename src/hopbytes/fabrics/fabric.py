"""A fabric as arrays: devices, directed links with capacities, where each switch forwards, what arrives."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.fabrics.ibnetdiscover import Device, Survey, is_discovery, read_survey
from hopbytes.fabrics.ibtables import (
    NO_PORT,
    SwitchTable,
    is_tables,
    is_traces,
    read_tables,
    read_traces,
    restored_tables,
)
from hopbytes.kernels.routes import shortest_table
from hopbytes.text.lines import some_of
from hopbytes.text.open_input import check_reference, open_stream

#: More ports than a switch can have: InfiniBand numbers them with one byte.
PORTS = 256
#: Most files that are read; a folder with more is not a folder of one fabric.
MAX_FILES = 8192
HEAD_BYTES = 1 << 14


@frozen(eq=False)
class Fabric:
    """Switches, adapter ports and directed links between them.

    Devices are numbered switches first: switch s is device s, adapter a is device ``len(switches) + a``;
    both ascend by GUID where the file has some.
    A cable is two links, one for each direction; parallel cables are links of their own.
    """

    switches: tuple[Device, ...]  # adapters are ports: an adapter with two ports is two of them
    adapters: tuple[Device, ...]
    link_source: Int32  # int32[links]: devices a link leads from and to; links ascend by source and port
    link_target: Int32  # int32[links]
    link_source_port: Int32  # int32[links]
    link_target_port: Int32  # int32[links]
    link_capacity: Int64  # int64[links]: bytes per second; 1 for all when the file knows no rate
    #: int32[switches, adapters] or None: link by which each switch forwards to each adapter, -1 for none;
    #: None without tables
    forward: Int32 | None
    notices: tuple[str, ...] = ()  # sentences for the user: what was left out, what had to be assumed
    #: file and line of the forwarding table of every switch; empty without tables
    tables: tuple[str, ...] = ()

    @property
    def n_links(self) -> int:
        return len(self.link_source)

    def first_link(self) -> Int32:
        """int32[adapters]: the link that leaves each adapter, -1 for an adapter without a cable."""
        switches = len(self.switches)
        first = np.full(len(self.adapters), -1, np.int32)
        out = np.flatnonzero(self.link_source >= switches)
        first[self.link_source[out] - switches] = out
        return first


def read_fabric(path: str, tables: str | None = None, lid_offset: int = 0, *, routed: bool = True) -> Fabric:
    """Read a fabric from a folder (or one discovery file) with what the InfiniBand tools printed."""
    discovery, chosen = _sort_files(path, tables, routed=routed)
    if not discovery:
        raise FormatError(path, None, "no discovery file, expected one output of ibnetdiscover")
    if len(discovery) > 1:
        found = some_of([repr(os.path.relpath(name, path)) for name in discovery])
        meant = f"name the one to use and its tables, as in ib:{discovery[0]}:tables=dump_fts.txt"
        what = f"{len(discovery)} discovery files ({found}), expected one"
        raise FormatError(path, None, f"{what}: {meant}")
    survey = read_discovery(discovery[0])
    found_tables = _read_routes(survey, chosen) if routed and chosen else None
    return build_fabric(survey, found_tables, lid_offset)


def _read_routes(survey: Survey, names: list[str]) -> list[SwitchTable]:
    traces = [name for name in names if _holds(name, is_traces)]
    if traces and len(traces) < len(names):
        other = next(name for name in names if name not in traces)
        what = f"routes of ibtracert beside the tables in {other}, expected one of them"
        raise FormatError(traces[0], None, what)
    if traces:
        return read_traces(traces, survey)
    return [table for name in names for table in read_tables(name)]


def read_discovery(path: str) -> Survey:
    """Read the output of ibnetdiscover in either form, recognised by content."""
    head = _head(path)
    if not is_discovery(head):
        what = "neither form of ibnetdiscover, expected its plain output or that of -p"
        raise FormatError(path, None, what)
    return read_survey(path, head)


def _sort_files(path: str, tables: str | None, *, routed: bool) -> tuple[list[str], list[str]]:
    """Return the discovery files and the tables of a folder; tables are looked for when routes are wanted."""
    check_reference(path, folder=os.path.isdir(path))
    if os.path.isdir(path):
        folder, candidates = path, _inside(path)
        discovery = [name for name in candidates if _holds(name, is_discovery)]
    else:
        folder, discovery = os.path.dirname(path) or ".", [path]
        candidates = [] if tables is None else _inside(folder)
    if tables is not None:
        chosen = [name for name in candidates if _fits(name, folder, tables)]
        if not chosen and os.path.isfile(tables):
            chosen = [tables]
        if not chosen:
            raise FormatError(path, None, f"tables={tables}: no such file in {folder}")
        return discovery, chosen
    rest = [name for name in candidates if name not in discovery] if routed else []
    # Routes of ibtracert are taken where there are no tables, which say more.
    tabled = [name for name in rest if _holds(name, is_tables)]
    return discovery, tabled or [name for name in rest if _holds(name, is_traces)]


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
    with open_stream(path) as source:
        return source.stream.read(HEAD_BYTES).decode("utf-8", "replace")


def _holds(path: str, is_mine: Callable[[str], bool]) -> bool:
    try:
        return is_mine(_head(path))
    except FormatError:  # an empty or damaged file is ignored; if it was needed, it is reported as missing
        return False


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
    for end in ends:
        if end.near_port >= PORTS - 1:
            survey.fail(end.line, f"port {end.near_port}, expected at most {PORTS - 2}")
    rows = [(number[end.near], number[end.far], end.near_port, end.far_port) for end in ends]
    sources, targets, source_ports, target_ports = np.array(rows, np.int32).reshape(-1, 4).T.copy()
    capacity, assumed = _link_rates([end.rate for end in ends])
    notices += assumed
    if survey.one_sided:
        first, count = survey.one_sided[0], len(survey.one_sided)
        verb = "is" if count == 1 else "are"
        notices.append(
            f"{count} cable{'s' * (count > 1)} {verb} listed from one end only ({survey.path}:{first}): "
            "taken to work both ways"
        )
    forward: Int32 | None = None
    origins: tuple[str, ...] = ()
    if tables is not None:
        link_of_port = np.full((len(switches), PORTS), -1, np.int32)
        out = np.flatnonzero(sources < len(switches))
        link_of_port[sources[out], source_ports[out]] = out
        tables, restored = restored_tables(survey, tables)
        notices += restored
        forward, origins = _forward(survey, switches, adapters, tables, link_of_port, lid_offset)
        unknown = [device.name for device in adapters if not device.lid]
        if unknown:
            notices.append(f"{len(unknown)} adapters have no LID and cannot be reached: {unknown[0]}, …")
    return Fabric(
        switches, adapters, sources, targets, source_ports, target_ports, capacity, forward, tuple(notices),
        origins,
    )


def _link_rates(rates: list[int | None]) -> tuple[Int64, list[str]]:
    """Return bytes per second of each link; unknown ones count as the slowest known one."""
    known = [rate for rate in rates if rate]
    if not known:
        return np.ones(len(rates), np.int64), ["no link has a known rate: all count as equal (capacity 1)"]
    slowest, notices = min(known), []
    if len(known) < len(rates):
        notices.append(
            f"{len(rates) - len(known)} of {len(rates)} links have no known rate: "
            f"they count as the slowest known one, {slowest} bytes per second"
        )
    return np.array([rate or slowest for rate in rates], np.int64), notices


def _forward(
    survey: Survey, switches: tuple[Device, ...], adapters: tuple[Device, ...], tables: Sequence[SwitchTable],
    link_of_port: Int32, lid_offset: int,
) -> tuple[Int32, tuple[str, ...]]:
    """Return the link of every switch to every adapter, and where the table of every switch stands."""
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
            what = f"a table of switch {which} ({table.name[:40]}), which is not in {survey.path}"
            raise FormatError(table.path, table.line, what)
        first = seen.setdefault(switch, table)
        if first is not table:
            what = f"a second table of switch {table.name!r}, the first is at {first.path}:{first.line}"
            meant = f"name the set to use, as in tables={os.path.basename(first.path)}"
            raise FormatError(table.path, table.line, f"{what}: {meant}")
        ports = np.full(2**16, NO_PORT, np.uint8)
        ports[table.lids] = table.ports
        forward[switch] = link_of_port[switch, ports[lids]]
    missing = [device.name for index, device in enumerate(switches) if index not in seen]
    if missing:
        names = ", ".join(map(repr, missing[:3]))
        what = f"{len(missing)} of {len(switches)} switches have no forwarding table ({names})"
        raise FormatError(survey.path, None, f"{what}, expected one for each")
    return forward, tuple(f"{seen[index].path}:{seen[index].line}" for index in range(len(switches)))


def _check_lids(survey: Survey, devices: tuple[Device, ...]) -> None:
    owner: dict[int, Device] = {}
    for device in devices:
        for lid in range(device.lid, device.lid + 2**device.lmc) if device.lid else ():
            other = owner.setdefault(lid, device)
            if other is not device:
                what = f"LID {lid} of {device.name!r} belongs to {other.name!r} (line {other.line})"
                survey.fail(device.line, what)


def leaf_switches(fabric: Fabric) -> Int32:
    """int32[adapters]: switch each adapter is connected to, -1 without a cable to a switch."""
    first = fabric.first_link()
    leaf = np.where(first >= 0, fabric.link_target[first], -1)
    leaf[leaf >= len(fabric.switches)] = -1
    return leaf.astype(np.int32)


def follow(fabric: Fabric) -> Int32:
    """int32[switches, adapters]: links a message follows by the tables, -1 when it never arrives.

    From the switch of the sender this is also the number of switches it passes. Paths are doubled until all
    have ended: O(switches x adapters x log switches).
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
    return links[:switches]


def _refuse_circles(fabric: Fabric, end: Int32) -> None:
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
    names = " -> ".join(_described(fabric, number) for number in circle[:6])
    what = f"messages to {fabric.adapters[adapter].name!r} run in a circle: {names}"
    raise FormatError("forwarding tables", None, what + (" -> …" if len(circle) > 6 else ""))


def _described(fabric: Fabric, number: int) -> str:
    """Name a switch so that it can be found: several may have one description."""
    switch = fabric.switches[number]
    details = [f"GUID 0x{switch.guid:016x}"] if switch.guid else []
    details += [fabric.tables[number]] if fabric.tables else []
    return f"{switch.name!r}" + (f" ({', '.join(details)})" if details else "")


def unrouted(fabric: Fabric, links: Int32) -> Int64:
    """int64[pairs, 2]: ordered pairs of adapters whose messages never arrive, see :func:`follow`."""
    pairs, cables = [], fabric.first_link()
    for source, switch in enumerate(leaf_switches(fabric).tolist()):
        lost: Bool = links[switch] < 0 if switch >= 0 else np.ones(len(fabric.adapters), np.bool_)
        first = int(cables[source])
        if switch < 0 <= first:  # without a switch it reaches the one at its cable
            lost[int(fabric.link_target[first]) - len(fabric.switches)] = False
        lost[source] = False
        targets = np.flatnonzero(lost)
        pairs.append(np.stack([np.full(len(targets), source), targets], axis=1))
    return np.concatenate(pairs).astype(np.int64)


def with_shortest_routes(fabric: Fabric) -> Fabric:
    """Give a fabric routes: from every switch a shortest path to every adapter.

    Of several links that begin a shortest path, the one to adapter number a is link a modulo their number,
    in the order of ports: neighbouring destinations leave by different links, as subnet managers do it.
    O(adapters x links).
    """
    switches, adapters = len(fabric.switches), len(fabric.adapters)
    # As the kernel counts, the adapters, which forward nothing, come before the switches.
    vertex = np.concatenate([np.arange(adapters, adapters + switches), np.arange(adapters)]).astype(np.int32)
    rows = np.maximum(np.arange(-adapters, switches), -1).astype(np.int32)
    table = shortest_table(vertex[fabric.link_source], vertex[fabric.link_target], rows, adapters)
    return replace(fabric, forward=table.reshape(switches, adapters))
