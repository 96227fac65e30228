"""Dragonflies and any other networks: switches on a circle, groups together, hosts outside."""

from __future__ import annotations

import math

from hopbytes.pictures.canvas.marks import GREY, Line, Mark, Panel, Rectangle, Words, cut, width_of
from hopbytes.pictures.network_look import Look

#: Length of the circle that a switch takes, and the gap between groups; size of a switch and of a host.
ARC, GAP, SWITCH, HOST = 34.0, 30.0, 15.0, 9.0
#: Hosts in a row outside a switch, and the most room for names.
IN_A_ROW, NAMES = 3, 90.0


def circle(look: Look) -> Panel:
    """Draw switches on a circle in the order of their groups, links as chords, hosts as squares outside."""
    figure = look.figure
    hosts_of = _hosts(look)
    hosts = {host for own in hosts_of.values() for host in own}
    order = [vertex for vertex in range(len(figure.names)) if vertex not in hosts]
    groups = _groups(look, hosts_of)
    order.sort(key=lambda vertex: (groups.get(vertex, -1), vertex))
    gaps = sum(groups.get(a) != groups.get(b) for a, b in zip(order, order[1:] + order[:1], strict=True))
    radius = max(90.0, (len(order) * ARC + gaps * GAP) / (2 * math.pi))
    rows = max((-(-len(own) // IN_A_ROW) for own in hosts_of.values()), default=0)
    outside = 16 + rows * HOST * 1.2
    shown = [f"group {len(groups)}"] if groups else [figure.names[vertex] for vertex in order]
    room = min(NAMES, 14 + max((width_of(name, 10) for name in shown), default=0.0))
    middle = radius + outside + room
    angle, turn = {}, -math.pi / 2
    each = 2 * math.pi / (len(order) * ARC + gaps * GAP)
    for vertex, following in zip(order, order[1:] + order[:1], strict=True):
        angle[vertex] = turn
        turn += ARC * each + (GAP * each if groups.get(vertex) != groups.get(following) else 0.0)
    spot = {v: (middle + radius * math.cos(a), middle + radius * math.sin(a)) for v, a in angle.items()}
    lines: list[Line] = []
    marks: list[Mark] = []
    for cable, (first, second) in enumerate(figure.ends.tolist()):
        if first in spot and second in spot:
            near = groups.get(first) == groups.get(second)
            lines.append(look.cable(cable, _chord(spot[first], spot[second], middle, near=near)))
        else:
            switch, host = (first, second) if first in spot else (second, first)
            if switch in spot:
                marks += _host(look, cable, host, hosts_of[switch].index(host), angle[switch], middle, radius)
    lines.sort(key=lambda line: line.width)
    for vertex, (x, y) in spot.items():
        own_nodes = figure.nodes[vertex]
        fill, tip = look.node(own_nodes[0]) if own_nodes else ("#f4f1ea", f"switch {figure.names[vertex]}")
        marks.append(Rectangle(x - SWITCH / 2, y - SWITCH / 2, SWITCH, SWITCH, fill, GREY, tip, 3))
        if len(groups) == 0 or figure.nodes[vertex]:
            marks += _name(figure.names[vertex], angle[vertex], middle, radius + outside)
    for group in dict.fromkeys(groups.get(vertex, -1) for vertex in order):
        own = [angle[vertex] for vertex in order if groups.get(vertex, -1) == group]
        if group >= 0:
            marks += _name(f"group {group}", (own[0] + own[-1]) / 2, middle, radius + outside)
    return Panel(2 * middle, 2 * middle, (*lines, *marks))


def _hosts(look: Look) -> dict[int, list[int]]:
    """Return the hosts of every switch: vertices with a node and a single cable."""
    figure = look.figure
    degree: dict[int, int] = {}
    for first, second in figure.ends.tolist():
        degree[first] = degree.get(first, 0) + 1
        degree[second] = degree.get(second, 0) + 1
    found: dict[int, list[int]] = {}
    for first, second in figure.ends.tolist():
        for host, switch in ((first, second), (second, first)):
            if degree[host] == 1 and figure.nodes[host] and degree[switch] > 1:
                found.setdefault(switch, []).append(host)
    return found


def _groups(look: Look, hosts_of: dict[int, list[int]]) -> dict[int, int]:
    """Return the group of every switch: that of its hosts, or of a leaf below it; empty without groups."""
    figure = look.figure
    if figure.geometry is None or "group" not in figure.geometry.names:
        return {}
    column = figure.geometry.places[figure.geometry.names.index("group")]
    of_vertex = dict(zip(figure.vertex_of_endpoint.tolist(), column.tolist(), strict=True))
    groups = {switch: of_vertex[own[0]] for switch, own in hosts_of.items() if own[0] in of_vertex}
    for first, second in figure.ends.tolist():  # spines of dragonfly+ have no hosts, but leaves of one group
        for spine, leaf in ((first, second), (second, first)):
            if figure.layers[spine] == 2 and figure.layers[leaf] == 1 and leaf in groups:
                groups[spine] = groups[leaf]
    return groups


def _chord(
    start: tuple[float, float], end: tuple[float, float], middle: float, *, near: bool
) -> list[tuple[float, float]]:
    """Return a curve between two switches, drawn towards the middle: little inside a group."""
    pull = 0.25 if near else 0.62
    x, y = ((a + b) / 2 + (middle - (a + b) / 2) * pull for a, b in zip(start, end, strict=True))
    points = []
    for step in range(13):
        part = step / 12
        a, b, c = (1 - part) ** 2, 2 * part * (1 - part), part**2
        points.append((a * start[0] + b * x + c * end[0], a * start[1] + b * y + c * end[1]))
    return points


def _host(
    look: Look, cable: int, host: int, place: int, angle: float, middle: float, radius: float
) -> list[Mark]:
    """Return a small square outside a switch, with the line of its link."""
    row, column = divmod(place, IN_A_ROW)
    out = radius + 18 + row * HOST * 1.2
    side = (column - (IN_A_ROW - 1) / 2) * HOST * 1.15
    x = middle + out * math.cos(angle) - side * math.sin(angle)
    y = middle + out * math.sin(angle) + side * math.cos(angle)
    start = middle + radius * math.cos(angle), middle + radius * math.sin(angle)
    fill, tip = look.node(look.figure.nodes[host][0])
    line = look.cable(cable, (start, (x, y)), 0.8)
    if look.figure.congestion is not None:
        fill = line.colour
    return [line, Rectangle(x - HOST / 2, y - HOST / 2, HOST, HOST, fill, GREY, tip)]


def _name(name: str, angle: float, middle: float, radius: float) -> list[Mark]:
    x, y = middle + (radius + 6) * math.cos(angle), middle + (radius + 6) * math.sin(angle)
    anchor = "middle" if abs(math.cos(angle)) < 0.3 else ("start" if math.cos(angle) > 0 else "end")
    return [Words(x, y + 4 + 4 * math.sin(angle), cut(name, NAMES - 8, 10), 10, anchor, GREY)]
