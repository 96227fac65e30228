"""Networks as Slurm describes them: topology.conf, topology.yaml and ``scontrol show topology``."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.fabrics.switch_tree import Switch, SwitchTree
from hopbytes.text.documents import Yaml, read_yaml
from hopbytes.text.hostlist import expand_hosts
from hopbytes.text.lines import read_lines
from hopbytes.text.open_input import open_stream, plain_name

MAX_BYTES = 2**28
LONGEST_LINE = 2**20
#: Bytes of a file that tell its kind.
HEAD = 2**12
#: A key, and a word or a quoted text; nothing where the next key follows at once.
PAIR = re.compile(r'\s*([A-Za-z_]+)\s*=\s*(?:"([^"]*)"|((?![A-Za-z_]+\s*=)[^\s"]*))(?=\s|$)', re.ASCII)
INCLUDE = re.compile(r"include\s+(\S+)", re.ASCII | re.IGNORECASE)
#: Largest number of nodes of a ring, and keys of records as Slurm configures and shows them.
LARGEST_RING = 16
KEYS = frozenset({
    "switchname", "switches", "nodes", "linkspeed", "level", "blockname", "blocksizes", "blockindex",
    "blocksize", "aggregatedblock", "ringname", "ringindex", "topology", "topologyname",
})  # fmt: skip


def read_records(path: str, depth: int = 0) -> Iterator[tuple[str, int, dict[str, str]]]:
    """Yield file, line and ``key=value`` pairs (keys in lower case) of every record of a topology file."""
    number, held, begin = 0, "", 1
    for number, text in enumerate(read_lines(path, MAX_BYTES, LONGEST_LINE), start=1):
        line = text.partition("#")[0].rstrip()
        begin = begin if held else number
        if line.endswith("\\"):
            held += line[:-1]
            if len(held) > LONGEST_LINE:
                raise FormatError(path, begin, f"a record of more than {LONGEST_LINE} characters")
            continue
        record, held = (held + line).strip(), ""
        included = INCLUDE.fullmatch(record)
        if included is not None and not depth:
            inside = _beside(path, begin, included[1])
            try:
                yield from read_records(inside, depth + 1)
            except FormatError as error:  # a file may name files of others, whose content stays theirs
                raise FormatError(error.where, error.line, "not a record of topology.conf") from None
        elif record:
            yield path, begin, _pairs(path, begin, record)
    if held:
        raise FormatError(path, number, "the file ends in a continued line, expected the rest of it")


def _pairs(path: str, number: int, record: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    at = 0
    while at < len(record):
        found = PAIR.match(record, at)
        if found is None or found[1].lower() in pairs:
            word = record[at:].split()[0]
            raise FormatError(path, number, f"{word[:40]!r}, expected KEY=VALUE with each key once")
        if found[1].lower() not in KEYS:
            raise FormatError(path, number, f"{found[1][:40]}=, which Slurm does not know in this file")
        pairs[found[1].lower()] = found[2] if found[2] is not None else found[3]
        at = found.end()
    return pairs


def _beside(path: str, number: int, name: str) -> str:
    """Path of an included file: one in the same folder, where Slurm looks for it, too."""
    inside = os.path.join(os.path.dirname(path), name)
    if os.path.basename(name) != name or not os.path.isfile(inside):
        raise FormatError(path, number, f"Include {name[:40]}, expected a file in the same folder")
    return inside


def read_slurm_topology(path: str) -> SwitchTree:
    """Read topology.conf, or what ``scontrol show topology`` prints, of the tree and block plugins.

    Inner switches of ``scontrol show topology`` list all nodes below them; only those without
    ``Switches=`` count. O(bytes + hosts). Source: topology.conf(5) and the readers of Slurm 26.05.
    """
    switches, blocks = SwitchTree(path), SwitchTree(path, level_names=("block",))
    sizes: list[int] = []
    shown: set[str] = set()  # as scontrol shows them, one per block or group of blocks
    for file, number, record in read_records(path):
        if "switchname" in record:
            switches.add(_switch(file, number, record))
        elif "blockname" in record:
            blocks.add(Switch(record["blockname"], number, [], _nodes(file, number, record)))
            shown |= {record["blocksize"]} if "blocksize" in record else set()
        elif "aggregatedblock" in record:
            shown |= {record["blocksize"]} if "blocksize" in record else set()
        elif "blocksizes" in record:
            sizes = _sizes(file, number, record["blocksizes"])
        elif "ringname" in record:
            raise UnsupportedError(f"{file}:{number}: rings are not trees: use torus:N for N nodes")
        else:
            raise FormatError(file, number, f"{next(iter(record))}=…, expected SwitchName= or BlockName=")
    if switches.switches and blocks.switches:
        raise FormatError(path, None, "both switches and blocks, expected one topology")
    if shown and not sizes:
        sizes = _sizes(path, None, ",".join(sorted(shown, key=lambda size: (len(size), size))))
    if blocks.switches:
        return group_blocks(blocks, sizes)
    if not switches.switches:
        raise FormatError(path, None, "neither SwitchName= nor BlockName=, expected one of them")
    return switches


def _switch(path: str, number: int, record: dict[str, str]) -> Switch:
    name = record["switchname"]
    if record.get("switches"):
        if record.get("nodes") and "level" not in record:
            raise FormatError(path, number, f"switch {name!r} with Nodes= and Switches=, which Slurm refuses")
        return Switch(name, number, expand_hosts(record["switches"], path, number))
    return Switch(name, number, [], _nodes(path, number, record))


def _nodes(path: str, number: int, record: dict[str, str]) -> list[str]:
    """Nodes of a switch or block; none where dynamic nodes are still to come."""
    return expand_hosts(record["nodes"], path, number) if record.get("nodes") else []


def _sizes(path: str, number: int | None, text: str) -> list[int]:
    words = text.split(",")
    if not all(word.isascii() and word.isdigit() and int(word[:9]) > 0 for word in words):
        raise FormatError(path, number, f"BlockSizes={text[:40]}, expected integers >= 1 like 4,8,16")
    sizes = [int(word[:9]) for word in words]
    check_block_sizes(path, number, sizes)
    return sizes


def check_block_sizes(path: str, number: int | None, sizes: list[int]) -> None:
    """Refuse sizes that do not grow from the first one by powers of two, as Slurm does."""
    for small, large in itertools.pairwise(sizes):
        times = large // sizes[0]
        if large <= small or large % sizes[0] or times & (times - 1):
            what = f"block size {large} after {small}, expected {sizes[0]} times growing powers of two"
            raise FormatError(path, number, what)


def group_blocks(blocks: SwitchTree, sizes: list[int]) -> SwitchTree:
    """Put levels of neighbouring blocks above blocks, one per block size beyond the first."""
    tree = SwitchTree(blocks.path, dict(blocks.switches), ("block", *(f"block{size}" for size in sizes[1:])))
    members, size_of_member = list(blocks.switches), sizes[0] if sizes else 1
    for size in sizes[1:]:
        each = size // size_of_member
        groups = [members[first : first + each] for first in range(0, len(members), each)]
        for number, group in enumerate(groups):
            tree.add(Switch(f"block{size}-{number}", None, group))
        members, size_of_member = [f"block{size}-{number}" for number in range(len(groups))], size
    return tree


KINDS = ("tree", "block", "flat", "ring", "torus3d")


@frozen
class GridOfHosts:
    """Hosts on a ring or a torus."""

    dims: tuple[int, ...]  # sizes, in the order x, y, z
    hosts: tuple[str, ...]  # the first dimension (x) runs fastest


def is_slurm_yaml(path: str) -> bool:
    """Tell whether a file is a topology.yaml: by its name, or because a list begins in its first line."""
    if plain_name(path).lower().endswith((".yaml", ".yml")):
        return True
    if not os.path.isfile(path):  # a pipe can be read only once
        return False
    with open_stream(path) as source:
        lines = source.stream.peek(HEAD)[:HEAD].split(b"\n")
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith(b"#")), b"")
    return first.startswith(b"-")


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


def _hosts(pairs: dict[str, Yaml]) -> list[str]:
    value = pairs.get("nodes")
    text = "" if value is None else value.text("nodes")
    return [] if value is None or text in ("", "~", "null") else expand_hosts(text, value.path, value.line)


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
        tree.add(Switch(pairs["switch"].text("switch"), entry.line, children, _hosts(pairs)))
    return tree


def _blocks(path: str, body: Yaml) -> SwitchTree:
    blocks = SwitchTree(path, level_names=("block",))
    _known(body, "block", "block_sizes", "blocks")
    for entry in _list(body, "block", "blocks"):
        pairs = _known(entry, "a block", "block", "nodes")
        if "block" not in pairs:
            raise entry.fail("a block without a name (block:)")
        blocks.add(Switch(pairs["block"].text("block"), entry.line, [], _hosts(pairs)))
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


def _only(body: Yaml, what: str, key: str) -> Yaml:
    entries = _list(body, what, key)
    if len(entries) != 1:
        raise UnsupportedError(
            f"{body.path}:{body.line}: {len(entries)} {key} side by side; keep the one to use"
        )
    return entries[0]


def _ring(body: Yaml) -> GridOfHosts:
    _known(body, "ring", "rings")
    pairs = _known(_only(body, "ring", "rings"), "a ring", "ring", "nodes")
    if "nodes" not in pairs:
        raise body.fail("a ring without nodes:")
    hosts = _hosts(pairs)
    if len(hosts) > LARGEST_RING:
        raise pairs["nodes"].fail(f"a ring of {len(hosts)} nodes, Slurm takes {LARGEST_RING} at most")
    return GridOfHosts((len(hosts),), tuple(hosts))


def _torus(body: Yaml) -> GridOfHosts:
    pairs = _only(body, "torus3d", "toruses").mapping("toruses")
    if "nodes" not in pairs or "dims" not in pairs:
        raise UnsupportedError(f"{body.path}:{body.line}: a torus of regions cannot be read, list nodes:")
    sizes = pairs["dims"].mapping("dims")
    if set(sizes) != {"x", "y", "z"}:
        raise pairs["dims"].fail("dims, expected x, y and z")
    dims = tuple(sizes[axis].integer(axis, 1, 4096) for axis in "xyz")
    hosts = _hosts(pairs)
    if len(hosts) != dims[0] * dims[1] * dims[2]:
        raise pairs["nodes"].fail(f"{len(hosts)} nodes, expected {dims[0]} x {dims[1]} x {dims[2]} of them")
    return GridOfHosts(dims, tuple(hosts))
