"""``hwloc:FILE[@hosts]``: nodes as hwloc describes them, one file for all or several for unlike nodes."""

from __future__ import annotations

import os

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError
from hopbytes.machines.base import machines
from hopbytes.machines.common.node_machine import NodeMachine, check_names, cut_overrides
from hopbytes.machines.node.hwloc_file import read_hwloc
from hopbytes.machines.node.inventory import NodeInventory
from hopbytes.text.hostlist import expand_hosts


@machines.register("hwloc")
@frozen(eq=False)
class Hwloc(NodeMachine):
    """Nodes from hwloc XML files (1.x, 2.x and 3.x; read without libhwloc).

    ``hwloc:node.xml`` is one node, ``hwloc:node.xml@n[1-8]`` eight of them, and
    ``hwloc:a.xml@n[1-8],hwloc:b.xml@n[9-16]`` unlike nodes. Distances may follow: ``hwloc:node.xml:l3=3``.

    Examples
    --------
    >>> import hopbytes as hb
    >>> hb.allocate("hwloc:node.xml@n[1-2]").k  # doctest: +SKIP
    16
    """

    @classmethod
    def parse(cls, text: str) -> Hwloc:
        """Read the files named in what follows ``hwloc:``."""
        body, replaced = cut_overrides(text)
        trees, hosts = [], []
        parts = body.split(",hwloc:")
        for part in parts:
            path, names = file_and_hosts(part)
            if not path:
                raise FormatError("machine", None, "hwloc: without a file name, expected hwloc:FILE[@hosts]")
            if len(parts) > 1 and not names:
                what = f"hwloc:{path[:60]} without hosts, expected hwloc:FILE@n[1-8] where there are several"
                raise FormatError("machine", None, what)
            tree = read_hwloc(path)
            trees += [tree] * max(1, len(names))
            hosts += names
        check_names(hosts, "machine")
        return cls(f"hwloc:{body}", NodeInventory.of(trees), tuple(hosts), replaced)


def file_and_hosts(part: str) -> tuple[str, list[str]]:
    """Split ``FILE@hosts``; a file that exists may have an ``@`` in its name."""
    path, at, names = part.rpartition("@")
    if not at or os.path.exists(part):
        return part, []
    return path, expand_hosts(names, "machine")
