"""The network of a fabric that was read from files, routed by its tables or over all shortest paths."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.errors import UnsupportedError
from hopbytes.fabrics.fabric import Fabric
from hopbytes.fabrics.hosts import Host
from hopbytes.kernels.routes import RouteForm, distance_table
from hopbytes.machines.network.network import Network
from hopbytes.machines.network.wiring import Wiring

#: Entries of the table that all shortest paths need: one per vertex and adapter.
MAX_TABLE = 2**28


def fabric_network(fabric: Fabric, hosts: tuple[Host, ...], *, spread: bool = False) -> Network:
    """Return the network whose endpoints are the adapters of hosts, in their order.

    Adapters of no host and the links to them are left out; the other links keep their order.
    O(links + switches x endpoints).
    """
    if fabric.forward is None:
        raise UnsupportedError("the fabric has no forwarding tables, so its routes are not known")
    switches = len(fabric.switches)
    adapters = np.array([number for host in hosts for number in host.adapters], np.int64)
    vertex = np.full(switches + len(fabric.adapters), -1, np.int64)
    vertex[switches + adapters] = np.arange(len(adapters))
    vertex[:switches] = len(adapters) + np.arange(switches)
    source, target = vertex[fabric.link_source], vertex[fabric.link_target]
    kept = np.flatnonzero((source >= 0) & (target >= 0))
    owner = [number for number, host in enumerate(hosts) for _ in host.adapters]
    of_hosts = owner if len(owner) > len(hosts) else []  # nothing where every host has a single adapter
    vertices = len(adapters) + switches
    if spread:
        form = _all_shortest(source[kept], target[kept], len(adapters), vertices, of_hosts)
    else:
        number = np.full(fabric.n_links + 1, -1, np.int32)  # one more: -1 stays -1
        number[kept] = np.arange(len(kept))
        first = np.full(vertices, -1, np.int32)
        first[len(adapters) :] = np.arange(switches)
        from_adapter = np.flatnonzero(source[kept] < len(adapters))
        first[source[kept][from_adapter]] = -2 - from_adapter
        form = RouteForm(
            "forwarding",
            np.array([len(adapters), vertices, len(kept), *of_hosts], np.int64),
            np.ascontiguousarray(number[fabric.forward[:, adapters]]).reshape(-1),
            first,
            target[kept].astype(np.int32),
        )
    names = [f"{host.name} {label}" for host in hosts for label in host.adapter_names]
    names += [switch.name for switch in fabric.switches]

    def name_link(link: int) -> str:
        old = int(kept[link])
        ports = f"port {int(fabric.link_source_port[old])} to {int(fabric.link_target_port[old])}"
        return f"{names[int(source[old])]} -> {names[int(target[old])]} ({ports})"

    unit = "bytes/s" if int(fabric.link_capacity.max(initial=1)) > 1 else "as given"
    return Network(
        form, len(adapters), switches, np.ascontiguousarray(fabric.link_capacity[kept]), unit,
        name_link, names.__getitem__,
        lambda: Wiring(source[kept], target[kept], np.arange(len(adapters)), vertices),
    )


def _all_shortest(
    source: Int64, target: Int64, adapters: int, vertices: int, of_hosts: list[int]
) -> RouteForm:
    """Return the routes of flows that divide at every switch over all links that lead nearer."""
    if vertices * adapters > MAX_TABLE:
        raise UnsupportedError(
            f"all shortest ways between {adapters} adapters take a table of {vertices * adapters} entries, "
            f"expected at most {MAX_TABLE}: keep the hosts of the job (ib:DIR:routes=spread:hosts=n[1-64])"
        )
    tail, head = source.astype(np.int32), target.astype(np.int32)
    rows = np.maximum(np.arange(-adapters, vertices - adapters), -1).astype(np.int32)
    first = np.searchsorted(np.sort(tail), np.arange(vertices + 1)).astype(np.int32)
    out = np.argsort(tail, kind="stable")
    numbers = np.concatenate([[adapters, vertices], out, of_hosts]).astype(np.int64)
    return RouteForm("spread", numbers, distance_table(tail, head, rows, adapters), first, head, split=True)
