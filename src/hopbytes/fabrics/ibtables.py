"""Routes of InfiniBand switches: the tables of ibroute and dump_fts, and what ibtracert prints."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

import numpy as np

from hopbytes._arrays import Bool, Int64, UInt8
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError
from hopbytes.fabrics.ibnetdiscover import Device, Survey
from hopbytes.text.lines import read_bytes, read_lines

HEADER = re.compile(
    rb"^(?P<cast>Uni|Multi)cast m?lids \[0x[0-9a-fA-F]{1,16}-0x[0-9a-fA-F]{1,16}\] of switch (?P<switch>.*)$",
    re.MULTILINE,
)
#: What may follow the words about a switch in the head of its table.
SWITCH_GUID = re.compile(rb"guid 0x(?P<guid>[0-9a-fA-F]{1,16})(?: \((?P<name>.*)\))?")
ROW = re.compile(rb"^0x([0-9a-fA-F]{1,4})[ \t]+([0-9]{1,3}|[?-]+|UNREACHABLE)(?=[ \t\r:\n]|$)", re.MULTILINE)
PORT_GUID = re.compile(rb"portguid 0x([0-9a-fA-F]{1,16})\b")
ANY_ROW = re.compile(rb"^0x", re.MULTILINE)
COUNT = re.compile(rb"^([0-9]{1,9}) valid lids dumped", re.MULTILINE)
SWITCH_LID = re.compile(rb"Lid ([0-9]{1,5})\b")

#: No port: the address is not reachable from this switch.
NO_PORT = 255


@frozen
class DoubtfulRow:
    """A row whose LID stands in several rows of its table, and the port GUID of the receiver beside it."""

    line: int
    lid: int
    port: int
    guid: int


@frozen(eq=False)
class SwitchTable:
    """Where one switch sends each address."""

    guid: int  # of the switch; 0 when the header has none, then `lid` tells which switch it is
    lid: int  # of the switch; 0 when the header has none
    name: str
    path: str  # where the table begins
    line: int
    lids: Int64  # int64[rows]: Addresses listed
    ports: UInt8  # uint8[rows]: Port they leave by; 0 = this switch itself, 255 = none
    doubtful: tuple[DoubtfulRow, ...] = ()  # rows that are not among `lids`, since another has the same LID


def is_tables(head: str) -> bool:
    """Tell whether a file that begins like this holds forwarding tables."""
    return HEADER.search(head.encode("utf-8", "replace")) is not None


def read_tables(path: str) -> list[SwitchTable]:
    """Read the unicast forwarding tables in a file; multicast tables are skipped."""
    text = read_bytes(path)
    headers = list(HEADER.finditer(text))
    if not headers:
        raise FormatError(path, None, "no forwarding table, expected 'Unicast lids [0x0-0x…] of switch …'")
    lines_before = 1
    tables = []
    for number, header in enumerate(headers):
        lines_before += text.count(b"\n", headers[number - 1].start() if number else 0, header.start())
        end = headers[number + 1].start() if number + 1 < len(headers) else len(text)
        if header["cast"] == b"Uni":
            tables.append(_table(path, text[header.start() : end], header, lines_before))
    return tables


def _table(path: str, text: bytes, header: re.Match[bytes], line: int) -> SwitchTable:
    switch = header["switch"].rstrip(b" \t\r").removesuffix(b":")
    begin = switch.find(b"guid 0x")
    about = None if begin < 0 else SWITCH_GUID.fullmatch(switch, begin)
    switch = switch[:begin] if about else switch
    lid = SWITCH_LID.match(switch)
    name = ((about and about["name"]) or switch).decode("utf-8", "replace").strip()
    guid = int(about["guid"], 16) if about else 0
    if not guid and lid is None:
        raise FormatError(path, line, "a table of a switch without LID and GUID, expected one of them")
    rows = ROW.findall(text)
    if len(rows) != len(ANY_ROW.findall(text)):
        _raise_bad_row(path, text, line)
    lids = np.array([int(row[0], 16) for row in rows], np.int64)
    ports = np.array([int(row[1]) if row[1].isdigit() else NO_PORT for row in rows], np.int64)
    if len(ports) and int(ports.max()) > NO_PORT:
        row = int(ports.argmax())
        raise FormatError(path, _line_of_row(text, line, row), f"port {ports[row]}, expected at most 254")
    count = COUNT.search(text)
    if count is not None and int(count[1]) != len(rows):
        what = f"{int(count[1])} valid lids by the table's own count, but {len(rows)} rows: is the file cut?"
        raise FormatError(path, line + text.count(b"\n", 0, count.start()), what)
    repeated = (np.bincount(lids, minlength=1) > 1)[lids]
    doubtful = _doubtful(path, text, line, lids, ports, repeated)
    return SwitchTable(
        guid, int(lid[1]) if lid else 0, name, path, line, lids[~repeated],
        ports[~repeated].astype(np.uint8), doubtful,
    )


def _doubtful(
    path: str, text: bytes, line: int, lids: Int64, ports: Int64, repeated: Bool
) -> tuple[DoubtfulRow, ...]:
    """Rows with LIDs that stand in several rows; each has to say whose address it is by the GUID."""
    if not repeated.any():
        return ()
    starts = [found.start() for found in ROW.finditer(text)]
    rows = []
    for row in np.flatnonzero(repeated).tolist():
        end = text.find(b"\n", starts[row])
        guid = PORT_GUID.search(text, starts[row], len(text) if end < 0 else end)
        at = _line_of_row(text, line, row)
        if guid is None:
            what = f"LID 0x{lids[row]:04x} in several rows of one table, this one without a port GUID"
            raise FormatError(path, at, f"{what}, expected each once")
        rows.append(DoubtfulRow(at, int(lids[row]), int(ports[row]), int(guid[1], 16)))
    return tuple(rows)


def _line_of_row(text: bytes, line: int, row: int) -> int:
    starts = [found.start() for found in ROW.finditer(text)]
    return line + text.count(b"\n", 0, starts[row])


def _raise_bad_row(path: str, text: bytes, line: int) -> None:
    for offset, row in enumerate(text.split(b"\n")):
        if row.startswith(b"0x") and not ROW.match(row):
            shown = row[:40].decode("ascii", "backslashreplace")
            raise FormatError(path, line + offset, f"{shown!r}, expected a row like '0x0001 025 : (…)'")


def restored_tables(survey: Survey, tables: Sequence[SwitchTable]) -> tuple[list[SwitchTable], list[str]]:
    """Give rows whose LID stands in several rows of a table the LID that belongs to their port GUID."""
    if not any(table.doubtful for table in tables):
        return list(tables), []
    owners = {device.guid: device for device in survey.devices.values() if device.guid and device.lid}
    done, notices = [], []
    for table in tables:
        if table.doubtful:
            first = table.doubtful[0]
            notices.append(
                f"{table.path}:{first.line}: LID 0x{first.lid:04x} stands in several rows: "
                f"the addresses of {len(table.doubtful)} rows were taken from their port GUIDs"
            )
        done.append(_restored(table, owners))
    return done, notices


def _restored(table: SwitchTable, owners: dict[int, Device]) -> SwitchTable:
    ports = dict(zip(table.lids.tolist(), table.ports.tolist(), strict=True))
    for row in table.doubtful:
        lid = _lid_of(table, row, owners)
        if ports.setdefault(lid, row.port) != row.port:
            what = f"LID 0x{lid:04x} (port GUID 0x{row.guid:016x}) leaves by port {row.port}"
            raise FormatError(table.path, row.line, f"{what}, but by port {ports[lid]} in another row")
    lids = np.array(list(ports), np.int64)
    return dataclasses.replace(table, lids=lids, ports=np.array(list(ports.values()), np.uint8), doubtful=())


def _lid_of(table: SwitchTable, row: DoubtfulRow, owners: dict[int, Device]) -> int:
    owner = owners.get(row.guid)
    if owner is None or owner.lmc:
        why = "is not in the discovery file" if owner is None else f"has {2**owner.lmc} addresses"
        what = f"LID 0x{row.lid:04x} stands in several rows of the table, and port GUID 0x{row.guid:016x}"
        wanted = "expected each LID once: run ibroute again, or take routes=shortest"
        raise FormatError(table.path, row.line, f"{what} of this one {why}, {wanted}")
    return owner.lid


_GUID = r"\{0x(?P<guid>[0-9a-fA-F]{1,16})\}"
_LID = r'(?: lid (?P<lid>[0-9]{1,5})-[0-9]{1,5} ".*")?'
END = re.compile(
    r"(?P<which>From|To) (?:[a-z? ]+ )?" + _GUID + r"(?: portnum [0-9]+|\[[0-9]+\])" + _LID, re.ASCII
)
HOP = re.compile(
    r"\[(?P<out>[0-9]{1,3})\] -> (?:[a-z? ]+ port )?" + _GUID + r"\[(?P<into>[0-9]{1,3})\]" + _LID, re.ASCII
)


def is_traces(head: str) -> bool:
    """Tell whether a file that begins like this is the output of ibtracert."""
    first = next((line for line in head.split("\n") if line.strip() and not line.startswith("#")), "")
    return END.fullmatch(first.strip()) is not None


def read_traces(paths: Sequence[str], survey: Survey) -> list[SwitchTable]:
    """Return a table for every switch, with the addresses that traced routes lead to."""
    tracer = _Tracer(survey)
    for path in paths:
        tracer.read(path)
    return tracer.tables(paths[0])


class _Tracer:
    """The devices and cables of a fabric, and where the traces so far leave each switch."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        devices = survey.devices.values()
        self._by_guid = {device.guid: device for device in devices if device.guid}
        self._by_node = {device.node_guid: device for device in devices if device.node_guid}
        self._by_lid = {device.lid: device for device in devices if device.lid}
        #: For each switch and target: the port, and the line that says so.
        self._ports: dict[tuple[str, str], tuple[int, str]] = {}

    def read(self, path: str) -> None:
        """Read all traces of a file, each from its line 'From' to its line 'To'."""
        hops: list[tuple[int, Device, int]] | None = None  # line number, device, port it leaves by
        at: Device | None = None
        number = 0
        for number, text in enumerate(read_lines(path), start=1):
            line = text.strip()
            if not line or line.startswith("#"):
                continue
            end, hop = END.fullmatch(line), HOP.fullmatch(line)
            if end is not None and (end["which"] == "From") == (hops is None):
                device = self._end(path, number, end)
                if hops is None:
                    # Without a LID the port of an adapter is not known, only the adapter.
                    hops, at = [], device if end["lid"] or (device and device.is_switch) else None
                else:
                    self._keep(path, hops, at, number, device)
                    hops = None
            elif hop is not None and hops is not None:
                near, at = self._hop(path, number, at, hop)
                hops.append((number, near, int(hop["out"])))
            else:
                wanted = "a line 'From …'" if hops is None else "'[port] -> …' or 'To …'"
                raise FormatError(path, number, f"{line[:60]!r}, expected {wanted} of ibtracert")
        if hops is not None:
            raise FormatError(path, number, "a route without its line 'To …': is the file cut?")

    def tables(self, path: str) -> list[SwitchTable]:
        """Return the table of every switch of the fabric; `path` is named as their origin."""
        targets = {device.key: device for device in self._survey.devices.values()}
        rows: dict[str, dict[int, int]] = {key: {} for key, device in targets.items() if device.is_switch}
        for (switch, target), (port, _) in self._ports.items():
            first = targets[target].lid
            for lid in range(first, first + 2 ** targets[target].lmc) if first else ():
                rows[switch][lid] = port
        return [
            SwitchTable(
                targets[key].guid, targets[key].lid, targets[key].name, path, 1,
                np.array(list(ports), np.int64), np.array(list(ports.values()), np.int64).astype(np.uint8),
            )
            for key, ports in rows.items()
        ]

    def _end(self, path: str, number: int, found: re.Match[str]) -> Device | None:
        """Return the device at an end; None if only the GUIDs of ports are known, and the line has no LID."""
        ports_only = any(not device.node_guid for device in self._survey.devices.values())
        return self._device(path, number, found) if found["lid"] or not ports_only else None

    def _device(self, path: str, number: int, found: re.Match[str]) -> Device:
        """Return the device of a line, found by LID, or by GUID in the simple form."""
        guid, lid = int(found["guid"], 16), int(found["lid"] or 0)
        device = self._by_lid.get(lid) if lid else self._by_guid.get(guid) or self._by_node.get(guid)
        # A line about an end has the GUID of the node, a line about a hop that of the port. Simulators
        # number the ports of adapters in more than one way, so that only the LID counts there.
        doubtful = "into" in found.groupdict() and device is not None and not device.is_switch
        known = device is not None and (not device.node_guid or guid in {device.guid, device.node_guid})
        if device is None or not (known or doubtful):
            what = f"GUID 0x{guid:016x}" + (f", LID {lid}" if lid else "")
            raise FormatError(
                path, number, f"{what} is not in {self._survey.path}: is the route of another fabric?"
            )
        return device

    def _hop(self, path: str, number: int, at: Device | None, hop: re.Match[str]) -> tuple[Device, Device]:
        """Return both devices of a hop, after a check that a cable leads from the one to the other."""
        far, into, out = self._device(path, number, hop), int(hop["into"]), int(hop["out"])
        end = self._survey.ends.get((far.key, into))  # cables are listed from both ends
        near = self._survey.devices.get(end.far) if end is not None else None
        if end is None or near is None or end.far_port != out or (at is not None and near is not at):
            what = f"no cable of {self._survey.path} leads from port {out} to port {into} of {far.name!r}"
            raise FormatError(path, number, f"{what}: is the route of another fabric?")
        return near, far

    def _keep(
        self, path: str, hops: list[tuple[int, Device, int]], last: Device | None, number: int,
        target: Device | None,
    ) -> None:
        """Note by which port each switch of a route leads to its target."""
        if last is None:
            return
        if target and last.node_guid != target.node_guid:
            raise FormatError(path, number, f"the route ends at {last.name!r}, expected {target.name!r}")
        for line_number, near, port in hops:
            if not near.is_switch:
                continue
            here = f"{path}:{line_number}"
            before, where = self._ports.setdefault((near.key, last.key), (port, here))
            if before != port:
                what = f"port {port} of {near.name!r} to {last.name!r}, but port {before} at {where}"
                raise FormatError(path, line_number, what)
