"""Cray systems by the coordinates of their nodes."""

from __future__ import annotations

from dataclasses import replace

from hopbytes.errors import FormatError
from hopbytes.fabrics.coordinate_files import Coordinates, read_xtdb2proc, sorted_by_place
from hopbytes.fabrics.switch_tree import Switch, SwitchTree
from hopbytes.machines.base import Machine, machines
from hopbytes.machines.common.file_spec import file_spec
from hopbytes.machines.common.named_tree import NamedTree, keep
from hopbytes.machines.kinds.coordinates import on_torus, torus_options
from hopbytes.machines.kinds.slurm import tree_options

KEYS = {
    "system": "aries|gemini", "dims": "24x24x24", "wrap": "1x1x1", "bw": "9375x4680x9375", "hosts": "n[1-8]",
    "LEVEL": "60",
}
GEMINI_NODES = 2


@machines.register("xtdb2proc")
class CrayNodes(NamedTree):
    """Compute nodes of a Cray as ``xtdb2proc`` lists them: ``xtdb2proc:FILE``.

    On Aries (XC) nodes lie below routers, chassis and two-cabinet groups: a tree of these levels, since
    the links between groups are not known. On Gemini (XE, XK) two nodes share a router of a 3-D torus: hosts
    on ``torus:XxYxZ``, with ``dims``, ``wrap`` and ``bw`` as there. ``system=`` says which; without it at
    most two nodes per router mean Gemini. ``hosts=`` (or ``@nid[00001-00008]``) keeps some nodes.
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Machine:
        """Read ``FILE[:key=value…][@hosts or @distance per hop]``."""
        spec = file_spec("xtdb2proc", text, KEYS)
        found = read_xtdb2proc(spec.path)
        system = spec.options.get("system", _guess(found))
        if system == "gemini":
            return on_torus("xtdb2proc", spec, found)
        if system != "aries":
            raise FormatError("machine", None, f"xtdb2proc: system={system[:20]!r}, expected aries or gemini")
        if torus_options(spec):
            what = ", ".join(torus_options(spec))
            raise FormatError("machine", None, f"xtdb2proc: {what} on Aries, expected it with system=gemini")
        text, distances = tree_options("xtdb2proc", spec)
        tree = keep(_aries(spec.path, found), spec.options.get("hosts"))
        machine = cls.from_levels(text, tree.leveled(), distances)
        return replace(machine, warnings=(*found.notices, *machine.warnings))


def _guess(found: Coordinates) -> str:
    counts: dict[tuple[int, ...], int] = {}
    for place in found.places:
        counts[place] = counts.get(place, 0) + 1
    return "aries" if max(counts.values()) > GEMINI_NODES else "gemini"


def _aries(path: str, found: Coordinates) -> SwitchTree:
    """Return groups of chassis of routers; names say where they are, order is that of their coordinates."""
    tree = SwitchTree(path, level_names=("router", "chassis", "group"))
    hosts: dict[tuple[int, ...], list[str]] = {}
    ordered = sorted_by_place(found)
    for host, place in zip(ordered.hosts, ordered.places, strict=True):
        hosts.setdefault(place, []).append(host)
    below: dict[tuple[int, ...], list[str]] = {}
    for place, names in hosts.items():
        name = "r" + ".".join(map(str, place))
        tree.add(Switch(name, None, [], names))
        below.setdefault(place[:2], []).append(name)
    chassis: dict[int, list[str]] = {}
    for (group, row), routers in below.items():
        tree.add(Switch(f"c{group}.{row}", None, routers))
        chassis.setdefault(group, []).append(f"c{group}.{row}")
    for group, names in chassis.items():
        tree.add(Switch(f"g{group}", None, names))
    tree.add(Switch("all", None, [f"g{group}" for group in chassis]))
    return tree
