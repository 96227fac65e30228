"""Cluster models of NVIDIA topograph: switches above blocks of nodes, with NVLink domains."""

from __future__ import annotations

from hopbytes.fabrics.switch_tree import Switch, SwitchTree
from hopbytes.fabrics.yaml_text import Yaml, read_yaml
from hopbytes.hostlist import expand_hosts

#: The annotation that names the NVLink domain of a block ends so.
DOMAIN = "/domain"


def read_topograph(path: str) -> SwitchTree:
    """Read a cluster model: ``switches:`` with those below each, ``blocks:`` with a switch and nodes each.

    Parameters
    ----------
    path : str
        YAML, possibly compressed.

    Returns
    -------
    SwitchTree
        Blocks are the innermost units: the nodes of one share an NVLink domain.

    Raises
    ------
    FormatError
        With path and line: another structure, a block below an unknown switch.

    Notes
    -----
    O(bytes + hosts). Source: the models in the tests of NVIDIA/topograph.
    """
    document = read_yaml(path).mapping("the document")
    if "blocks" not in document:
        raise read_yaml(path).fail("no blocks:, expected the nodes of the cluster there")
    tree = SwitchTree(path, level_names=("block", "leaf"))
    if "switches" in document:
        for name, switch in document["switches"].mapping("switches").items():
            pairs = switch.mapping(f"switch {name!r}") if switch.value else {}
            below = pairs["switches"].items("switches") if "switches" in pairs else iter(())
            tree.add(Switch(name, switch.line, [child.text("a switch") for child in below]))
    # Switches that only appear below others are leaves.
    for switch_below in [child for above in list(tree.switches.values()) for child in above.switches]:
        if switch_below not in tree.switches:
            tree.add(Switch(switch_below, None))
    for number, block in enumerate(document["blocks"].items("blocks")):
        _add_block(tree, block, number)
    return tree


def _add_block(tree: SwitchTree, block: Yaml, number: int) -> None:
    pairs = block.mapping("a block")
    if "nodes" not in pairs:
        raise block.fail("a block without nodes:")
    hosts = [
        host
        for word in pairs["nodes"].items("nodes")
        for host in expand_hosts(word.text("a node"), block.path, word.line)
    ]
    name = _domain(pairs) or f"block{number}"
    tree.add(Switch(f"domain {name}" if name in tree.switches else name, block.line, [], hosts))
    if "switch" in pairs:
        above = pairs["switch"].text("switch")
        if above not in tree.switches:
            raise pairs["switch"].fail(f"a block below switch {above!r}, which is never described")
        tree.switches[above].switches.append(next(reversed(tree.switches)))


def _domain(pairs: dict[str, Yaml]) -> str:
    notes = pairs["annotations"].mapping("annotations") if "annotations" in pairs else {}
    return next((note.text(key) for key, note in notes.items() if key.endswith(DOMAIN)), "")
