"""Forwarding tables of InfiniBand switches: the output of ibroute and dump_fts."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

import numpy as np

from hopbytes._arrays import Bool, Int64, UInt8
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError
from hopbytes.fabrics.ibnetdiscover import Device, Survey
from hopbytes.text.lines import read_bytes

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
