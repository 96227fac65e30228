"""The ports report of ibnetdiscover (``-p``): one line per port and its peer."""

from __future__ import annotations

import re

from hopbytes.fabrics.ibnetdiscover import AGGREGATION
from hopbytes.fabrics.rates import bytes_per_second
from hopbytes.fabrics.survey import Device, End, Survey
from hopbytes.text.lines import read_lines

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


def is_mine(head: str) -> bool:
    """Tell whether a file that begins like this is a ports report."""
    return any(LINE.fullmatch(line.strip()) or NOISE.match(line) for line in head.split("\n"))


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
            survey.fail(
                number,
                f"{line[:60]!r}, expected type, LID, port, GUID, width and speed of a port, and its peer",
            )
        near = _device(survey, found, "", names[0], number)
        port = int(found["port"])
        if (near, port) in listed:
            survey.fail(number, f"port {port} of {near} a second time, first at line {listed[near, port]}")
        listed[near, port] = number
        if found["far_kind"] is not None:
            far = _device(survey, found, "far_", names[1], number)
            rate = bytes_per_second(int(found["width"]), found["speed"])
            survey.plug(End(near, port, far, int(found["far_port"]), rate, number))
    for what, keys in (
        ("aggregation node", {key for key, device in survey.devices.items() if AGGREGATION in device.name}),
        ("router", {key for key in survey.devices if key.startswith("RT")}),
    ):
        survey.drop(keys, what)
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
