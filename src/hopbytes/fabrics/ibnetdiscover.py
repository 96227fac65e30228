"""The default output of ibnetdiscover: blocks of switches and adapters with a line per cable.

The network files of ibsim are a subset (free names, no addresses, ``w=4`` for the width) and are read too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple, NoReturn

from hopbytes.errors import FormatError
from hopbytes.text.lines import read_lines

#: Data rate of one lane in bit/s after the line code, by speed name.
#:
#: SDR, DDR and QDR signal 2.5, 5 and 10 Gbit/s with 8b/10b; FDR10, FDR and EDR signal 10.3125, 14.0625 and
#: 25.78125 Gbit/s with 64b/66b; from HDR on (PAM4: 53.125, 106.25 and 212.5 Gbit/s) forward error
#: correction and 256b/257b leave 50, 100 and 200 Gbit/s. Source: InfiniBand Architecture
#: Specification, volume 2, link speeds.
LANE_BITS_PER_SECOND = {
    "SDR": Fraction(2_000_000_000), "DDR": Fraction(4_000_000_000), "QDR": Fraction(8_000_000_000),
    "FDR10": Fraction(10_312_500_000) * Fraction(64, 66), "FDR": Fraction(14_062_500_000) * Fraction(64, 66),
    "EDR": Fraction(25_781_250_000) * Fraction(64, 66), "HDR": Fraction(50_000_000_000),
    "NDR": Fraction(100_000_000_000), "XDR": Fraction(200_000_000_000),
}  # fmt: skip
WIDTHS = (1, 2, 4, 8, 12)
RATE = re.compile(r"(?<!\S)([0-9]{1,2})x ?([A-Z][A-Z0-9]{1,5}|\?+)(?!\S)", re.ASCII)


def bytes_per_second(width: int, speed: str) -> int | None:
    """Return the rate of a cable in one direction, in whole bytes per second (rounded down)."""
    lane = LANE_BITS_PER_SECOND.get(speed)
    if lane is None or width not in WIDTHS:
        return None
    return int(width * lane / 8)


def rate_of(text: str) -> int | None:
    """Return bytes per second of the last rate in a text like ``lid 647 4xNDR``; None without one."""
    found = list(RATE.finditer(text))
    return bytes_per_second(int(found[-1][1]), found[-1][2]) if found else None


#: Ends of cables, counted twice as the tools list them: more than any fabric that was ever built.
MAX_ENDS = 2**24


@dataclass(slots=True)
class Device:
    """A switch, or one port of an adapter."""

    key: str  # what the file calls it; unique within the file
    is_switch: bool
    name: str = ""  # node description
    guid: int = 0  # node GUID of a switch, port GUID of an adapter; 0 when the file has none
    node_guid: int = 0  # GUID of the adapter the port belongs to; 0 when the file has none
    port: int = 0  # port number on the adapter, 0 for a switch
    lid: int = 0  # the device owns the 2**lmc addresses from `lid` on; lid 0 = unknown
    lmc: int = 0
    line: int = 0  # where the file describes it; 0 = only mentioned so far


@dataclass(slots=True)
class End:
    """One end of a cable as the file lists it: from this port of this device to that one."""

    near: str
    near_port: int
    far: str
    far_port: int
    rate: int | None
    line: int

    def __str__(self) -> str:
        return f"port {self.near_port} of {self.near!r} leads to port {self.far_port} of {self.far!r}"


@dataclass(slots=True)
class Survey:
    """Everything a discovery file says."""

    path: str  # for messages
    devices: dict[str, Device] = field(default_factory=dict)  # in the order of the file
    ends: dict[tuple[str, int], End] = field(default_factory=dict)
    #: what was left out, and how often: aggregation nodes, routers
    dropped: dict[str, int] = field(default_factory=dict)
    #: lines of cables that the file lists from one end only
    one_sided: list[int] = field(default_factory=list)

    def plug(self, end: End) -> None:
        other = self.ends.get((end.near, end.near_port))
        if other is not None and (other.far, other.far_port) != (end.far, end.far_port):
            what = f"line {other.line} leads it to port {other.far_port} of {other.far!r}"
            self.fail(end.line, f"{end}, but {what}")
        if len(self.ends) >= MAX_ENDS:
            self.fail(end.line, f"more than {MAX_ENDS} ends of cables")
        self.ends[end.near, end.near_port] = end

    def drop(self, keys: set[str], what: str) -> None:
        if keys:
            self.dropped[what] = self.dropped.get(what, 0) + len(keys)
            self.devices = {key: device for key, device in self.devices.items() if key not in keys}
            self.ends = {
                place: end for place, end in self.ends.items() if end.near not in keys and end.far not in keys
            }

    def close(self) -> None:
        """Check that both ends of every cable agree, and list the ends that the file left out."""
        for end in list(self.ends.values()):
            if end.far not in self.devices or not self.devices[end.far].line:
                self.fail(end.line, f"a cable to {end.far!r}, which is never described: is the file cut?")
            back = self.ends.get((end.far, end.far_port))
            if back is None:
                self.one_sided.append(end.line)
                back = End(end.far, end.far_port, end.near, end.near_port, end.rate, end.line)
                self.ends[end.far, end.far_port] = back
            if (back.far, back.far_port) != (end.near, end.near_port):
                what = f"line {back.line} leads that one to port {back.far_port} of {back.far!r}"
                self.fail(end.line, f"{end}, but {what}")
            if (end.far, end.far_port) == (end.near, end.near_port):
                self.fail(end.line, f"port {end.near_port} of {end.near!r} is connected to itself")
        if not any(not device.is_switch for device in self.devices.values()):
            self.fail(None, "no adapter, expected at least one (the output of ibnetdiscover)")
        if not self.ends:
            self.fail(None, "no cable, expected at least one (the output of ibnetdiscover)")

    def fail(self, line: int | None, what: str) -> NoReturn:
        raise FormatError(self.path, line, what)


HEADER = re.compile(
    r'(?P<type>Switch|Ca|Hca|Rt)\s+[0-9]{1,4}\s+"(?P<key>[^"]{1,200})"\s*'
    r'(?:#\s*"(?P<name>.*)"(?P<rest>[^"]*))?(?:#.*)?',
    re.ASCII,
)
GUID = r"(?:\((?:0x)?(?P<{}>[0-9a-fA-F]{{1,16}})\))?"
CABLE = re.compile(
    r"\[(?P<near>[0-9]{1,4})\](?:\[ext [0-9]+\])?" + GUID.format("near_guid")
    + r'\s*"(?P<far_key>[^"]{1,200})"\s*\[(?P<far>[0-9]{1,4})\](?:\[ext [0-9]+\])?' + GUID.format("far_guid")
    + r"\s*(?P<rest>[^#]*)(?:#(?P<note>.*))?",
    re.ASCII,
)
LID = re.compile(r"\blid ([0-9]{1,6})\b", re.ASCII)
LMC = re.compile(r"\blmc ([0-9]{1,2})\b", re.ASCII)
KEY_GUID = re.compile(r"[SHR]-([0-9a-fA-F]{1,16})", re.ASCII)
HEADER_WORD = re.compile(r"(?:Switch|Ca|Hca|Rt)\b", re.ASCII)
WIDTH = re.compile(r"\bw=(1|4|8|12)\b", re.ASCII)

#: Descriptions of aggregation nodes inside switches (in-network reduction), which are no hosts.
AGGREGATION = "Aggregation Node"
LARGEST_LMC = 7


class _Block(NamedTuple):
    """The header that the cable lines below it belong to."""

    type: str
    key: str
    name: str
    line: int


def read_ibnetdiscover(path: str) -> Survey:
    """Read the default form of ibnetdiscover, or a network file of ibsim."""
    survey = Survey(path)
    lines = read_lines(path)
    # A cable line does not say to what kind of device it leads; that header may come later in the file.
    headers = (HEADER.fullmatch(line.strip()) for line in lines if HEADER_WORD.match(line.lstrip()))
    switches = {found["key"] for found in headers if found and found["type"] == "Switch"}
    described: dict[str, int] = {}
    not_hosts: set[str] = set()
    routers: set[str] = set()
    block: _Block | None = None
    for number, text in enumerate(lines, start=1):
        line = text.strip()
        if HEADER_WORD.match(line):
            block = _header(survey, line, number, described)
        elif line.startswith("["):
            if block is None:
                survey.fail(number, f"{line[:60]!r} before any Switch or Ca, expected a header above it")
            key = _cable(survey, block, line, number, switches)
            if block.type == "Rt":
                routers.add(key)
            elif AGGREGATION in block.name:
                not_hosts.add(key)
    survey.drop(not_hosts, "aggregation node")
    survey.drop(routers, "router")
    survey.close()
    return survey


def _header(survey: Survey, line: str, number: int, described: dict[str, int]) -> _Block:
    found = HEADER.fullmatch(line)
    if found is None:
        survey.fail(number, f'{line[:60]!r}, expected a header like Switch 36 "S-…" # "name" … lid 1 lmc 0')
    key, name, rest = found["key"], found["name"] or "", found["rest"] or ""
    if key in described:
        survey.fail(number, f"{found['type']} {key!r} a second time, first at line {described[key]}")
    described[key] = number
    if found["type"] == "Switch":
        guid = KEY_GUID.fullmatch(key)
        device = survey.devices.setdefault(key, Device(key, True))
        if not device.is_switch:
            survey.fail(number, f"switch {key!r} was an adapter above")
        device.name, device.line = name or key, number
        device.guid = device.node_guid = int(guid[1], 16) if guid else 0
        device.lid, device.lmc = _address(survey, rest, number)
    return _Block(found["type"], key, name, number)


def _address(survey: Survey, text: str, number: int) -> tuple[int, int]:
    lid, lmc = LID.search(text), LMC.search(text)
    first, bits = int(lid[1]) if lid else 0, int(lmc[1]) if lmc else 0
    if first + 2 ** min(bits, LARGEST_LMC) > 2**16 or bits > LARGEST_LMC:
        survey.fail(number, f"lid {first} lmc {bits}, expected lid < 65536 and lmc <= {LARGEST_LMC}")
    return first, bits


def _cable(survey: Survey, block: _Block, line: str, number: int, switches: set[str]) -> str:
    """Add the cable of a line; returns the key of the device it starts from."""
    found = CABLE.fullmatch(line)
    if found is None:
        survey.fail(number, f'{line[:60]!r}, expected a cable like [1] "S-…"[2] # "name" lid 3 4xNDR')
    near_port, far_port = int(found["near"]), int(found["far"])
    note = found["note"] or ""
    rate = rate_of(note.rpartition('"')[2])
    key = block.key
    if block.type != "Switch":
        key = f"{block.key}[{near_port}]"
        port = survey.devices.setdefault(key, Device(key, False))
        port.name, port.port, port.line = block.name or block.key, near_port, number
        node = KEY_GUID.fullmatch(block.key)
        port.node_guid = int(node[1], 16) if node else 0
        port.guid = int(found["near_guid"], 16) if found["near_guid"] else port.guid
        port.lid, port.lmc = _address(survey, note.partition('"')[0], number)
    far = found["far_key"]
    if far not in switches and not far.startswith("S-"):
        far = f"{far}[{far_port}]"
    survey.plug(End(key, near_port, far, far_port, rate, number))
    return key


KIND = (
    r"(?P<{0}kind>CA|SW|RT)\s+(?P<{0}lid>[0-9]{{1,5}})\s+(?P<{0}port>[0-9]{{1,3}})\s+"
    r"0x(?P<{0}guid>[0-9a-fA-F]{{1,16}})"
)
LINE = re.compile(
    KIND.format("") + r"\s+(?P<width>[0-9]{1,2})x\s*(?P<speed>\S+)\s+"
    r"(?:-\s+" + KIND.format("far_") + r"\s+\(\s*'(?P<names>.*)'\s*\)"
    r"|'(?P<alone>.*)')",
    re.ASCII,
)
BETWEEN_NAMES = re.compile(r"'\s+-\s+'")
#: A verbose report may begin with more of these than the head of the file shows.
NOISE = re.compile(r"DR path .* -> (?:new|known) ")
FIRST_WORD = re.compile(r"(?:CA|SW|RT)\s+[0-9]", re.ASCII)


def is_discovery(head: str) -> bool:
    """Tell whether a file that begins like this is in either form."""
    return _is_ports_report(head) or any(HEADER.match(line) for line in head.split("\n"))


def _is_ports_report(head: str) -> bool:
    return any(LINE.fullmatch(line.strip()) or NOISE.match(line) for line in head.split("\n"))


def read_survey(path: str, head: str) -> Survey:
    """Read a file of either form that begins like `head`."""
    return read_ibports(path) if _is_ports_report(head) else read_ibnetdiscover(path)


def read_ibports(path: str) -> Survey:
    """Read the ports report of ibnetdiscover."""
    survey = Survey(path)
    listed: dict[tuple[str, int], int] = {}
    for number, text in enumerate(read_lines(path), start=1):
        line = text.strip()
        if not FIRST_WORD.match(line):
            continue
        found = LINE.fullmatch(line)
        names = None if found is None else _names(found)
        if found is None or names is None:
            what = "type, LID, port, GUID, width and speed of a port, and its peer"
            survey.fail(number, f"{line[:60]!r}, expected {what}")
        near = _device(survey, found, "", names[0], number)
        port = int(found["port"])
        if (near, port) in listed:
            survey.fail(number, f"port {port} of {near} a second time, first at line {listed[near, port]}")
        listed[near, port] = number
        if found["far_kind"] is not None:
            far = _device(survey, found, "far_", names[1], number)
            rate = bytes_per_second(int(found["width"]), found["speed"])
            survey.plug(End(near, port, far, int(found["far_port"]), rate, number))
    survey.drop({k for k, device in survey.devices.items() if AGGREGATION in device.name}, "aggregation node")
    survey.drop({key for key in survey.devices if key.startswith("RT")}, "router")
    survey.close()
    return survey


def _names(found: re.Match[str]) -> tuple[str, str] | None:
    """Return the names of both ends, the second one empty where there is no cable; None for other words."""
    if found["names"] is None:
        return found["alone"], ""
    *_, last = None, *BETWEEN_NAMES.finditer(found["names"])
    return None if last is None else (last.string[: last.start()], last.string[last.end() :])


def _device(survey: Survey, found: re.Match[str], side: str, name: str, number: int) -> str:
    """Note the device at one side of a line; returns its key."""
    kind, guid, lid = found[f"{side}kind"], int(found[f"{side}guid"], 16), int(found[f"{side}lid"])
    key = f"{kind} 0x{guid:016x}"
    if lid >= 2**16:
        survey.fail(number, f"LID {lid}, expected at most 65535")
    port = 0 if kind == "SW" else int(found[f"{side}port"])
    device = survey.devices.get(key)
    if device is None:
        node = guid if kind == "SW" else 0
        device = Device(key, kind == "SW", name, guid, node, port, lid, 0, number)
        survey.devices[key] = device
    if device.lid != lid:
        survey.fail(number, f"{key} has LID {lid}, but LID {device.lid} at line {device.line}")
    if device.port != port:
        survey.fail(number, f"{key} is port {port}, but port {device.port} at line {device.line}")
    return key
