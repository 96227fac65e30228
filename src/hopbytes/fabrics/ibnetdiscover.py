"""The default output of ibnetdiscover: blocks of switches and adapters with a line per cable.

The network files of ibsim are a subset (free names, no addresses, ``w=4`` for the width) and are read too.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from hopbytes.fabrics.rates import rate_of
from hopbytes.fabrics.survey import Device, End, Survey
from hopbytes.text.lines import read_lines

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


def is_mine(head: str) -> bool:
    """Tell whether a file that begins like this is in the default form."""
    return any(HEADER.match(line) for line in head.split("\n"))


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

