"""Cluster models of NVIDIA topograph."""

from __future__ import annotations

from collections import Counter

from hopbytes.fabrics.switch_tree import Switch, SwitchTree
from hopbytes.machines.base import machines
from hopbytes.machines.named_tree import TREE_KEYS, NamedTree
from hopbytes.machines.spec_fields import file_spec
from hopbytes.text.documents import Yaml, read_yaml
from hopbytes.text.hostlist import expand_hosts
from hopbytes.text.lines import some_of

#: Ends of annotations and labels that name the NVLink domain of a block, and its part of the domain.
DOMAIN = ("/domain", "/accelerator")
PART = ("/sub-domain",)


def read_topograph(path: str) -> SwitchTree:
    """Read a cluster model: ``switches:`` with those below each, ``blocks:`` with a switch and nodes each."""
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
    domains: dict[str, list[str]] = {}
    blocks = [(block, block.mapping("a block")) for block in document["blocks"].items("blocks")]
    shared = Counter(_noted(pairs, DOMAIN) for _, pairs in blocks)
    for number, (block, pairs) in enumerate(blocks):
        domain = _noted(pairs, DOMAIN)
        alone = domain if shared[domain] == 1 else ""
        name = _add_block(tree, block, pairs, alone or _noted(pairs, PART) or f"block{number}")
        if shared[domain] > 1 and domain:
            domains.setdefault(domain, []).append(name)
    for domain, members in domains.items():
        _gather(tree, domain, members)
    return tree


def _add_block(tree: SwitchTree, block: Yaml, pairs: dict[str, Yaml], name: str) -> str:
    """Add a block below its switch; return the name it got."""
    if "nodes" not in pairs:
        raise block.fail("a block without nodes:")
    hosts = [
        host
        for word in pairs["nodes"].items("nodes")
        for host in expand_hosts(word.text("a node"), block.path, word.line)
    ]
    name = _free(tree, "block", name)
    tree.add(Switch(name, block.line, [], hosts))
    if "switch" in pairs:
        above = pairs["switch"].text("switch")
        if above not in tree.switches:
            raise pairs["switch"].fail(f"a block below switch {above!r}, which is never described")
        tree.switches[above].switches.append(name)
    return name


def _free(tree: SwitchTree, word: str, name: str) -> str:
    """Name for a new unit that differs from those of switches."""
    while name in tree.switches:
        name = f"{word} {name}"
    return name


def _noted(pairs: dict[str, Yaml], endings: tuple[str, ...]) -> str:
    """Text of the first annotation or label whose key ends as asked; empty without one."""
    for where in ("annotations", "labels"):
        notes = pairs[where].mapping(where) if where in pairs else {}
        for key, note in notes.items():
            if key.endswith(endings):
                return note.text(key)
    return ""


def _gather(tree: SwitchTree, domain: str, members: list[str]) -> None:
    """Put a unit around the blocks of a domain: below the lowest switch above all of them.

    Switches whose blocks all belong to the domain go inside it as they are. Where it has only a part of the
    blocks of a switch, these leave that switch, since nodes of one NVLink domain are nearer than
    nodes of one switch.
    """
    parents = {child: switch.name for switch in tree.switches.values() for child in switch.switches}
    whole = set(members)
    for name in members:  # switches that hold nothing else
        above = parents.get(name)
        while above is not None and whole.issuperset(tree.switches[above].switches):
            whole.add(above)
            above = parents.get(above)
    outermost = list(dict.fromkeys(_outermost(name, whole, parents) for name in members))
    if len(outermost) == 1 and tree.switches[outermost[0]].switches:
        return  # one switch has all of the domain and nothing else: it is the domain
    paths = [_path_up(name, parents) for name in outermost]
    common = next((name for name in paths[0] if all(name in path for path in paths)), None)
    torn = {parents[name] for name in outermost if parents.get(name) != common}
    unit = Switch(_free(tree, "domain", domain), None, outermost, kind="domain")
    tree.add(unit)
    if common is not None:  # at the place of the first of its parts
        below = tree.switches[common].switches
        firsts = [[name, *path][path.index(common)] for name, path in zip(outermost, paths, strict=True)]
        below.insert(min(map(below.index, firsts)), unit.name)
    for name in outermost:
        if name in parents:
            tree.switches[parents[name]].switches.remove(name)
    if torn:
        tree.notices.append(
            f"NVLink domain {domain} has only a part of the nodes of {some_of(sorted(torn))}: its nodes are "
            "taken to be nearer to each other than to the rest there"
        )


def _outermost(name: str, inside: set[str], parents: dict[str, str]) -> str:
    while parents.get(name) in inside:
        name = parents[name]
    return name


def _path_up(name: str, parents: dict[str, str]) -> list[str]:
    """Switches above a unit, lowest first; ends where they run in a circle."""
    path: list[str] = []
    above = parents.get(name)
    while above is not None and above not in path:
        path.append(above)
        above = parents.get(above)
    return path


@machines.register("topograph")
class Topograph(NamedTree):
    """Switches above blocks of nodes that share an NVLink domain: ``topograph:model.yaml``.

    Options: ``hosts=n[1-8]`` (or ``@n[1-8]``) keeps some nodes, ``leaf=50`` and the like replace distances.
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> NamedTree:
        spec = file_spec("topograph", text, TREE_KEYS)
        return cls.from_switches("topograph", spec, read_topograph(spec.path))
