"""Networks as panels: slices of a torus, layers of a fat tree, a circle of groups; cables show loads."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence

import numpy as np

from hopbytes._arrays import Float64, Int64
from hopbytes._frozen import frozen
from hopbytes.cost.objectives.link_sums import network_of
from hopbytes.errors import UnsupportedError
from hopbytes.machines.base import NODE_NAMES
from hopbytes.machines.network import Geometry, Network, Wiring
from hopbytes.model.allocation import Allocation
from hopbytes.model.mapping import Mapping
from hopbytes.show.machine_picture import node_colours, ranks_of_nodes
from hopbytes.show.marks import (
    GREY,
    Line,
    Mark,
    Panel,
    Rectangle,
    Words,
    below,
    colour_bar,
    cut,
    in_rows,
    moved,
    scaled,
    width_of,
)
from hopbytes.show.names import node_name, without_shared_end, without_shared_start
from hopbytes.show.traffic import LinkLoads
from hopbytes.text.cpu_lists import format_list
from hopbytes.util.quantities import amount, number

Point = tuple[float, float]
Coordinates = tuple[int, ...]  # of a router
#: The hosts of switches: for every switch, nodes and their cables. A node may be on several.
Hosts = dict[int, list[tuple[int, int]]]

#: Vertices of the largest network that is drawn.
MOST_VERTICES = 2**14
#: Fill of switches, and lines from switches to the names of their hosts.
SWITCH_FILL, SPINE = "#f4f1ea", "#c3cad2"
#: Cables without a mapping, those that carry nothing, nodes without ranks, and nodes without a mapping.
UNLOADED, IDLE, FREE, NODE = "#8c959f", "#dfe3e8", "#ffffff", "#c2cfe0"


@frozen(eq=False)
class NetworkFigure:
    """The vertices and cables of a network; a cable is all links between two vertices, in both directions."""

    names: tuple[str, ...]  # of every vertex, without the beginning and the end that all switches share
    #: int64[vertices]: Links to the nearest vertex that is a host, or holds one where routers do: 0 for
    #: these; -1 without
    layers: Int64
    #: for every vertex the nodes of the machine that are there: of adapters of hosts one, of routers of a
    #: torus several, of switches none
    nodes: tuple[tuple[int, ...], ...]
    hosts: tuple[str, ...]  # name of every node
    ends: Int64  # int64[cables, 2]: The two vertices of every cable, the lower first
    links: Int64  # int64[cables]: Number of directed links that a cable stands for
    #: float64[cables] or None: The highest congestion (volume / capacity) of its links; None without a
    #: mapping
    congestion: Float64 | None
    volumes: Float64 | None  # float64[cables] or None: The volume on that link
    #: coordinates of the nodes, where the network has them: places of endpoint i of
    #: :attr:`vertex_of_endpoint`
    geometry: Geometry | None
    vertex_of_endpoint: Int64  # int64[endpoints]

    def upwards(self) -> list[tuple[int, int]]:
        """Return the two vertices of every cable, that of the lower layer first."""
        order = np.argsort(self.layers[self.ends], axis=1, kind="stable")
        return [(low, high) for low, high in np.take_along_axis(self.ends, order, axis=1).tolist()]


@frozen(eq=False)
class Look:
    """How vertices and cables look: colours by load and ranks, and words."""

    figure: NetworkFigure
    most: float  # congestion of the darkest colour
    ranks: dict[int, list[int]]  # ranks on every node; empty without a mapping
    fills: dict[int, str]  # colour of every node with ranks

    def cable(self, cable: int, points: Sequence[tuple[float, float]], thin: float = 1.2) -> Line:
        figure, count = self.figure, int(self.figure.links[cable])
        tip = " – ".join(figure.names[vertex] for vertex in figure.ends[cable].tolist())
        tip += f", {count} links" if count > 2 else ""
        if figure.congestion is None or figure.volumes is None:
            return Line(tuple(points), UNLOADED, thin, tip)
        part = float(figure.congestion[cable]) / self.most if self.most else 0.0
        tip += f": {amount(float(figure.volumes[cable]))} on its busiest link" if part else ": idle"
        return Line(tuple(points), scaled(part) if part else IDLE, thin + 2.4 * part, tip)

    def node(self, node: int) -> tuple[str, str]:
        """Return the colour of a node and the words about it."""
        name, ranks = self.figure.hosts[node], self.ranks.get(node, [])
        if not self.ranks:
            return NODE, name
        words = f"ranks {format_list(ranks)}" if ranks else "unused"
        return self.fills.get(node, FREE), f"{name}: {words}"

    def host(self, node: int, cable: int) -> tuple[str, str]:
        """Return colour and words of a small square for a host: of its cable where loads are known."""
        fill, words = self.node(node)
        return fill if self.figure.congestion is None else self.cable(cable, ()).colour, words


def network_figure(where: Allocation, loads: LinkLoads | None = None) -> NetworkFigure:
    """Return the network of a machine as a graph."""
    network = network_of(where, "a picture of a network")
    if network.wiring is None:
        raise UnsupportedError("a picture of a network needs to know which links join: only routes are known")
    wiring = network.wiring()
    present = np.flatnonzero(network.capacity > 0).astype(np.int64)
    ends = np.sort(np.stack([wiring.tail[present], wiring.head[present]], axis=1), axis=1)
    cables, of_link, counts = np.unique(ends, axis=0, return_inverse=True, return_counts=True)
    congestion, volumes = None, None
    if loads is not None:  # the busiest link of a cable; present links are those of `loads`
        of_link = of_link.reshape(-1)
        order = np.lexsort((-loads.congestion, of_link))
        chosen = order[np.searchsorted(of_link[order], np.arange(len(cables)))]
        congestion, volumes = loads.congestion[chosen], loads.volumes[chosen]
    nodes = _nodes(where, wiring, network)
    hosts = tuple(node_name(where, node) for node in range(int(where.machine.node_of_core()[-1]) + 1))
    return NetworkFigure(
        _names(network, wiring, present, nodes, hosts), _links_to_hosts(wiring, present), nodes, hosts,
        cables.astype(np.int64), counts.astype(np.int64), congestion, volumes,
        network.geometry and network.geometry(), wiring.at,
    )  # fmt: skip


def _nodes(where: Allocation, wiring: Wiring, network: Network) -> tuple[tuple[int, ...], ...]:
    """Return the nodes at every vertex."""
    machine = where.machine
    ends = machine.network_use.endpoint_of_core().astype(np.int64)
    pairs = np.unique(np.stack([wiring.at[ends], machine.node_of_core()]), axis=1)
    nodes: list[list[int]] = [[] for _ in range(wiring.vertices)]
    for vertex, node in pairs.T.tolist():
        nodes[vertex].append(node)
    # Further adapters of a host, which no core uses, have its name before theirs.
    named = {name: node for node, name in enumerate(machine.known_hosts.names)}
    for endpoint in np.setdiff1d(np.arange(network.n_endpoints), ends).tolist() if named else ():
        node = named.get(network.name_endpoint(endpoint).rpartition(" ")[0])
        if node is not None:
            nodes[int(wiring.at[endpoint])].append(node)
    return tuple(map(tuple, nodes))


def _links_to_hosts(wiring: Wiring, present: Int64) -> Int64:
    """Return the links from every vertex to the nearest endpoint; -1 where none is reached."""
    layers = np.full(wiring.vertices, -1, np.int64)
    layers[wiring.at] = 0
    tail, head = wiring.tail[present], wiring.head[present]
    for layer in range(wiring.vertices):
        reached = head[(layers[tail] == layer) & (layers[head] < 0)]
        if not len(reached):
            break
        layers[reached] = layer + 1
    return layers


def _names(
    network: Network, wiring: Wiring, present: Int64, nodes: tuple[tuple[int, ...], ...],
    hosts: tuple[str, ...],
) -> tuple[str, ...]:
    """Return the names of vertices: of hosts theirs, of others as names of links have them."""
    names = [""] * wiring.vertices
    for ends, part in ((wiring.tail, 0), (wiring.head, 2)):
        vertices, first = np.unique(ends[present], return_index=True)
        for vertex, link in zip(vertices.tolist(), present[first].tolist(), strict=True):
            if not names[vertex]:
                name = network.name_link(link).partition(" -> ")[part]
                names[vertex] = name.rpartition(" (")[0] or name if part else name
    switches = np.setdiff1d(np.arange(wiring.vertices), wiring.at).tolist()
    own_parts = without_shared_end(without_shared_start([names[vertex] for vertex in switches]))
    for vertex, name in zip(switches, own_parts, strict=True):
        names[vertex] = name
    for vertex, own in enumerate(nodes):
        if own:
            names[vertex] = hosts[own[0]] if len(own) == 1 else f"{hosts[own[0]]} … {hosts[own[-1]]}"
    return tuple(names)


def network_panel(
    where: Allocation, *, loads: LinkLoads | None = None, mapping: Mapping | None = None,
    most: float | None = None,
) -> Panel:
    """Draw the network of a machine; `most` is the congestion of the darkest colour."""
    figure = network_figure(where, loads)
    if len(figure.names) > MOST_VERTICES:
        size = f"{len(figure.names)} hosts and switches"
        raise UnsupportedError(f"a picture of a network of {size}, expected at most {MOST_VERTICES}")
    highest = float(figure.congestion.max(initial=0)) if figure.congestion is not None else 0.0
    ranks, fills = {}, {}
    if mapping is not None:
        ranks = {node: own.tolist() for node, own in ranks_of_nodes(mapping)}
        fills = node_colours(mapping)
    look = Look(figure, highest if most is None else most, ranks, fills)
    first, second = figure.layers[figure.ends.T]
    if figure.geometry is not None and figure.geometry.sizes:
        panel = _slices(look)
    elif int(figure.layers.max()) >= 1 and bool(np.all(np.abs(first - second) == 1)):
        panel = _layers(look)
    else:
        panel = _circle(look)
    return below([panel] if loads is None else [panel, _load_scale(look, loads)], 10)


def _load_scale(look: Look, loads: LinkLoads) -> Panel:
    """Draw the linear scale of link colours, and name the busiest link."""
    busiest, width = loads.most_loaded(1).tolist(), 240.0
    if not busiest:
        return Panel(width, 14, (Words(0, 11, "no link carries anything", 10, colour=GREY),))
    equal = bool(np.all(loads.capacities == loads.capacities[0]))
    top = look.most * float(loads.capacities[0]) if equal else look.most
    end = amount(top) if equal else f"{number(top)} (volume / capacity)"
    if loads.unit == "bytes/s":
        end = f"{1000 * look.most:.3g} ms at its bandwidth"
    name = f"busiest here: {loads.names[busiest[0]]}, {amount(float(loads.volumes[busiest[0]]))}"
    marks: tuple[Mark, ...] = (
        Words(0, 10, "load of a link; pale grey: idle", 10, colour=GREY), *colour_bar(width),
        Words(0, 40, "0", 10, colour=GREY), Words(width, 40, end, 10, "end", GREY),
        Words(width + 24, 26, name, 10, colour=GREY),
    )  # fmt: skip
    return Panel(width + 30 + 6.1 * len(name), 44, marks)


def inside_words(where: Allocation) -> str:
    """Return what is inside a node of a network: ``"16 cores in each node"``; empty for nothing."""
    counts = np.bincount(where.machine.node_of_core())
    if len(where.machine.levels) < 2 or int(counts.max()) == 1:
        return ""
    few, most = int(counts.min()), int(counts.max())
    many = f"{few}" if few == most else f"{few} to {most}"
    return f"{many} {'GPU' if where.machine.leaves_are_gpus() else 'core'}s in each {NODE_NAMES[0]}"


# Slices of tori, meshes and HyperX networks

#: Distance of routers, size of their boxes, and margin of a slice, which has room for links over its border.
STEP_X, STEP_Y, WIDE, HIGH, MARGIN = 62.0, 46.0, 42.0, 24.0, 26.0


def _slices(look: Look) -> Panel:
    """Draw a slice of the first two dimensions for every position in the others.

    Links over the border of a ring are stubs on both sides. Links of the third dimension are stubs at
    corners: to the next slice at the right top, to the one before at the left bottom. Links of further
    dimensions are not drawn.
    """
    figure = look.figure
    assert figure.geometry is not None
    sizes, names = figure.geometry.sizes, figure.geometry.names[2:]
    routers = _routers(figure)
    at_endpoints = zip(figure.vertex_of_endpoint.tolist(), figure.geometry.places.T.tolist(), strict=True)
    positions = {routers.get(vertex, vertex): tuple(position) for vertex, position in at_endpoints}
    marks: dict[Coordinates, list[Mark]] = {rest: [] for rest in itertools.product(*map(range, sizes[2:]))}
    for cable, (first, second) in enumerate(figure.ends.tolist()):
        a, b = routers.get(first, first), routers.get(second, second)
        if a != b:
            for rest, line in _between_routers(look, cable, *sorted((positions[a], positions[b]))):
                marks[rest].append(line)
    nodes: dict[int, list[int]] = {}
    for vertex, own in enumerate(figure.nodes):
        nodes.setdefault(routers.get(vertex, vertex), []).extend(own)
    for vertex, position in positions.items():
        marks[position[2:]] += _router(look, nodes.get(vertex, []), position)
    width = (sizes[0] - 1) * STEP_X + WIDE + 2 * MARGIN
    height = ((sizes[1] if len(sizes) > 1 else 1) - 1) * STEP_Y + HIGH + 2 * MARGIN
    panels = []
    for rest, own_marks in marks.items():
        title = ", ".join(f"{name} = {value}" for name, value in zip(names, rest, strict=True))
        words = [Words(MARGIN, 12, title, 11, colour=GREY, bold=True)] if title else []
        head = 16.0 if title else 0.0
        panels.append(Panel(width, height + head, (*words, *(moved(mark, 0, head) for mark in own_marks))))
    return in_rows(panels, max(1300.0, width))


def _routers(figure: NetworkFigure) -> dict[int, int]:
    """Return the router of every host that is a vertex of its own; empty where routers hold the hosts."""
    if int(figure.layers.max()) < 1:
        return {}
    pairs = figure.ends[(figure.layers[figure.ends] == [0, 1]).all(axis=1)]
    return dict(pairs.tolist())


def _corner(position: Coordinates) -> Point:
    return MARGIN + position[0] * STEP_X, MARGIN + (position[1] if len(position) > 1 else 0) * STEP_Y


def _router(look: Look, nodes: list[int], position: Coordinates) -> list[Mark]:
    left, top = _corner(position)
    looks = [look.node(node) for node in nodes]
    tip = "; ".join([f"router {','.join(map(str, position))}", *(text for _, text in looks)])
    names = [look.figure.hosts[node].removeprefix("node ") for node in nodes]
    label = cut(names[0], WIDE - 2, 9) if names else ""
    if len(names) > 1:
        label = cut(f"{label}–{names[-1]}", WIDE - 2, 9)
    return [
        Rectangle(left, top, WIDE, HIGH, looks[0][0] if looks else "#ffffff", GREY, tip, 3),
        Words(left + WIDE / 2, top + HIGH / 2 + 3, label, 9, "middle"),
    ]


def _between_routers(
    look: Look, cable: int, a: Coordinates, b: Coordinates
) -> list[tuple[Coordinates, Line]]:
    """Return the lines of a cable between routers that differ in one dimension, each with its slice."""
    geometry = look.figure.geometry
    assert geometry is not None
    dimension = next(number for number, pair in enumerate(zip(a, b, strict=True)) if pair[0] != pair[1])
    if dimension == 2:
        over = b[2] - a[2] > 1  # closes the ring: the last slice comes before the first
        stubs = ((a, not over), (b, over))
        return [(position[2:], _stub(look, cable, position, forward=forward)) for position, forward in stubs]
    if dimension > 2:
        return []
    (x, y), (u, v) = _corner(a), _corner(b)
    apart = b[dimension] - a[dimension]
    middle = (x + WIDE / 2, y + HIGH / 2), (u + WIDE / 2, v + HIGH / 2)
    lines = []
    if apart == 1:
        lines.append(look.cable(cable, middle, 1.6))
        if geometry.sizes[dimension] == 2 and look.figure.links[cable] > 2:
            lines += _over_the_border(look, cable, middle, dimension)
    elif geometry.wrapped[dimension]:
        lines += _over_the_border(look, cable, middle, dimension)
    else:  # a bow, the higher the farther the routers are apart
        (x, y), (u, v), high = *middle, 2 * min(MARGIN - 4, 5.0 + 4.0 * apart)
        aside = (0.0, -high) if dimension == 0 else (high + WIDE / 2, 0.0)
        control = (x + u) / 2 + aside[0], (y + v) / 2 + aside[1]
        lines.append(look.cable(cable, _curve(middle[0], control, middle[1]), 1.2))
    return [(a[2:], line) for line in lines]


def _over_the_border(look: Look, cable: int, middle: tuple[Point, Point], dimension: int) -> list[Line]:
    """Return the two stubs of a link that closes a ring."""
    long = (WIDE if dimension == 0 else HIGH) / 2 + 14
    ends = [(x + way * long, y) if dimension == 0 else (x, y + way * long)
            for (x, y), way in zip(middle, (-1, 1), strict=True)]  # fmt: skip
    return [look.cable(cable, pair, 1.6) for pair in zip(middle, ends, strict=True)]


def _stub(look: Look, cable: int, position: Coordinates, *, forward: bool) -> Line:
    left, top = _corner(position)
    if forward:
        return look.cable(cable, ((left + WIDE - 2, top + 2), (left + WIDE + 8, top - 8)), 1.6)
    return look.cable(cable, ((left + 2, top + HIGH - 2), (left - 8, top + HIGH + 8)), 1.6)


def _curve(start: Point, control: Point, end: Point) -> list[Point]:
    """Return a quadratic Bézier curve as points."""
    points = []
    for step in range(13):
        part = step / 12
        a, b, c = (1 - part) ** 2, 2 * part * (1 - part), part**2
        x, y = (a * s + b * m + c * e for s, m, e in zip(start, control, end, strict=True))
        points.append((x, y))
    return points


# Layers of fat trees and real fabrics

#: Up to this many leaf switches hosts have names; more are small squares.
NAMED_LEAVES = 24
#: Width of a column, height of a host, of a switch, and of the gap between layers.
NAMED, SMALL, ROW, SQUARE, SWITCH_HIGH, LAYER_GAP = 118.0, 48.0, 15.0, 10.0, 22.0, 92.0
#: Width in which a shortened name still says something.
SHORTEST = 40.0
#: Most that names of hosts take below their squares, and names of hosts below a leaf switch.
LONGEST, MOST_NAMES = 300.0, 40


def _layers(look: Look) -> Panel:
    """Draw switches in rows by layer, joined by lines, and hosts in columns below by leaf switch."""
    figure = look.figure
    top = int(figure.layers.max())
    hosts: Hosts = {}
    for cable, (lower, upper) in enumerate(figure.upwards()):
        if figure.layers[lower] == 0 and figure.nodes[lower]:
            hosts.setdefault(upper, []).append((figure.nodes[lower][0], cable))
    leaves = np.flatnonzero(figure.layers == 1).tolist()
    leaves.sort(key=lambda leaf: (min(hosts.get(leaf, [(1 << 40, 0)]))[0], leaf))
    named = len(leaves) <= NAMED_LEAVES
    labels = dict(zip(leaves, _differing_parts([figure.names[leaf] for leaf in leaves]), strict=True))
    longest = max((width_of(label, 10) for label in labels.values()), default=0.0)
    column = NAMED if named else min(max(SMALL, longest + 10), NAMED)
    width = max(len(leaves) * (column + 8), 300.0)
    across = {leaf: (position + 0.5) * width / len(leaves) for position, leaf in enumerate(leaves)}
    for layer in range(2, top + 1):
        across |= _row_of_switches(figure, layer, across, width)
    down = {vertex: 12 + (top - int(figure.layers[vertex])) * LAYER_GAP for vertex in across}
    lines = []
    for cable, (lower, upper) in enumerate(figure.upwards()):
        if lower in across and upper in across:
            ends = (across[lower], down[lower]), (across[upper], down[upper] + SWITCH_HIGH)
            lines.append(look.cable(cable, ends))
    lines.sort(key=lambda line: line.width)  # busy links above idle ones
    boxes: list[Mark] = []
    in_row = np.bincount(figure.layers[list(across)])
    for vertex, x in across.items():
        space = width / float(in_row[figure.layers[vertex]]) - 2
        most = min(space, column if figure.layers[vertex] == 1 else 1.6 * NAMED)
        name = figure.names[vertex]
        short = name if width_of(name, 10) + 4 <= most else labels.get(vertex, name)
        boxes += _switch(name, short, x, down[vertex], most)
    foot, deepest = 12 + (top - 1) * LAYER_GAP + SWITCH_HIGH, 0.0
    columns: list[Mark] = []
    for leaf in leaves:
        draw = _host_names if named else _host_squares
        added, deep = draw(look, sorted(hosts.get(leaf, [])), across[leaf], foot)
        columns += added
        deepest = max(deepest, deep)
    return Panel(width, foot + deepest + 8, (*lines, *boxes, *columns))


def _row_of_switches(
    figure: NetworkFigure, layer: int, across: dict[int, float], width: float
) -> dict[int, float]:
    """Return evenly spaced positions for the switches of a layer, in the order of their neighbours below."""
    neighbours: dict[int, list[float]] = {}
    for lower, upper in figure.upwards():
        if figure.layers[upper] == layer and lower in across:
            neighbours.setdefault(upper, []).append(across[lower])
    order = sorted(neighbours, key=lambda vertex: (float(np.mean(neighbours[vertex])), vertex))
    return {vertex: (position + 0.5) * width / len(order) for position, vertex in enumerate(order)}


def _differing_parts(names: list[str]) -> list[str]:
    """Return names without the parts that all of them share; unchanged where their parts differ in number."""
    parts = [re.split(r"[-_.:; ]+", name) for name in names]
    if len(set(names)) < len(names) or len(names) < 2 or len(set(map(len, parts))) > 1:
        return names
    differing = [len(set(column)) > 1 for column in zip(*parts, strict=True)]
    return ["-".join(itertools.compress(own, differing)) for own in parts]


def _first_to_last(first: str, last: str, count: int) -> str:
    """Return the names of the first and the last of several hosts, their common beginning once."""
    if count == 1:
        return first
    same = next((index for index, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
    return f"{first} … {last[same:] if same > 2 else last} ({count})"


def _switch(name: str, short: str, x: float, y: float, most: float) -> list[Mark]:
    text = cut(short, most - 4, 10) if most >= SHORTEST or width_of(short, 10) <= most - 4 else ""
    wide = min(most, max(22.0, width_of(text, 10) + 8))
    return [
        Rectangle(x - wide / 2, y, wide, SWITCH_HIGH, SWITCH_FILL, GREY, f"switch {name}", 3),
        Words(x, y + SWITCH_HIGH / 2 + 3.5, text, 10, "middle"),
    ]


def _host_squares(look: Look, hosts: list[tuple[int, int]], x: float, top: float) -> tuple[list[Mark], float]:
    """Return the hosts of a leaf switch as squares with the first and the last name, and their height."""
    marks: list[Mark] = []
    for index, (node, cable) in enumerate(hosts):
        row, column = divmod(index, 4)
        left, size = x - 2 * SQUARE + column * SQUARE, SQUARE - 2
        fill, tip = look.host(node, cable)
        marks.append(Rectangle(left, top + 8 + row * SQUARE, size, size, fill, GREY, tip))
    deep = 8 + -(-len(hosts) // 4) * SQUARE
    if hosts:
        first, last = (look.figure.hosts[node] for node in (hosts[0][0], hosts[-1][0]))
        text = cut(_first_to_last(first, last, len(hosts)), LONGEST, 9)
        long = width_of(text, 9)
        marks.append(Words(x + 3, top + deep + 6 + long, text, 9, "start", GREY, turned=True))
        deep += 10 + long
    return marks, deep


def _host_names(look: Look, hosts: list[tuple[int, int]], x: float, top: float) -> tuple[list[Mark], float]:
    """Return the hosts of a leaf switch by name, and their height."""
    left, shown = x - NAMED / 2, hosts[:MOST_NAMES]
    marks: list[Mark] = []
    if hosts:
        spine = left + 2
        end = top + 8 + (len(shown) - 1) * ROW + 6
        marks = [Line(((x, top), (spine, top)), SPINE, 1), Line(((spine, top), (spine, end)), SPINE, 1)]
    for index, (node, cable) in enumerate(shown):
        y = top + 8 + index * ROW
        fill, tip = look.node(node)
        marks.append(look.cable(cable, ((left + 2, y + 6), (left + 14, y + 6))))
        marks.append(Rectangle(left + 14, y, NAMED - 18, ROW - 2, fill, "none", tip, 2))
        name = look.figure.hosts[node]
        if look.ranks.get(node):
            name = f"{name}: {format_list(look.ranks[node])}"
        marks.append(Words(left + 18, y + 10, cut(name, NAMED - 24, 9), 9))
    deep = 8 + len(shown) * ROW
    if len(hosts) > MOST_NAMES:
        more = f"{len(hosts) - MOST_NAMES} more"
        marks.append(Words(left + 18, top + deep + 10, more, 9, colour=GREY))
        deep += ROW
    return marks, deep


# A circle of the switches of dragonflies and any other network

#: Length of the circle that a switch takes, and the gap between groups; size of a switch and of a host.
ARC, GAP, SWITCH, HOST = 34.0, 30.0, 15.0, 9.0
#: Hosts in a row outside a switch, and the most space for names.
IN_A_ROW, NAMES = 3, 90.0


def _circle(look: Look) -> Panel:
    """Draw switches on a circle in the order of their groups, links as chords, hosts as squares outside."""
    figure = look.figure
    hosts_of = _hosts(figure)
    groups = _groups(figure, hosts_of)
    hosts = {host for own in hosts_of.values() for host in own}
    order = [vertex for vertex in range(len(figure.names)) if vertex not in hosts]
    order.sort(key=lambda vertex: (groups.get(vertex, -1), vertex))
    around = zip(order, order[1:] + order[:1], strict=True)
    steps = [ARC + GAP * (groups.get(a) != groups.get(b)) for a, b in around]
    radius = max(90.0, sum(steps) / (2 * math.pi))
    outside = 16 + max((-(-len(own) // IN_A_ROW) for own in hosts_of.values()), default=0) * HOST * 1.2
    shown = [f"group {len(groups)}"] if groups else [figure.names[vertex] for vertex in order]
    middle = radius + outside + min(NAMES, 14 + max((width_of(name, 10) for name in shown), default=0.0))
    angle, turn, unit = {}, -math.pi / 2, 2 * math.pi / sum(steps)
    for vertex, step in zip(order, steps, strict=True):
        angle[vertex] = turn
        turn += step * unit
    spot = {v: (middle + radius * math.cos(a), middle + radius * math.sin(a)) for v, a in angle.items()}
    lines: list[Line] = []
    marks: list[Mark] = []
    for cable, (first, second) in enumerate(figure.ends.tolist()):
        if first in spot and second in spot:
            # Drawn towards the middle: little inside a group.
            pull = 0.25 if groups.get(first) == groups.get(second) else 0.62
            start, end = spot[first], spot[second]
            x, y = ((a + b) / 2 + (middle - (a + b) / 2) * pull for a, b in zip(start, end, strict=True))
            lines.append(look.cable(cable, _curve(start, (x, y), end)))
        else:
            switch, host = (first, second) if first in spot else (second, first)
            if switch in spot:
                index = hosts_of[switch].index(host)
                marks += _host(look, cable, host, index, angle[switch], middle, radius)
    lines.sort(key=lambda line: line.width)
    for vertex, (x, y) in spot.items():
        own_nodes = figure.nodes[vertex]
        fill, tip = look.node(own_nodes[0]) if own_nodes else (SWITCH_FILL, f"switch {figure.names[vertex]}")
        marks.append(Rectangle(x - SWITCH / 2, y - SWITCH / 2, SWITCH, SWITCH, fill, GREY, tip, 3))
        if not groups or own_nodes:
            marks.append(_name(figure.names[vertex], angle[vertex], middle, radius + outside))
    for group in sorted(set(groups.values())):
        own = [angle[vertex] for vertex in order if groups.get(vertex) == group]
        marks.append(_name(f"group {group}", (own[0] + own[-1]) / 2, middle, radius + outside))
    return Panel(2 * middle, 2 * middle, (*lines, *marks))


def _hosts(figure: NetworkFigure) -> dict[int, list[int]]:
    """Return the hosts of every switch: vertices with a node and a single cable."""
    degree = np.bincount(figure.ends.reshape(-1), minlength=len(figure.names))
    hosts: dict[int, list[int]] = {}
    for first, second in figure.ends.tolist():
        for host, switch in ((first, second), (second, first)):
            if degree[host] == 1 and figure.nodes[host] and degree[switch] > 1:
                hosts.setdefault(switch, []).append(host)
    return hosts


def _groups(figure: NetworkFigure, hosts_of: dict[int, list[int]]) -> dict[int, int]:
    """Return the group of every switch: that of its hosts, or of a leaf below it; empty without groups."""
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


def _host(
    look: Look, cable: int, host: int, index: int, angle: float, middle: float, radius: float
) -> list[Mark]:
    """Return a small square outside a switch, with the line of its link."""
    row, column = divmod(index, IN_A_ROW)
    out = radius + 18 + row * HOST * 1.2
    side = (column - (IN_A_ROW - 1) / 2) * HOST * 1.15
    x = middle + out * math.cos(angle) - side * math.sin(angle)
    y = middle + out * math.sin(angle) + side * math.cos(angle)
    start = middle + radius * math.cos(angle), middle + radius * math.sin(angle)
    fill, tip = look.host(look.figure.nodes[host][0], cable)
    square = Rectangle(x - HOST / 2, y - HOST / 2, HOST, HOST, fill, GREY, tip)
    return [look.cable(cable, (start, (x, y)), 0.8), square]


def _name(name: str, angle: float, middle: float, radius: float) -> Words:
    x, y = middle + (radius + 6) * math.cos(angle), middle + (radius + 6) * math.sin(angle)
    anchor = "middle" if abs(math.cos(angle)) < 0.3 else ("start" if math.cos(angle) > 0 else "end")
    return Words(x, y + 4 + 4 * math.sin(angle), cut(name, NAMES - 8, 10), 10, anchor, GREY)
