"""Traced routes of an InfiniBand fabric: the output of ibtracert, with names or in its simple form (-n)."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from hopbytes.errors import FormatError
from hopbytes.fabrics.ibnetdiscover import Device, Survey
from hopbytes.fabrics.ibtables import SwitchTable
from hopbytes.text.lines import read_lines

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

    def _hop(
        self, path: str, number: int, at: Device | None, hop: re.Match[str]
    ) -> tuple[Device, Device]:
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
