"""Places of nodes that a cluster manager tells node by node: labels of Kubernetes, addresses of Slurm."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from hopbytes.errors import FormatError
from hopbytes.fabrics.switch_tree import Switch, SwitchTree
from hopbytes.textio.lines import read_bytes

MAX_FILE = 2**30
#: Labels that name the place of a node, from the outermost unit inwards, and what such a unit is called.
LABELS = {
    "topology.kubernetes.io/region": "region",
    "topology.kubernetes.io/zone": "zone",
    "network.topology.nvidia.com/datacenter": "core",
    "network.topology.nvidia.com/core": "core",
    **{f"fabric.topograph.run/tier-{tier}": f"tier{tier}" for tier in range(9, -1, -1)},
    "network.topology.nvidia.com/spine": "spine",
    "network.topology.nvidia.com/block": "leaf",
    "network.topology.nvidia.com/leaf": "leaf",
    "cloud.google.com/gce-topology-block": "block",
    "cloud.google.com/gce-topology-subblock": "subblock",
    "cloud.provider.com/topology-block": "block",
    "cloud.provider.com/topology-rack": "rack",
    "accelerator.topograph.run/domain": "domain",
    "network.topology.nvidia.com/accelerator": "domain",
    "nvidia.com/gpu.clique": "domain",
    "accelerator.topograph.run/sub-domain": "subdomain",
}
HOST_NAME_LABEL = "kubernetes.io/hostname"
#: SLURM_TOPOLOGY_ADDR_PATTERN: kinds of the units of an address.
PATTERN = re.compile(r"(?:(?:switch|block|leaf|spine|ring|torus3d)\.)*node")
NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Place(NamedTuple):
    """A node, the names of the units it lies in, outermost first, and the line that says so."""

    node: str
    units: tuple[str, ...]
    line: int | None


def read_node_labels(path: str) -> SwitchTree:
    """Read where nodes are.

    Parameters
    ----------
    path : str
        One of: the output of ``kubectl get nodes -o json``; a JSON object with, for each node (or its
        address), a switch, a list of units from the outermost inwards, or its labels; lines with a node and
        its ``SLURM_TOPOLOGY_ADDR``, or the address alone, each possibly followed by
        ``SLURM_TOPOLOGY_ADDR_PATTERN``. Possibly compressed.

    Returns
    -------
    SwitchTree
        Nodes in the order of the file.

    Raises
    ------
    FormatError
        With the path and, where it is known, the line: another structure, a node twice, nodes with
        different numbers of units, nodes without a known label.

    Notes
    -----
    Labels whose values are fewer are further outwards. O(nodes x labels). Sources: "Topograph node labels and
    annotations" (NVIDIA), Kubernetes documentation "Well-known labels", srun(1) on SLURM_TOPOLOGY_ADDR.
    """
    data = read_bytes(path, MAX_FILE)
    if data.lstrip()[:1] == b"{":
        try:
            places, kinds = _from_json(path, json.loads(data))
        except (ValueError, RecursionError) as error:
            if isinstance(error, FormatError):
                raise
            line = getattr(error, "lineno", None)
            raise FormatError(path, line, "not JSON, expected an object with a place per node") from None
    else:
        places, kinds = _from_lines(path, data), ()
    _check(path, places)
    return _tree(path, places, kinds)


def _from_json(path: str, found: Any) -> tuple[list[Place], tuple[str, ...]]:
    """Return the places of a JSON object, and the kinds of units where labels tell them."""
    if isinstance(found.get("items"), list):
        labelled = {}
        for number, item in enumerate(found["items"]):
            facts = item.get("metadata") if isinstance(item, dict) else None
            labels = facts.get("labels", {}) if isinstance(facts, dict) else None
            if not isinstance(labels, dict) or not isinstance(facts, dict):
                raise FormatError(path, None, f"item {number} has no metadata, expected a node of Kubernetes")
            name = str(labels.get(HOST_NAME_LABEL) or facts.get("name"))
            if name in labelled:
                raise FormatError(path, None, f"node {name[:60]!r} a second time")
            labelled[name] = labels
        return _labelled(path, labelled)
    if found and all(isinstance(value, dict) for value in found.values()):
        return _labelled(path, found)
    places = []
    for node, value in found.items():
        units = [value] if isinstance(value, str) else value
        if not isinstance(units, list) or not units or not all(isinstance(unit, str) for unit in units):
            what = f"node {node[:60]!r}: {str(value)[:40]!r}, expected a switch, a list of them, or labels"
            raise FormatError(path, None, what)
        places.append(Place(node, tuple(units), None))
    return places, ()


def _labelled(path: str, nodes: dict[str, dict[str, Any]]) -> tuple[list[Place], tuple[str, ...]]:
    values: dict[str, dict[str, str]] = {}
    for label in LABELS:
        own = {node: str(labels[label]) for node, labels in nodes.items() if labels.get(label)}
        if own:
            values[label] = own
    if not values:
        known = ", ".join(list(LABELS)[-4:-1])
        raise FormatError(path, None, f"no node has a label with its place, expected one of {known}, …")
    for label, own in values.items():
        missing = next((node for node in nodes if node not in own), None)
        if missing is not None:
            raise FormatError(path, None, f"node {missing[:60]!r} has no label {label}, {len(own)} have it")
    order = sorted(values, key=lambda label: len(set(values[label].values())))  # stable: LABELS' order
    places = [Place(node, tuple(values[label][node] for label in order), None) for node in nodes]
    return places, tuple(LABELS[label] for label in order)


def _from_lines(path: str, data: bytes) -> list[Place]:
    places = []
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
        places.append(Place(node, tuple(units.split(".")) if units else (), number))
    return places


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


def _tree(path: str, places: list[Place], kinds: tuple[str, ...]) -> SwitchTree:
    """Return the tree; units of one name in different outer units are different units."""
    tree = SwitchTree(path)
    names: dict[tuple[str, ...], str] = {}
    for node, units, line in places:
        for depth in range(1, len(units) + 1):
            whole = units[:depth]
            if whole in names:
                continue
            name = whole[-1] if whole[-1] not in tree.switches else "/".join(whole)
            names[whole] = name
            tree.add(Switch(name, line, kind=kinds[depth - 1] if kinds else ""))
            if depth > 1:
                tree.switches[names[whole[:-1]]].switches.append(name)
        if not units and () not in names:
            names[()] = "all nodes"
            tree.add(Switch("all nodes", line))
        tree.switches[names[units]].hosts.append(node)
    return tree
