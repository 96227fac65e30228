"""Writes small InfiniBand fabrics as the tools would print them, in both forms, with tables."""

from dataclasses import dataclass, field
from pathlib import Path

from hopbytes.errors import FormatError

SWITCH_GUID = 0x0002C90000001000
PORT_GUID = 0xE41D2D0000002000


@dataclass
class Plug:
    """One end of a cable."""

    device: str
    port: int


@dataclass
class FabricText:
    """Switches and hosts by name, cables between ports, and tables switch → LID → port."""

    switches: list[str] = field(default_factory=list)
    adapters: list[str] = field(default_factory=list)  # node descriptions, one port each
    cables: list[tuple[Plug, Plug, str]] = field(default_factory=list)
    tables: dict[str, dict[int, int]] = field(default_factory=dict)
    lmc: int = 0
    first_lid: int = 1

    def lid(self, name: str) -> int:
        if name in self.switches:
            return self.first_lid + self.switches.index(name)
        return self.first_lid + len(self.switches) + (self.adapters.index(name) << self.lmc)

    def guid(self, name: str) -> int:
        if name in self.switches:
            return SWITCH_GUID + 16 * self.switches.index(name)
        return PORT_GUID + 16 * self.adapters.index(name)

    def key(self, name: str) -> str:
        return f"{'S' if name in self.switches else 'H'}-{self.guid(name):016x}"

    def ends(self, name: str) -> list[tuple[int, Plug, str]]:
        found = []
        for one, other, rate in self.cables:
            for near, far in ((one, other), (other, one)):
                if near.device == name:
                    found.append((near.port, far, rate))
        return sorted(found, key=lambda end: end[0])

    def discovery(self) -> str:
        """The default form of ibnetdiscover."""
        lines = ["#", "# Topology file: generated on Mon Jan  5 10:00:00 2026", "#"]
        for name in self.switches:
            guid = self.guid(name)
            lines += [
                "",
                "vendid=0x2c9",
                "devid=0xd2f0",
                f"sysimgguid=0x{guid:x}",
                f"switchguid=0x{guid:x}({guid:x})",
                f'Switch\t40 "{self.key(name)}"\t\t# "{name}" enhanced port 0 lid {self.lid(name)} lmc 0',
            ]
            for port, far, rate in self.ends(name):
                at = f"({self.guid(far.device):x})" if far.device in self.adapters else ""
                lines.append(
                    f'[{port}]\t"{self.key(far.device)}"[{far.port}]{at} \t\t'
                    f'# "{far.device}" lid {self.lid(far.device)} {rate}'
                )
        for name in self.adapters:
            guid = self.guid(name)
            lines += [
                "",
                "vendid=0x2c9",
                "devid=0x101b",
                f"sysimgguid=0x{guid:x}",
                f"caguid=0x{guid:x}",
                f'Ca\t1 "{self.key(name)}"\t\t# "{name}"',
            ]
            for port, far, rate in self.ends(name):
                lines.append(
                    f'[{port}]({guid:x}) \t"{self.key(far.device)}"[{far.port}]\t\t'
                    f'# lid {self.lid(name)} lmc {self.lmc} "{far.device}" lid {self.lid(far.device)} {rate}'
                )
        return "\n".join(lines) + "\n"

    def ports(self) -> str:
        """The ports report (-p), with a line of discovery noise."""
        lines = ['DR path slid 0; dlid 0; 0 -> new Channel Adapter {0000000000000001} portnum 1 lid 0-0 ""']
        for name in (*self.switches, *self.adapters):
            for port, far, rate in self.ends(name):
                width, speed = rate.split("x")
                lines.append(
                    f"{self._side(name, port)} {width}x {speed} - {self._side(far.device, far.port)} "
                    f"( '{name}' - '{far.device}' )"
                )
            if name in self.switches:
                lines.append(f"{self._side(name, 39)} 4x ???{' ' * 36}'{name}'")
        return "\n".join(lines) + "\n"

    def _side(self, name: str, port: int) -> str:
        kind = "SW" if name in self.switches else "CA"
        return f"{kind} {self.lid(name):5} {port:2} 0x{self.guid(name):016x}"

    def table(self, switch: str, dump: bool) -> str:
        """One forwarding table as ibroute prints it, or as a block of dump_fts."""
        rows = self.tables[switch]
        where = "DR path slid 0; dlid 0; 0,1" if dump else f"Lid {self.lid(switch)}"
        lines = [
            f"Unicast lids [0x0-0x{max(rows, default=0):x}] of switch {where} "
            f"guid 0x{self.guid(switch):016x} ({switch}):",
            "  Lid  Out   Destination",
            "       Port     Info ",
        ]
        lines += [f"0x{lid:04x} {port:03} : (somewhere)" for lid, port in sorted(rows.items())]
        return "\n".join([*lines, f"{len(rows)} valid lids dumped "]) + "\n"

    def write(self, folder: Path, ports: bool = False) -> str:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "discovery.txt").write_text(self.ports() if ports else self.discovery())
        if not self.tables:
            return str(folder)
        if ports:
            (folder / "ibroutes").mkdir(exist_ok=True)
            for switch in self.switches:
                (folder / "ibroutes" / f"ibroute-{self.lid(switch)}.txt").write_text(
                    self.table(switch, False)
                )
        else:
            (folder / "dump_fts.txt").write_text("".join(self.table(name, True) for name in self.switches))
        return str(folder)


def two_level_fabric(
    leaves: int = 2, spines: int = 2, hosts: int = 4, parallel: int = 1, rails: int = 1, lmc: int = 0
) -> FabricText:
    """Leaves with hosts below and `parallel` cables to every spine; destinations spread over the cables.

    Host h of leaf g is ``n{g * hosts + h + 1}``. With several rails every host has an adapter on each of
    `rails` neighbouring leaves.
    """
    text = FabricText(
        [f"leaf{g + 1}" for g in range(leaves)] + [f"spine{s + 1}" for s in range(spines)], lmc=lmc
    )
    port_of: dict[str, tuple[int, int]] = {}
    next_port = [1] * leaves
    for g in range(leaves):
        for h in range(hosts):
            for rail in range(rails):
                leaf = (g + rail) % leaves
                name = f"n{g * hosts + h + 1} mlx5_{rail}"
                text.adapters.append(name)
                text.cables.append((Plug(f"leaf{leaf + 1}", next_port[leaf]), Plug(name, 1), "4xHDR"))
                port_of[name] = leaf, next_port[leaf]
                next_port[leaf] += 1
    up = {}
    for g in range(leaves):
        for s in range(spines):
            for cable in range(parallel):
                up[g, s, cable] = 30 + s * parallel + cable
                down = 1 + g * parallel + cable
                text.cables.append(
                    (Plug(f"leaf{g + 1}", up[g, s, cable]), Plug(f"spine{s + 1}", down), "4xHDR")
                )
    for switch in text.switches:
        text.tables[switch] = {text.lid(switch): 0}
    for name in text.adapters:
        leaf, port = port_of[name]
        for offset in range(2**lmc):
            lid = text.lid(name) + offset
            spine, cable = lid % spines, lid // spines % parallel
            for g in range(leaves):
                text.tables[f"leaf{g + 1}"][lid] = port if g == leaf else up[g, spine, cable]
            for s in range(spines):
                text.tables[f"spine{s + 1}"][lid] = 1 + leaf * parallel + cable
    return text


def device_of(fabric, number):
    """Return the device with a number: switches first, then adapters."""
    return (*fabric.switches, *fabric.adapters)[number]


def route(fabric, source, target):
    """Return the links a message follows from one adapter to another, step by step."""
    if source == target:
        return []
    switches = len(fabric.switches)
    links = [int(fabric.first_link()[source])]
    while links[-1] >= 0 and len(links) <= switches + 1:
        here = int(fabric.link_target[links[-1]])
        if here == switches + target:
            return links
        links.append(int(fabric.forward[here, target]) if here < switches else -1)
    ends = [fabric.adapters[number].name for number in (source, target)]
    raise FormatError("forwarding tables", None, f"messages from {ends[0]!r} to {ends[1]!r} never arrive")
