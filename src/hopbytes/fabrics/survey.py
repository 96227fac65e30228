"""What a discovery tool found: switches, adapter ports and the cables between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from hopbytes.errors import FormatError

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
        """Add one end of a cable."""
        other = self.ends.get((end.near, end.near_port))
        if other is not None and (other.far, other.far_port) != (end.far, end.far_port):
            self.fail(
                end.line,
                f"port {end.near_port} of {end.near!r} leads to port {end.far_port} of {end.far!r}, "
                f"but line {other.line} leads it to port {other.far_port} of {other.far!r}",
            )
        if len(self.ends) >= MAX_ENDS:
            self.fail(end.line, f"more than {MAX_ENDS} ends of cables")
        self.ends[end.near, end.near_port] = end

    def drop(self, keys: set[str], what: str) -> None:
        """Leave devices out, with their cables."""
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
                self.fail(
                    end.line,
                    f"port {end.near_port} of {end.near!r} leads to port {end.far_port} of {end.far!r}, "
                    f"but line {back.line} leads that one to port {back.far_port} of {back.far!r}",
                )
            if (end.far, end.far_port) == (end.near, end.near_port):
                self.fail(end.line, f"port {end.near_port} of {end.near!r} is connected to itself")
        if not any(not device.is_switch for device in self.devices.values()):
            self.fail(None, "no adapter, expected at least one (the output of ibnetdiscover)")

    def fail(self, line: int | None, what: str) -> NoReturn:
        """Raise the error for a line of this file."""
        raise FormatError(self.path, line, what)
