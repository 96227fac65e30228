"""A network as a graph that can be drawn: vertices with names, layers and hosts, and cables with loads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hopbytes._arrays import Float64, Int64
from hopbytes._frozen import frozen
from hopbytes.cost.objectives.link_sums import network_of
from hopbytes.errors import UnsupportedError
from hopbytes.machines.network import Geometry, Network, Wiring
from hopbytes.model.allocation import Allocation
from hopbytes.show.marks import Line, scaled
from hopbytes.show.names import node_name, without_shared_end, without_shared_start
from hopbytes.show.traffic import LinkLoads
from hopbytes.text.cpu_lists import format_list
from hopbytes.util.quantities import amount

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
    capacities: Int64  # int64[cables]: The capacity of that link, without a mapping of the first
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
        """Return the line of a cable."""
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
    cables, chosen, of_link, counts = np.unique(
        ends, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    congestion, volumes = None, None
    if loads is not None:  # the busiest link of a cable; present links are those of `loads`
        of_link = of_link.reshape(-1)
        order = np.lexsort((-loads.congestion, of_link))
        chosen = order[np.searchsorted(of_link[order], np.arange(len(cables)))]
        congestion, volumes = loads.congestion[chosen], loads.volumes[chosen]
    nodes = _nodes(where, wiring, network)
    hosts = tuple(node_name(where, node) for node in range(int(where.machine.node_of_core()[-1]) + 1))
    return NetworkFigure(
        _names(network, wiring, present, nodes, hosts), _layers(wiring, present), nodes, hosts,
        cables.astype(np.int64), counts.astype(np.int64), congestion, volumes,
        network.capacity[present[chosen]], network.geometry and network.geometry(), wiring.at,
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


def _layers(wiring: Wiring, present: Int64) -> Int64:
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
