"""Slurm's topology.yaml (25.05 and later): several named topologies in one file."""

from __future__ import annotations

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.fabrics.slurm_topology import LARGEST_RING, check_block_sizes, group_blocks
from hopbytes.fabrics.switch_tree import Switch, SwitchTree
from hopbytes.text.documents import Yaml, read_yaml
from hopbytes.text.hostlist import expand_hosts

KINDS = ("tree", "block", "flat", "ring", "torus3d")


@frozen
class GridOfHosts:
    """Hosts on a ring or a torus."""

    dims: tuple[int, ...]  # sizes, in the order x, y, z
    hosts: tuple[str, ...]  # the first dimension (x) runs fastest


def read_slurm_yaml(path: str, name: str | None = None) -> SwitchTree | GridOfHosts:
    """Read one topology of a topology.yaml."""
    topology = _choose(path, read_yaml(path), name)
    pairs = topology.mapping("a topology")
    _known(topology, "a topology", "topology", "cluster_default", *KINDS)
    kinds = [word for word in KINDS if word in pairs and not (word == "flat" and not _is_true(pairs[word]))]
    if len(kinds) != 1:
        found = " and ".join(kinds) or "none"
        raise topology.fail(f"a topology with {found}, expected one of {', '.join(KINDS)}")
    kind = kinds[0]
    if kind == "tree":
        return _tree(path, pairs["tree"])
    if kind == "block":
        return _blocks(path, pairs["block"])
    if kind == "flat":
        raise UnsupportedError(f"{path}:{topology.line}: a flat topology has no structure: use node:N")
    return _ring(pairs["ring"]) if kind == "ring" else _torus(pairs["torus3d"])


def _choose(path: str, document: Yaml, name: str | None) -> Yaml:
    found: dict[str, Yaml] = {}
    default = ""
    for entry in document.items("the document"):
        pairs = entry.mapping("a topology")
        if "topology" not in pairs:
            raise entry.fail("an entry without topology: NAME")
        label = pairs["topology"].text("topology")
        if label in found:
            raise entry.fail(f"topology {label!r} a second time, expected distinct names")
        found[label] = entry
        if "cluster_default" in pairs and _is_true(pairs["cluster_default"]):
            default = default or label  # the first one counts
    wanted = name or default or (next(iter(found)) if len(found) == 1 else "")
    if wanted not in found:
        known = ", ".join(found) or "none"
        what = f"no topology {wanted!r}" if wanted else "no topology is the default"
        raise FormatError(path, None, f"{what}, expected topology=NAME with one of {known}")
    return found[wanted]


def _is_true(value: Yaml) -> bool:
    return value.text("a switch").lower() in ("true", "yes", "on", "1")


def _known(entry: Yaml, what: str, *keys: str) -> dict[str, Yaml]:
    """Pairs of a mapping that may have these keys only, since Slurm refuses others."""
    pairs = entry.mapping(what)
    for key, value in pairs.items():
        if key not in keys:
            raise value.fail(f"{key[:40]}: in {what}, expected {', '.join(keys)}")
    return pairs


def _hosts(value: Yaml) -> list[str]:
    text = value.text("nodes")
    return [] if text in ("", "~", "null") else expand_hosts(text, value.path, value.line)


def _tree(path: str, body: Yaml) -> SwitchTree:
    tree = SwitchTree(path)
    _known(body, "tree", "switches")
    for entry in _list(body, "tree", "switches"):
        pairs = _known(entry, "a switch", "switch", "nodes", "children")
        if "switch" not in pairs or ("nodes" in pairs and "children" in pairs):
            raise entry.fail("a switch needs its name (switch:) and not both nodes: and children:")
        children: list[str] = []
        if "children" in pairs:
            below = pairs["children"]
            children = expand_hosts(below.text("children"), path, below.line)
        nodes = _hosts(pairs["nodes"]) if "nodes" in pairs else []
        tree.add(Switch(pairs["switch"].text("switch"), entry.line, children, nodes))
    return tree


def _blocks(path: str, body: Yaml) -> SwitchTree:
    blocks = SwitchTree(path, level_names=("block",))
    _known(body, "block", "block_sizes", "blocks")
    for entry in _list(body, "block", "blocks"):
        pairs = _known(entry, "a block", "block", "nodes")
        if "block" not in pairs:
            raise entry.fail("a block without a name (block:)")
        nodes = _hosts(pairs["nodes"]) if "nodes" in pairs else []
        blocks.add(Switch(pairs["block"].text("block"), entry.line, [], nodes))
    sizes: list[int] = []
    if "block_sizes" in body.mapping("block"):
        sizes = [size.integer("a block size") for size in _list(body, "block", "block_sizes")]
    check_block_sizes(path, body.line, sizes)
    return group_blocks(blocks, sizes)


def _list(body: Yaml, what: str, key: str) -> list[Yaml]:
    pairs = body.mapping(what)
    if key not in pairs:
        raise body.fail(f"{what} without {key}:")
    return list(pairs[key].items(key))


def _only(body: Yaml, what: str, key: str) -> dict[str, Yaml]:
    entries = _list(body, what, key)
    if len(entries) != 1:
        raise UnsupportedError(
            f"{body.path}:{body.line}: {len(entries)} {key} side by side; keep the one to use"
        )
    return entries[0].mapping(key)


def _ring(body: Yaml) -> GridOfHosts:
    _known(body, "ring", "rings")
    pairs = _only(body, "ring", "rings")
    wrong = next((key for key in pairs if key not in ("ring", "nodes")), None)
    if wrong is not None:
        raise pairs[wrong].fail(f"{wrong[:40]}: in a ring, expected ring and nodes")
    if "nodes" not in pairs:
        raise body.fail("a ring without nodes:")
    hosts = _hosts(pairs["nodes"])
    if len(hosts) > LARGEST_RING:
        raise pairs["nodes"].fail(f"a ring of {len(hosts)} nodes, Slurm takes {LARGEST_RING} at most")
    return GridOfHosts((len(hosts),), tuple(hosts))


def _torus(body: Yaml) -> GridOfHosts:
    pairs = _only(body, "torus3d", "toruses")
    if "nodes" not in pairs or "dims" not in pairs:
        raise UnsupportedError(f"{body.path}:{body.line}: a torus of regions cannot be read, list nodes:")
    sizes = pairs["dims"].mapping("dims")
    if set(sizes) != {"x", "y", "z"}:
        raise pairs["dims"].fail("dims, expected x, y and z")
    dims = tuple(sizes[axis].integer(axis, 1, 4096) for axis in "xyz")
    hosts = _hosts(pairs["nodes"])
    if len(hosts) != dims[0] * dims[1] * dims[2]:
        raise pairs["nodes"].fail(f"{len(hosts)} nodes, expected {dims[0]} x {dims[1]} x {dims[2]} of them")
    return GridOfHosts(dims, tuple(hosts))
