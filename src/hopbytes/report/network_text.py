"""Descriptions of a network and of the links of one route, for people and for programs."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np

from hopbytes.cost.objectives.link_sums import plain
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.machines.network import Network
from hopbytes.model.allocation import Allocation

Facts = dict[str, Any]

#: Number of capacities in the text; JSON has all.
MOST_CAPACITIES = 6
#: Names of nodes in the routes of generated networks.
OWN_NAME = re.compile(r"n(0|[1-9][0-9]{0,8})", re.ASCII)
#: Shares with larger denominators are written as percentages.
MOST_DENOMINATOR = 1000


def network_facts(where: Allocation) -> Facts:
    """Return the facts of :func:`hopbytes.machines.network.Network.describe`; empty without links."""
    network = where.machine.network()
    return {} if network is None else {"network": network.describe()}


def network_lines(facts: Facts) -> list[str]:
    """Return the facts as lines for people.

    >>> import hopbytes as hb
    >>> print("\\n".join(network_lines(network_facts(hb.allocate("torus:4x4:bw=5x6")))))
    network    16 endpoints, 16 switches, 64 links
    capacity   5 (32 links), 6 (32 links), as given
    hops       2.13 on average, at most 4
    """
    if "network" not in facts:
        return []
    found = facts["network"]
    each = [f"{int(value):,} ({count:,} links)" for value, count in found["capacities"].items()]
    more = [f"… {len(each) - MOST_CAPACITIES} more"] if len(each) > MOST_CAPACITIES else []
    lines = [
        f"network    {found['endpoints']:,} endpoints, {found['switches']:,} switches, "
        f"{found['links']:,} links" + (", flows take several paths" if found["several_paths"] else ""),
        f"capacity   {', '.join(each[:MOST_CAPACITIES] + more) or 'none'}, {found['capacity_unit']}",
        f"hops       {found['mean_distance']:.2f} on average, at most {found['diameter']}",
    ]
    if found["sources_looked_at"] < found["endpoints"]:
        lines[-1] += f" (from {found['sources_looked_at']:,} of the endpoints)"
    if found["unrouted_pairs"]:
        lines.append(f"unrouted   {found['unrouted_pairs']:,} pairs of endpoints have no route")
    return lines


def route_facts(where: Allocation, source: str, target: str) -> Facts:
    """Return the links from one node to another.

    >>> import hopbytes as hb
    >>> [link["name"] for link in route_facts(hb.allocate("torus:4"), "3", "1")["links"]]
    ['r3 -> r0 (x+)', 'r0 -> r1 (x+)']
    """
    network = where.machine.network()
    if network is None:
        raise UnsupportedError(
            f"--route needs a machine with links, {where.machine.spec()[:60]} has none: torus:, mesh:, "
            "fattree:, dragonfly:, hyperx:, links:FILE and fabrics read from files have"
        )
    a, b = (_endpoint(where, network, name) for name in (source, target))
    lengths, common = network.mean_hops([a], [b])
    if lengths[0] < 0:
        raise UnsupportedError(f"no route from {network.name_endpoint(a)} to {network.name_endpoint(b)}")
    hops = plain(Fraction(int(lengths[0]), common))  # the mean over detours of unequal length
    routes = network.routes([a], [b])
    links = []
    for place, link in enumerate(routes.links.tolist()):
        above = 1 if routes.numerators is None else int(routes.numerators[place])
        below = 1 if routes.denominators is None else int(routes.denominators[place])
        name, capacity = network.name_link(link), int(network.capacity[link])
        links.append({"link": link, "name": name, "capacity": capacity, "share": [above, below]})
    return {
        "thing": "route", "from": network.name_endpoint(a), "to": network.name_endpoint(b), "hops": hops,
        "capacity_unit": network.unit, "links": links,
    }


def route_text(facts: Facts) -> str:
    """Return a route as lines: links with their capacities, and shares if there are several paths."""
    hops = f"{facts['hops']:g} hops" + (" on average" if isinstance(facts["hops"], float) else "")
    title = f"{facts['from']} to {facts['to']}: {hops} (capacities {facts['capacity_unit']})"
    width = max((len(link["name"]) for link in facts["links"]), default=0)
    lines = []
    for link in facts["links"]:
        part = Fraction(*link["share"])
        words = str(part) if part.denominator <= MOST_DENOMINATOR else f"{float(part):.3%}".replace("%", " %")
        share = "" if part == 1 else f"  {words} of the flow"
        lines.append(f"  {link['name']:<{width}}  {link['capacity']}{share}")
    return "\n".join([title, *lines])


def _endpoint(where: Allocation, network: Network, name: str) -> int:
    """Return the endpoint of a node, given its host name or number."""
    machine = where.machine
    hosts = where.hosts or machine.known_hosts.names
    nodes = int(machine.node_of_core()[-1]) + 1
    if name in hosts:
        node = hosts.index(name)
    elif name.isascii() and name.isdigit() and len(name) < 10 and int(name) < nodes:
        node = int(name)
    elif not hosts and OWN_NAME.fullmatch(name) and int(name[1:]) < nodes:
        node = int(name[1:])
    else:
        known = f" or a host name like {hosts[0]!r}" if hosts else f", or n0 to n{nodes - 1}"
        what = f"node {name[:40]!r}, expected a number from 0 to {nodes - 1}{known}"
        raise FormatError("--route", None, what)
    core = int(np.searchsorted(machine.node_of_core(), node))
    return int(machine.network_use.endpoint_of_core()[core])
