"""A fabric as arrays: devices, directed links with capacities, and where each switch forwards to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError
from hopbytes.fabrics.ibtables import NO_PORT, SwitchTable
from hopbytes.fabrics.restored import restored_tables
from hopbytes.fabrics.survey import Device, Survey

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
    lids = np.array(
        [device.lid + min(lid_offset, 2**device.lmc - 1) for device in adapters], np.int64
    )
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
