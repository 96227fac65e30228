"""InfiniBand fabrics with their links and routes, from what the InfiniBand tools print."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.fabrics.fabric import Fabric, follow, leaf_switches, read_fabric, unrouted, with_shortest_routes
from hopbytes.fabrics.ibnetdiscover import Device
from hopbytes.kernels.routes import RouteForm
from hopbytes.machines.base import KnownHosts, NetworkUse, machines
from hopbytes.machines.kinds.table import parts_of, split_by_distance
from hopbytes.machines.network import MAX_TABLE, Network, Wiring, spread_routes
from hopbytes.machines.network_machine import NetworkMachine
from hopbytes.machines.node.node_tree import NodeInventory, NodeTree
from hopbytes.machines.spec_fields import file_spec, number_of
from hopbytes.machines.tree import bad
from hopbytes.text.hostlist import HOST_NAME, expand_hosts, match_hosts
from hopbytes.text.lines import natural_key, read_lines

#: Descriptions that drivers give until the host has set its own name: they name no host.
NAMELESS = re.compile(
    r"MT[0-9]+ .*(?:Mellanox|ConnectX|Connect-IB|InfiniHost).*|(?:Mellanox|NVIDIA|QLogic|Intel) .*"
    r"|(?:localhost(?:\.localdomain)?|\(none\))(?: .*)?",
    re.ASCII,
)
MAP_LINE = re.compile(
    r'(?P<guid>0x[0-9a-fA-F]{1,16})\s+(?!\s)(?:"(?P<quoted>[^"]*)"|(?P<plain>[^"#]*?))(?<!\s)\s*(?:#.*)?',
    re.ASCII,
)


@frozen
class Host:
    """A host and its adapter ports."""

    name: str  # first word of the node description; ``guid-0123456789abcdef`` when that names no host
    adapters: tuple[int, ...]  # numbers of its adapter ports, in the natural order of their names
    #: rest of the node descriptions: ``mlx5_0``, ``HCA-1``; with ``/2`` for a second port
    adapter_names: tuple[str, ...]
    named: bool = True  # false when the name had to be made from the GUID


def read_node_name_map(path: str) -> dict[int, str]:
    """Read a file that names GUIDs: lines ``0x0002c90200493108 "host mlx5_0"``, comments after ``#``."""
    names: dict[int, str] = {}
    for number, text in enumerate(read_lines(path, 2**28), start=1):
        line = text.strip()
        if not line or line.startswith("#"):
            continue
        found = MAP_LINE.fullmatch(line)
        name = (found["quoted"] or found["plain"] or "").strip() if found else ""
        if found is None or not name:
            what = f'{line[:40]!r}, expected a GUID and a name like 0x2c90200493108 "n1"'
            raise FormatError(path, number, what)
        guid = int(found["guid"], 16)
        if guid in names:
            raise FormatError(path, number, f"GUID {found['guid']} a second time, expected one name for each")
        names[guid] = name
    return names


def group_hosts(
    adapters: Sequence[Device], names: Mapping[int, str] | None = None, wanted: str | None = None
) -> tuple[Host, ...]:
    """Group adapter ports by the host their description names."""
    found: dict[tuple[bool, str], list[tuple[str, int]]] = {}
    for number, adapter in enumerate(adapters):
        named, host, name = _names(adapter, names or {})
        found.setdefault((not named, host), []).append((name, number))
    takes = _filter(wanted)
    hosts = []
    for nameless, host in sorted(found, key=lambda key: (key[0], natural_key(key[1]))):
        ports = [port for port in found[nameless, host] if takes(port[0])]
        ports.sort(key=lambda port: (natural_key(port[0]), port[1]))
        if ports:
            numbers, labels = zip(*((number, name) for name, number in ports), strict=True)
            hosts.append(Host(host, numbers, labels, not nameless))
    if not hosts:
        known = sorted({name for ports in found.values() for name, _ in ports}, key=natural_key)
        what = f"{wanted!r} fits no adapter (there are {', '.join(known[:6])})"
        raise FormatError("`adapters`", None, what)
    return tuple(hosts)


def _names(adapter: Device, names: Mapping[int, str]) -> tuple[bool, str, str]:
    """Return whether a host is named, its name and that of the adapter."""
    description = names.get(adapter.guid) or names.get(adapter.node_guid) or adapter.name
    host, _, rest = description.strip().partition(" ")
    port = f"/{adapter.port}" if adapter.port > 1 else ""
    if not HOST_NAME.fullmatch(host) or NAMELESS.fullmatch(description.strip()):
        guid = adapter.node_guid or adapter.guid
        return False, f"guid-{guid:016x}" if guid else f"nameless-{adapter.key}", "HCA-1" + port
    return True, host, (rest.strip() or "HCA-1") + port


def _filter(text: str | None) -> Callable[[str], bool]:
    """Return what tells whether an adapter is wanted, by its name with or without the port."""
    names: set[str] = set()
    patterns: list[str] = []
    for word in re.findall(r"(?:\[[^\[\]]*\]|[^,])+", "*" if text is None else text):  # but in brackets
        if set("*?/") & set(word):
            patterns.append(word.strip())
        elif word.strip():
            names.update(expand_hosts(word, "`adapters`"))

    def takes(name: str) -> bool:
        known = name.partition("/")[0] in names
        return known or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)

    return takes


KEYS = {
    "tables": "dump_fts.txt", "rails": "first|same|spread|gpu", "adapters": "mlx5_[0-3]", "names": "FILE",
    "hosts": "n[1-8]", "lid": "0", "routes": "shortest|spread",
}  # fmt: skip
RAILS = ("first", "same", "spread", "gpu")


@machines.register("ib")
@frozen(eq=False)
class InfiniBand(NetworkMachine):
    """Hosts on an InfiniBand fabric: ``ib:DIR``.

    DIR holds the output of ``ibnetdiscover`` (plain or ``-p``) and of ``dump_fts``, ``ibroute`` or
    ``ibtracert``; files are told apart by content and may be compressed. The endpoints of the network are the
    adapter ports of the hosts, host by host. Options, each ``:key=value``:

    - ``tables``: file or pattern of the forwarding tables, when there are several sets
    - ``rails``: see the field; ``adapters``: those to use, see :func:`hopbytes.machines.kinds.ib.group_hosts`
    - ``names``: a node name map for adapters that do not say whose they are
    - ``hosts`` (or ``@n[1-8]``): the hosts to keep
    - ``lid``: which of the 2**lmc addresses of an adapter messages are sent to
    - ``routes=shortest``: shortest routes instead of tables
    - ``routes=spread``: every flow divides evenly over all shortest paths, which adaptive routing aims at

    >>> fabric = InfiniBand.parse("examples/fabric")
    >>> fabric.known_hosts.names[:3], fabric.network().hops(0, [1, 4]).tolist()
    (('n1', 'n2', 'n3'), [2, 4])
    """

    text: str  # spec of the network without distance per hop
    fabric: Fabric  # with routes
    hosts: tuple[Host, ...]  # nodes in machine order, with the adapters their tasks may use
    arrival: Int32 = field(repr=False)  # see :func:`hopbytes.fabrics.fabric.follow`
    links: Network = field(repr=False)
    #: which adapter the cores of a host use. ``first``: all cores use the first one. ``same``: equal shares
    #: of the cores use the first, second, ... adapter, as many as every host of the job has, so that equal
    #: cores meet on one rail. ``spread``: equal shares use all adapters the host has. ``gpu``: slots of GPUs
    #: use the adapter nearest to their GPU, or equal shares in the order of the GPUs where it is unknown.
    rails: str = "first"
    nodes: tuple[int, ...] = ()  # hosts of the job, by which ``same`` counts adapters; empty: all hosts

    @classmethod
    def parse(cls, text: str) -> InfiniBand:
        spec = file_spec("ib", text, KEYS)
        options = spec.options
        offset = number_of("ib", "lid", options["lid"], 0, 127) if "lid" in options else 0
        wanted = options.get("routes")
        if wanted not in (None, "shortest", "spread"):
            raise bad(f"ib: routes={wanted[:20]!r}, expected routes=shortest or routes=spread")
        if wanted and "tables" in options:
            raise bad(f"ib: routes={wanted} reads no tables, expected tables= or routes={wanted}, not both")
        fabric = read_fabric(spec.path, options.get("tables"), offset, routed=not wanted)
        if wanted:
            fabric = with_shortest_routes(fabric)
        elif fabric.forward is None:
            add = "add the output of dump_fts, ibroute or ibtracert, or assume shortest ones with"
            what = f"{spec.path}: no forwarding tables, so the routes are not known"
            raise UnsupportedError(f"{what}: {add} ib:{spec.path}:routes=shortest")
        names = read_node_name_map(options["names"]) if "names" in options else None
        hosts = group_hosts(fabric.adapters, names, options.get("adapters"))
        if "hosts" in options:
            known, chosen = [host.name for host in hosts], expand_hosts(options["hosts"])
            hosts = tuple(hosts[number] for number in sorted(match_hosts(chosen, known, _names_hint(hosts))))
        rails = options.get("rails", "first")
        if rails not in RAILS:
            raise FormatError("`rails`", None, f"{rails[:20]!r}, expected one of {', '.join(RAILS)}")
        arrival, links = follow(fabric), _network(fabric, hosts, wanted == "spread")
        return cls(spec.text("ib"), fabric, hosts, arrival, links, rails, per_hop=spec.per_hop)

    def _identity(self) -> tuple[object, ...]:
        names = tuple((host.name, host.adapter_names) for host in self.hosts)
        return self.text, self.rails, self.hop_distance, self.inside, names, self._adapters_each()

    @property
    def n_nodes(self) -> int:
        return len(self.hosts)

    @property
    def known_hosts(self) -> KnownHosts:
        return KnownHosts(tuple(host.name for host in self.hosts), fixed=True, hint=_names_hint(self.hosts))

    def network_spec(self) -> str:
        return self.text

    def network(self) -> Network:
        return self.links

    def notices(self, used: Bool | None = None) -> tuple[str, ...]:
        used = np.ones(len(self.hosts), np.bool_) if used is None else used
        notices = list(self.fabric.notices)
        nameless = sum(not host.named for host in self.hosts)
        if nameless:
            notices.append(
                f"{nameless} adapters name no host and count as hosts of their own: "
                "`node_name_map` gives their hosts"
            )
        notices += self._fewer_rails()
        lost = self._unrouted(used)
        if len(lost):
            names = [self.fabric.adapters[number].name for number in lost[0]]
            notices.append(f"{len(lost)} pairs of adapters have no route, as {names[0]!r} to {names[1]!r}")
        return tuple(notices)

    def for_nodes(self, nodes: Int32) -> InfiniBand:
        return replace(self, nodes=tuple(np.unique(nodes).tolist())) if self.rails == "same" else self

    def _adapters_each(self) -> tuple[int, ...]:
        """Return how many adapters every host of the job uses with ``same``; empty with other rules."""
        if self.rails != "same":
            return ()
        return (min(len(self.hosts[node].adapters) for node in self.nodes or range(self.n_nodes)),)

    def _fewer_rails(self) -> list[str]:
        """Say that ``same`` leaves adapters of some hosts unused, and because of which host."""
        used = [self.hosts[node] for node in self.nodes or range(self.n_nodes)]
        least = min(used, key=lambda host: len(host.adapters))
        count, most = len(least.adapters), max(len(host.adapters) for host in used)
        if self.rails != "same" or count == most:
            return []
        first = "the first adapter" if count == 1 else f"the first {count} adapters"
        return [
            f"rails=same uses {first} of each host, since {least.name} has no more; other hosts have up to "
            f"{most} (rails=spread uses all of them, `hosts` leaves hosts out)"
        ]

    def _unrouted(self, used: Bool) -> Int64:
        """int64[pairs, 2]: adapters of different hosts in use, without a route from the one to the other."""
        lost = unrouted(self.fabric, self.arrival)
        owner = np.full(len(self.fabric.adapters), -1, np.int64)
        for node in np.flatnonzero(used).tolist():
            owner[list(self.hosts[node].adapters)] = node
        host = owner[lost]
        pairs: Int64 = lost[(host >= 0).all(axis=1) & (host[:, 0] != host[:, 1])]
        return pairs

    @property
    def adapters_per_host(self) -> Int64:
        """int64[hosts]: number of adapters of every host; endpoints are numbered host by host."""
        return np.array([len(host.adapters) for host in self.hosts], np.int64)

    @property
    def network_use(self) -> NetworkUse:
        return NetworkUse(self._endpoint_of_core, self._slot_endpoints)

    def _endpoint_of_core(self) -> Int32:
        """int32[n_cores]: adapter each core sends through, by `rails`."""
        node = self.node_of_core().astype(np.int64)
        adapters = self.adapters_per_host
        first = np.cumsum(adapters) - adapters
        if self.rails == "first":
            return first[node].astype(np.int32)
        cores = np.bincount(node, minlength=len(self.hosts))
        rank = np.arange(len(node)) - (np.cumsum(cores) - cores)[node]
        # A host outside the job may have fewer adapters than those of the job share.
        count = np.minimum(adapters, self._adapters_each()[0]) if self.rails == "same" else adapters
        return (first[node] + rank * count[node] // cores[node]).astype(np.int32)

    def _slot_endpoints(
        self, nodes: Int32, gpus: Int32 | None, inventory: NodeInventory | None
    ) -> tuple[Int32 | None, tuple[str, ...]]:
        """int32[slots]: adapter nearest to the GPU of each slot with ``rails=gpu``, else None."""
        if self.rails != "gpu":
            return None, ()
        if gpus is None:
            raise UnsupportedError(
                "rails=gpu needs a slot per GPU: `per='gpu'`, and nodes that know their GPUs (hwloc:FILE)"
            )
        return _adapters_of_gpus(self.hosts, nodes, gpus, inventory)

    def split_nodes(self, nodes: Int64) -> list[Int64]:
        """Cut by the hops between the switches that the first adapters of the nodes are connected to.

        Switches that keep the largest distance from each other are parts; where that gives no
        clusters, the parts are two compact halves. Each host of a single switch is a part.
        """
        first = np.array([self.hosts[node].adapters[0] for node in nodes.tolist()], np.int64)
        leaf = leaf_switches(self.fabric)[first].astype(np.int64)
        leaves, representative, position = np.unique(leaf, return_index=True, return_inverse=True)
        if len(leaves) == 1 or leaves[0] < 0:
            return list(nodes[:, None])
        hops = self.arrival[np.ix_(leaves, first[representative])].astype(np.int64)
        hops[hops < 0] = int(hops.max()) + 1
        return parts_of(nodes, split_by_distance(hops + hops.T)[position])


def _names_hint(hosts: tuple[Host, ...]) -> str:
    nameless = sum(not host.named for host in hosts)
    return f"; {nameless} adapters name no host: `node_name_map` gives their hosts" if nameless else ""


def _adapters_of_gpus(
    hosts: Sequence[Host], nodes: Int32, gpus: Int32, inventory: NodeInventory | None
) -> tuple[Int32, tuple[str, ...]]:
    """Return the endpoint of every slot, and what had to be assumed.

    Adapters are the same if they have the same name (``mlx5_0``); or else, where the fabric shows as many as
    the node has, by their order. Where that finds nothing for some GPU of a host, its GPUs take the adapters
    in their order, equal shares each.
    """
    first = np.cumsum([0, *(len(host.adapters) for host in hosts)])
    endpoints = np.empty(len(nodes), np.int32)
    unknown, most = 0, 0
    for node in np.unique(nodes).tolist():
        here, adapters = np.flatnonzero(nodes == node), len(hosts[node].adapters)
        most = max(most, adapters)
        near = _near(hosts[node], None if inventory is None else inventory.tree(node))
        own = [near.get(gpu) for gpu in gpus[here].tolist()]
        if None in own:
            unknown += 1
            own = [gpu * adapters // (int(gpus[here].max()) + 1) for gpu in gpus[here].tolist()]
        endpoints[here] = first[node] + np.array(own, np.int64)
    if not unknown or most < 2:
        return endpoints, ()
    s = "" if unknown == 1 else "s"
    return endpoints, (
        f"rails=gpu: on {unknown} host{s} it is unknown which adapter is nearest to which GPU, so GPUs take "
        "the adapters in their order (hwloc files of real nodes have it)",
    )


def _near(host: Host, tree: NodeTree | None) -> dict[int, int]:
    """Return the adapter of the host, by its index in the list, that is nearest to each GPU."""
    near = {gpu.index: gpu.adapter for gpu in (() if tree is None else tree.gpus) if gpu.adapter is not None}
    if all(adapter.name in host.adapter_names for adapter in near.values()):
        return {gpu: host.adapter_names.index(adapter.name) for gpu, adapter in near.items()}
    return {gpu: adapter.number for gpu, adapter in near.items() if adapter.together == len(host.adapters)}


def _network(fabric: Fabric, hosts: tuple[Host, ...], spread: bool) -> Network:
    """Return the network whose endpoints are the adapters of hosts, in their order.

    Adapters of no host and the links to them are left out; the other links keep their order.
    O(links + switches x endpoints).
    """
    assert fabric.forward is not None  # a machine has followed it
    switches = len(fabric.switches)
    numbers = np.array([number for host in hosts for number in host.adapters], np.int64)
    adapters = len(numbers)
    vertices = adapters + switches
    vertex = np.full(switches + len(fabric.adapters), -1, np.int64)
    vertex[switches + numbers] = np.arange(adapters)
    vertex[:switches] = adapters + np.arange(switches)
    source, target = vertex[fabric.link_source], vertex[fabric.link_target]
    kept = np.flatnonzero((source >= 0) & (target >= 0))
    tail, head = source[kept], target[kept].astype(np.int32)
    owner = [number for number, host in enumerate(hosts) for _ in host.adapters]
    owners = owner if adapters > len(hosts) else []  # nothing where every host has a single adapter
    if spread:
        if vertices * adapters > MAX_TABLE:
            entries = vertices * adapters
            what = f"all shortest ways between {adapters} adapters take a table of {entries} entries"
            keep = "keep the hosts of the job (ib:DIR:routes=spread:hosts=n[1-64])"
            raise UnsupportedError(f"{what}, expected at most {MAX_TABLE}: {keep}")
        rows = np.maximum(np.arange(-adapters, switches), -1).astype(np.int32)
        form = spread_routes(tail.astype(np.int32), head, rows, adapters, owners)
    else:
        number = np.full(fabric.n_links + 1, -1, np.int32)  # one more: -1 stays -1
        number[kept] = np.arange(len(kept))
        first = np.full(vertices, -1, np.int32)
        first[adapters:] = np.arange(switches)
        from_adapter = np.flatnonzero(tail < adapters)
        first[tail[from_adapter]] = -2 - from_adapter
        table = np.ascontiguousarray(number[fabric.forward[:, numbers]]).reshape(-1)
        sizes = np.array([adapters, vertices, len(kept), *owners], np.int64)
        form = RouteForm("forwarding", sizes, table, first, head)
    names = [f"{host.name} {label}" for host in hosts for label in host.adapter_names]
    names += [switch.name for switch in fabric.switches]

    def name_link(link: int) -> str:
        old = int(kept[link])
        ports = f"port {int(fabric.link_source_port[old])} to {int(fabric.link_target_port[old])}"
        return f"{names[int(source[old])]} -> {names[int(target[old])]} ({ports})"

    unit = "bytes/s" if int(fabric.link_capacity.max(initial=1)) > 1 else "as given"
    capacity = np.ascontiguousarray(fabric.link_capacity[kept])
    return Network(
        form, adapters, switches, capacity, name_link, names.__getitem__,
        lambda: Wiring(tail, target[kept], np.arange(adapters), vertices), unit=unit,
    )
