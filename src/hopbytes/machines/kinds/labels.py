"""Nodes at places that labels of Kubernetes, addresses of Slurm or a table of switches tell."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, NamedTuple

from hopbytes.errors import FormatError
from hopbytes.fabrics.switch_tree import Switch, SwitchTree
from hopbytes.machines.base import machines
from hopbytes.machines.named_tree import TREE_KEYS, NamedTree
from hopbytes.machines.spec_fields import file_spec
from hopbytes.text.documents import parse_json
from hopbytes.text.lines import natural_key, read_bytes, some_of

MAX_FILE = 2**30
AWS, COREWEAVE, GKE = "topology.k8s.aws", "coreweave.cloud", "cloud.google.com/gce-topology"
NEBIUS, NVIDIA = "topology.nebius.com", "network.topology.nvidia.com"
#: What topograph has put before its labels.
TOPOGRAPH = (NVIDIA, "network.topology.kubernetes.io")
#: Labels that name the place of a node, from the outermost unit inwards, and what such a unit is called.
LABELS = {
    "topology.kubernetes.io/region": "region", "failure-domain.beta.kubernetes.io/region": "region",
    "topology.kubernetes.io/zone": "zone", "failure-domain.beta.kubernetes.io/zone": "zone",
    **{f"{prefix}/{unit}": "core" for prefix in TOPOGRAPH for unit in ("datacenter", "core")},
    **{f"fabric.topograph.run/tier-{tier}": f"tier{tier}" for tier in range(9, -1, -1)},
    **{f"{NVIDIA}/tier-{tier}": f"tier{tier}" for tier in range(9, -1, -1)},
    **{f"topology.kubernetes.io/network-level-{level}": f"level{level}" for level in range(9, 0, -1)},
    **{f"{prefix}/spine": "spine" for prefix in TOPOGRAPH},
    **{f"{prefix}/{unit}": "leaf" for prefix in TOPOGRAPH for unit in ("block", "leaf")},
    **{f"{AWS}/network-node-layer-{layer}": f"layer{layer}" for layer in range(1, 10)},
    f"{GKE}-block": "block", f"{GKE}-subblock": "subblock", f"{GKE}-host": "chassis",
    "topology.gke.io/cluster": "cluster", "topology.gke.io/rack": "rack", "topology.gke.io/host": "chassis",
    "oci.oraclecloud.com/rdma.hpc_island_id": "island", "oci.oraclecloud.com/rdma.network_block_id": "block",
    "oci.oraclecloud.com/rdma.local_block_id": "localblock",
    "oci.oraclecloud.com/host.network_block_id": "block", "oci.oraclecloud.com/host.rack_id": "rack",
    **{f"{prefix}.{COREWEAVE}/{unit}": unit for unit in ("fabric", "superpod", "leafgroup")
       for prefix in ("backend", "ib")},
    f"node.{COREWEAVE}/rack": "rack",
    f"{NEBIUS}/gpu-cluster-id": "cluster",
    **{f"{NEBIUS}/tier-{tier}": f"tier{tier}" for tier in range(9, -1, -1)},
    "crusoe.ai/ib.partition.id": "partition", "crusoe.ai/pod.id": "pod",
    "alibabacloud.com/point-of-delivery": "pod", "alibabacloud.com/asw-id": "leaf",
    "kubernetes.azure.com/ppg": "group",
    "volcano.sh/hypercluster": "cluster", "volcano.sh/superpod": "superpod",
    "volcano.sh/hypernode": "hypernode", "volcano.sh/tor": "leaf",
    "topology.gpustack.ai/room": "room", "topology.gpustack.ai/row": "row",
    "topology.gpustack.ai/rack": "rack", "topology.kubernetes.io/rack": "rack",
    "topology.gpustack.ai/switch": "leaf",
    "cloud.provider.com/topology-block": "block", "cloud.provider.com/topology-rack": "rack",
}  # fmt: skip
#: Labels of nodes that share NVLink or its like; a node without one of them shares it with no other.
DOMAINS = {
    "accelerator.topograph.run/domain": "domain",
    **{f"{prefix}/accelerator": "domain" for prefix in TOPOGRAPH},
    f"{AWS}/ultraserver-id": "domain", "ds.coreweave.com/nvlink.domain": "domain",
    "oci.oraclecloud.com/host.gpu_memory_fabric_id": "domain", f"{NEBIUS}/nvl-instance-group-id": "domain",
    "topology.gpustack.ai/accelerator-domain": "domain", "nvidia.com/gpu.clique": "domain",
    "accelerator.topograph.run/sub-domain": "subdomain",
}  # fmt: skip
KNOWN = LABELS | DOMAINS
#: Labels that every node of a cloud may have, whether it does the work of jobs or not.
EVERYWHERE = ("region", "zone")
#: Words in the names of labels that probably tell places.
TELLING = re.compile(r"topolog|block|rack|leaf|fabric|island|spine|switch", re.IGNORECASE)
HOST_NAME_LABEL = "kubernetes.io/hostname"
#: SLURM_TOPOLOGY_ADDR_PATTERN: kinds of the units of an address.
PATTERN = re.compile(r"(?:(?:switch|block|leaf|spine|ring|torus3d)\.)*node")
NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")
HOW = "kubectl get nodes -o json"
AS_LISTS = 'JSON like {"NODE": ["OUTER UNIT", "INNER UNIT"]} gives the switches of nodes by any of them'
#: YAML, and tables and descriptions of kubectl.
NO_JSON = re.compile(rb"\AN(?:AME|ame:)\s|^[ -]*apiVersion:", re.MULTILINE)


class Place(NamedTuple):
    """A node, the names of the units it lies in, outermost first, and the line that says so."""

    node: str
    units: tuple[str, ...]
    line: int | None


class Places(NamedTuple):
    """Places of nodes, the kinds of units (or none), and what to say."""

    places: list[Place]
    kinds: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


def read_node_labels(path: str) -> SwitchTree:
    """Read where nodes are.

    Labels whose values are fewer are further outwards. Nodes without the labels of the others are left out,
    with a notice. O(nodes x labels). Sources: "Topograph node labels and annotations" (NVIDIA), Kubernetes
    documentation "Well-known labels", srun(1) on SLURM_TOPOLOGY_ADDR; of clouds the documentation of Amazon
    EKS, GKE, OKE, CoreWeave ("InfiniBand Labels"), ACK Lingjun, and the sources of Crusoe's, Nebius' and
    GPUStack's schedulers.
    """
    data = read_bytes(path, MAX_FILE)
    if data.lstrip()[:1] in (b"{", b"["):
        found = _from_json(path, parse_json(data, path, "an object with the switches of nodes"))
    else:
        found = Places(_from_lines(path, data))
    _check(path, found.places)
    return _tree(path, found)


def _from_json(path: str, found: Any) -> Places:
    items = found if isinstance(found, list) else found.get("items")
    if isinstance(found, dict) and found.get("kind") == "Node":
        items = [found]
    if isinstance(items, list):
        labelled = {}
        for number, item in enumerate(items):
            facts = item.get("metadata") if isinstance(item, dict) else None
            labels = (facts.get("labels") or {}) if isinstance(facts, dict) else None
            kind = item.get("kind", "Node") if isinstance(item, dict) else "Node"
            if not isinstance(labels, dict) or not isinstance(facts, dict) or kind != "Node":
                what = "has no metadata" if kind == "Node" else f"is a {str(kind)[:40]}"
                raise FormatError(path, None, f"item {number} {what}, expected a node of Kubernetes ({HOW})")
            name = str(labels.get(HOST_NAME_LABEL) or facts.get("name"))
            if name in labelled:
                raise FormatError(path, None, f"node {name[:60]!r} a second time")
            labelled[name] = labels
        if not labelled:
            raise FormatError(path, None, f"a list without nodes, expected nodes of Kubernetes ({HOW})")
        return _labelled(path, labelled)
    if {"apiVersion", "kind"} <= found.keys():
        what = f"a {str(found['kind'])[:40]} of Kubernetes, expected its nodes ({HOW})"
        raise FormatError(path, None, what)
    if found and all(isinstance(value, dict) for value in found.values()):
        return _labelled(path, found)
    places = []
    for node, value in found.items():
        units = [value] if isinstance(value, str) else value
        if not isinstance(units, list) or not units or not all(isinstance(unit, str) for unit in units):
            what = f"node {node[:60]!r}: {str(value)[:40]!r}, expected a switch, a list of them, or labels"
            raise FormatError(path, None, what)
        places.append(Place(node, tuple(units), None))
    return Places(places)


def _labelled(path: str, nodes: dict[str, dict[str, Any]]) -> Places:
    """Return places by the known labels; units with fewer values are further outwards."""
    values = _values(nodes, KNOWN)
    inner = {label: own for label, own in values.items() if KNOWN[label] not in EVERYWHERE}
    unknown = [label for label, own in _values(nodes, None).items() if len(set(own.values())) > 1]
    if not values:
        telling = f"; {', '.join(unknown[:3])} may name its switches: {AS_LISTS}" if unknown else ""
        known = ", ".join([*list(LABELS)[2:3], f"{AWS}/network-node-layer-1", f"{GKE}-block"])
        what = f"no node has a known label that names its switches, expected one of {known}, …{telling}"
        raise FormatError(path, None, what)
    notices = []
    # Nodes of the control plane, or outside the network of the others, have none of its labels.
    required = [label for label in inner if label in LABELS] or list(inner) or list(values)
    kept = [node for node in nodes if any(node in values[label] for label in required)]
    partial = {label: [node for node in kept if node not in values[label]] for label in values}
    without = {
        node for label in required for node in partial[label]
        if label in LABELS and 2 * len(partial[label]) <= len(kept)
    }  # fmt: skip
    kept = [node for node in kept if node not in without]
    if not kept:
        label = next(label for label in required if partial[label])
        raise FormatError(path, None, f"node {partial[label][0][:60]!r} has no label {label}, others have it")
    left = sorted(nodes.keys() - set(kept), key=natural_key)
    if left:
        count = f"{len(left)} of {len(nodes)} nodes"
        notices.append(f"{count} without the labels of the others are left out: {some_of(left)}")
    for label, missing in partial.items():
        alone = [node for node in missing if node not in without]
        if alone and label in DOMAINS:
            values[label] |= {node: f"{node} alone" for node in alone}
            notices.append(f"{len(alone)} nodes without {label} ({alone[0]} …): each by itself")
        elif alone:
            del values[label]
            notices.append(f"label {label} is not used: {len(alone)} nodes do not have it")
    counts = {label: len({own[node] for node in kept}) for label, own in values.items()}
    # A value of its own for every node says nothing. The sort is stable.
    order = sorted((label for label in counts if not 1 < counts[label] == len(kept)), key=counts.__getitem__)
    if unknown and max((counts[label] for label in order), default=1) == 1:
        same = f"all nodes have the same {', '.join(order)}" if order else "no known label joins nodes"
        notices.append(f"{same}, and of other labels {', '.join(unknown[:4])} may name switches: {AS_LISTS}")
    places = [Place(node, tuple(values[label][node] for label in order), None) for node in kept]
    return Places(places, tuple(KNOWN[label] for label in order), tuple(notices))


def _values(nodes: dict[str, dict[str, Any]], known: Collection[str] | None) -> dict[str, dict[str, str]]:
    """Values of labels by node: of those given, or else of others whose names suggest a place."""
    found: dict[str, dict[str, str]] = {label: {} for label in known or ()}
    for node, labels in nodes.items():
        for label, value in labels.items():
            wanted = label in found or (known is None and label not in KNOWN and TELLING.search(label))
            if wanted and value not in (None, ""):
                found.setdefault(label, {})[node] = str(value)
    return {label: own for label, own in found.items() if own}


def _from_lines(path: str, data: bytes) -> list[Place]:
    if NO_JSON.search(data[:4096]):
        raise FormatError(path, 1, f"YAML or a table of kubectl, expected JSON: {HOW}")
    places: dict[Place, int] = {}  # srun may start several tasks on a node: equal lines count once
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        pattern = words.pop() if len(words) > 1 and PATTERN.fullmatch(words[-1]) else None
        address = words[-1]
        node = words[0] if len(words) > 1 else None
        if node is not None and address != node and not address.endswith("." + node):
            raise FormatError(path, number, f"address {address[:60]!r} does not end with node {node[:40]!r}")
        if node is None:
            node = address.split(".", pattern.count("."))[-1] if pattern else address.rpartition(".")[2]
        if len(words) > 2:
            raise FormatError(path, number, f"{len(words)} words, expected a node and its address")
        units = address[: -len(node) - 1]
        places.setdefault(Place(node, tuple(units.split(".")) if units else (), None), number)
    return [place._replace(line=number) for place, number in places.items()]


def _check(path: str, places: list[Place]) -> None:
    if not places:
        raise FormatError(path, None, "no node, expected one per line or a JSON object")
    seen: set[str] = set()
    depth = len(places[0].units)
    for node, units, line in places:
        if not NODE.fullmatch(node):
            raise FormatError(path, line, f"node {node[:40]!r}, expected letters, digits and . _ -")
        if node in seen:
            raise FormatError(path, line, f"node {node[:60]!r} a second time")
        seen.add(node)
        if len(units) != depth or not all(units):
            what = f"node {node[:60]!r} lies in {len(units)} units, expected {depth} as the first one"
            raise FormatError(path, line, what)


def _tree(path: str, found: Places) -> SwitchTree:
    """Return the tree; units of one name in different outer units are different units."""
    tree = SwitchTree(path, notices=list(found.notices))
    places, kinds = found.places, found.kinds
    names: dict[tuple[str, ...], str] = {}
    for node, units, line in places:
        for depth in range(1, len(units) + 1):
            whole = units[:depth]
            if whole in names:
                continue
            kind = kinds[depth - 1] if kinds else ""
            name = whole[-1] if whole[-1] not in tree.switches else "/".join(whole)
            while name in tree.switches:  # units of different levels, numbered alike
                name = f"{kind or 'unit'} {name}"
            names[whole] = name
            tree.add(Switch(name, line, kind=kind))
            if depth > 1:
                tree.switches[names[whole[:-1]]].switches.append(name)
        if not units and () not in names:
            names[()] = "all nodes"
            tree.add(Switch("all nodes", line))
        tree.switches[names[units]].hosts.append(node)
    return tree


@machines.register("labels")
class NodeLabels(NamedTree):
    """Nodes below the units that a cluster manager names for each of them: ``labels:nodes.json``.

    Reads ``kubectl get nodes -o json``, JSON such as ``{"10.0.0.1": "switch1"}``, and lines with a node and
    its ``SLURM_TOPOLOGY_ADDR``. Options: ``hosts=n[1-8]`` (or ``@n[1-8]``) keeps some nodes, ``leaf=50``
    and the like replace distances.
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> NamedTree:
        spec = file_spec("labels", text, TREE_KEYS)
        return cls.from_switches("labels", spec, read_node_labels(spec.path))
