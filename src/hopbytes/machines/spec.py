"""The text form of machines: one grammar for all kinds.

::

    spec  = part { " / " part }                   network " / " node inside
    part  = tree | kind ":" whatever that kind reads
    tree  = level { " " level }                   outermost first
    level = name ":" count [ "@" distance ] { ":" key "=" value } [ ":rails" ]
    count = N | "[" N "," N … "]"                 one number per unit of the level outside
    key   = "bw" | "lat" | "over" | "cap"         cap takes a count: capacity of each unit

A kind is found by its name in the registry of machines and reads the rest of its part itself, so a
new topology needs no change here. A part that begins with any other word is a tree.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import replace

from hopbytes.errors import FormatError, damaged, nearest
from hopbytes.machines.base import GPU_NAMES, MAX_CAPACITY, NODE_NAMES, Level, Machine, machines
from hopbytes.machines.tree import MAX_LEVELS, WORDS, Count, Tree, bad, check_order, level_name, shorten
from hopbytes.text.open_input import open_stream

INTEGER = re.compile(r"[0-9]{1,19}", re.ASCII)
LEVEL_KEYS = {"bw": "bandwidth", "lat": "latency", "over": "oversubscription"}
#: Names of levels whose hosts share NVLink.
DOMAIN_NAMES = ("domain", "nvlink", "nvl")
HEAD = 4096
#: How the files that a kind reads begin, after comments and empty lines. No pattern and no mapping does.
BEGINNINGS = {
    "slurm": re.compile(rb"(?:SwitchName|BlockName|BlockSizes)\s*=|- topology:", re.IGNORECASE),
    "topograph": re.compile(rb"(?:switches|blocks):\s*\n"),
    "scotch": re.compile(rb"(?:tleaf|cmpltw?|deco|hcub|sub|torus[23X]D|mesh[23X]D)\s+[0-9]"),
    "nvidia": re.compile(rb"(?:\x1b\[[0-9;]*m)?GPU[0-9]{1,4}[ \t]"),
    "amd": re.compile(rb"=+ ROCm System Management|(?:ACCESS|WEIGHT|HOPS|LINK TYPE) TABLE:"),
}
#: What ibnetdiscover prints, after notes of its own.
DISCOVERY = re.compile(rb'^(?:(?:Switch|Ca|Hca)[ \t]+[0-9]+[ \t]+"[^"\n]+"|DR path .* -> )', re.MULTILINE)


def parse_machine(text: str) -> Machine:
    """Read a machine from its spec.

    >>> from hopbytes.machines.spec import parse_machine
    >>> parse_machine("node:2 core:[4,3]").spec()
    'node:2@10 core:[4,3]@1'
    """
    parts = [part.strip() for part in re.split(r"\s/\s", text)]
    if len(parts) > 1 and "[" not in text and all(map(_is_tree, parts)):
        parts = [" ".join(parts)]  # read as one tree, so that default distances grow over all of its levels
    head, *inside = parts
    timed = ":lat=" in head and _is_kind(head.partition(":")[0])  # behind a level it is that level's
    if not timed and not inside:
        return _parse_part(head).with_defaults_written()
    from hopbytes.machines.delegating import nest, take_latency, with_latency

    head, latency = take_latency(head) if timed else (head, None)
    machine = _parse_part(head)
    for part in inside:
        machine = nest(machine, part, _parse_part)
    machine = machine.with_defaults_written()
    return machine if latency is None else with_latency(machine, latency)


def from_hierarchy(hierarchy: str, distance: str | None = None) -> Tree:
    """Build the tree of the papers' strings, innermost level first."""
    counts = _integers("`hierarchy`", hierarchy, 1)
    if distance is None:
        distances = [10**inner for inner in range(len(counts))]
    else:
        distances = _integers("`distance`", distance, 0)
        if len(distances) != len(counts):
            what = f"{len(distances)} distances for {len(counts)} levels, expected one per level"
            raise FormatError("`distance`", None, what)
    tiers = [Level(f"level{inner + 1}", d) for inner, d in enumerate(distances)]
    return Tree(tuple(reversed(tiers)), tuple(reversed(counts)))


def with_distances(machine: Machine, distance: str) -> Machine:
    """Replace distances of named levels: ``"l3=3,package=12"``."""
    wanted = {}
    names = [level.name for level in machine.levels]
    for item in distance.split(","):
        name, equals, value = (word.strip() for word in item.partition("="))
        if not name or not equals or not INTEGER.fullmatch(value):
            what = f"{shorten(item)}, expected LEVEL=N with N an integer >= 0, like l3=3"
            raise FormatError("`machine(distance)`", None, what)
        meant = level_name(name)
        wanted[meant if name not in names and meant in names else name] = int(value)
    return machine.with_distances(wanted)


def _parse_part(text: str) -> Machine:
    name, colon, rest = text.partition(":")
    kind = _kind_called(name)
    if kind != "tree" and _is_kind(name) and (colon or machines[kind].stands_alone):
        with damaged(f"{name}:{rest.partition('@')[0][:200]}", f"what a machine of kind {kind} is made from"):
            return machines[kind].parse(rest)
    of_file = kind_of_file(text)
    with damaged(text.partition("@")[0][:200], "a file that describes a machine"):
        return _parse_tree(text) if of_file is None else machines[of_file].parse(text)


def _kind_called(name: str) -> str:
    return name.replace("+", "_plus")  # a kind has the name of its file, which cannot hold a plus


def _is_kind(name: str) -> bool:
    """Return whether a name is a kind of machine and not a level."""
    kind = _kind_called(name)
    return machines.holds(kind) if name in WORDS else kind in machines


def _is_tree(part: str) -> bool:
    return not _is_kind(part.partition(":")[0]) and kind_of_file(part) is None


def kind_of_file(path: str) -> str | None:
    """Return the kind whose spec ``kind:path`` reads a file; None for files that hold no machine.

    Looks at the first 4 KiB, after decompression. O(1).
    """
    if path == "-" or not os.path.isfile(path):
        return None
    try:
        with open_stream(path) as opened:
            head = opened.stream.peek(HEAD)[:HEAD]
    except FormatError:
        return None
    text = head.lstrip()
    if text.startswith(b"<"):
        roots = {b"<topology": "hwloc", b"<platform": "simgrid", b"<system": "nvidia"}
        return next((kind for root, kind in roots.items() if root in text), None)
    if text.startswith(b"{"):
        return "machine" if b'"hopbytes machine"' in text else None
    lines = head.split(b"\n")
    filled = (i for i, line in enumerate(lines) if line.strip() not in (b"", b"---") and line[:1] != b"#")
    text = b"\n".join(lines[next(filled, 0) :]).lstrip()
    kind = next((kind for kind, beginning in BEGINNINGS.items() if beginning.match(text)), None)
    return kind or ("ib" if DISCOVERY.search(head) else None)


def _parse_tree(text: str) -> Machine:
    # Blanks separate levels, and are harmless inside a list of counts.
    tokens = re.sub(r"\[[^\[\]]*\]", lambda found: "".join(found[0].split()), text).split()
    if not tokens:
        raise bad("an empty spec, expected levels like 'node:2@10 core:4@1'")
    if len(tokens) > MAX_LEVELS:
        raise bad(f"{len(tokens)} levels, expected at most {MAX_LEVELS}")
    tiers, children = [], []
    marked = ["rails" in token.split(":")[2:] for token in tokens]
    given = ["@" in token for token in tokens]
    if any(marked):
        tokens = [re.sub(":rails(?=:|$)", "", token, count=1) for token in tokens]
    for outside, token in enumerate(tokens):
        _check_product(token)
        try:
            level, count = _parse_level(token, default_distance=10 ** (len(tokens) - 1 - outside))
        except FormatError as error:
            # A comma before a name and a colon begins a level; those in lists stand between numbers.
            parted = re.sub(r"[,;]\s*(?=[A-Za-z_][A-Za-z0-9_-]*:)", " ", " ".join(tokens))
            if parted.split() != tokens:
                raise bad(f"levels are separated by blanks: {parted!r}") from None
            raise (_with_kinds(token, error) if outside == 0 else error) from None
        tiers.append(level)
        children.append(count)
    factor = 1  # a level whose units send less outwards is farther, where no distance is given
    for at in reversed(range(len(tiers))):
        factor *= math.ceil(tiers[at].oversubscription or 1)
        if not given[at] and factor > 1:
            tiers[at] = replace(tiers[at], distance=factor * tiers[at].distance)
    check_order([level.name for level in tiers], tokens)
    if any(marked):
        return _with_rails(tiers, children, marked, given)
    return Tree(tuple(tiers), tuple(children))


def _check_product(token: str) -> None:
    """Refuse the name of a product as a level, which would be a machine of as many cores."""
    name, _, count = token.partition(":")
    if name.lower() in ("dgx", "hgx"):
        hosts = count if count.isdigit() else "HOSTS"
        meant = f"rails:{hosts}x8 for hosts of 8 GPUs with a rail each, or nvidia:FILE (nvidia-smi topo -m)"
        raise bad(f"{shorten(name)} is not a machine kind, expected {meant}")


def _with_kinds(token: str, error: FormatError) -> FormatError:
    """Add the known kinds to the error about a first word that may have been meant as one."""
    word, _, rest = token.partition(":")
    known = list(machines)
    near = nearest(word, known)
    # The name of a file: kinds have no dots. A folder may be called like a kind that is written wrongly.
    if os.path.isfile(token) or "/" in word or re.search(r"\.[a-z]{2,5}$", word):
        there = "a folder" if os.path.isdir(token) else "a file that does not hold a machine"
        found = there if os.path.exists(token) else "no such file"
        folder = " (ib:FOLDER for what the InfiniBand tools print)" if there == "a folder" else ""
        what = f"{found}, expected one with a machine, KIND:FILE{folder} or a spec like 'node:8@10 core:4@1'"
        return FormatError(shorten(token), None, what)
    if near:
        hint = f"; did you mean {near[0]}:…?"
    elif re.match(r"[0-9\[-]", rest):  # the word is a level with an error in it, not a kind
        return error
    else:
        hint = f"; {shorten(word)} is not a machine kind (known: {', '.join(known)})"
    return bad(error.what + hint)


def _parse_level(token: str, default_distance: int) -> tuple[Level, Count]:
    def wrong(what: str) -> FormatError:
        return bad(f"{shorten(token)}{what}")

    name, *fields = token.split(":")
    if not fields:
        raise wrong(", expected NAME:COUNT[@DISTANCE] like core:4@1")
    count_text, at, distance_text = fields[0].partition("@")
    keys: dict[str, float] = {}
    capacity: tuple[int, ...] = ()
    for item in fields[1:]:
        key, _, value = item.partition("=")
        if key == "cap" and not capacity:
            sizes = _parse_count(token, value)
            capacity = sizes if isinstance(sizes, tuple) else (sizes,)
            continue
        if key not in LEVEL_KEYS or LEVEL_KEYS[key] in keys:
            raise wrong(f": {shorten(item)}, expected bw=NUMBER, lat=NUMBER, over=NUMBER or cap=N, each once")
        try:
            keys[LEVEL_KEYS[key]] = float(value)
        except ValueError:
            raise wrong(f": {shorten(item)}, expected a number") from None
        if key == "over" and not 1 <= keys[LEVEL_KEYS[key]] <= MAX_CAPACITY:
            raise wrong(f": {shorten(item)}, expected a number from 1 to {MAX_CAPACITY}")
    if at and not INTEGER.fullmatch(distance_text):
        raise wrong(f": distance {shorten(distance_text)}, expected an integer from 0 to 2**62")
    level = Level(level_name(name), int(distance_text) if at else default_distance, **keys, capacity=capacity)
    return level, _parse_count(token, count_text)


def _parse_count(token: str, text: str) -> Count:
    listed = text.startswith("[") and text.endswith("]")
    words = text[1:-1].split(",") if listed else [text]
    for word in words:
        if not INTEGER.fullmatch(word) or int(word) < 1:
            what = f"count {shorten(word)}, expected an integer >= 1 or a list like [8,8,6]"
            raise bad(f"{shorten(token)}: {what}")
    return tuple(map(int, words)) if listed else int(text)


def _integers(option: str, text: str, smallest: int) -> list[int]:
    numbers = []
    for word in text.split(":"):
        if not INTEGER.fullmatch(word.strip()) or int(word) < smallest:
            what = f"{shorten(word)} in {shorten(text)}, expected integers >= {smallest} like 4:8:4"
            raise FormatError(option, None, what)
        numbers.append(int(word))
    if len(numbers) > MAX_LEVELS:
        raise FormatError(option, None, f"{len(numbers)} levels, expected at most {MAX_LEVELS}")
    return numbers


def _with_rails(
    tiers: Sequence[Level], counts: Sequence[Count], marked: Sequence[bool], given: Sequence[bool]
) -> Machine:
    """Return levels of which that of GPUs has rails, ``node:32 gpu:8:rails``, as the machine ``rails:32x8``.

    A level above the hosts is a pod, whose hosts share leaf switches; hosts of one named ``domain`` or
    ``nvlink`` share NVLink. The distance of the level of hosts is that of GPUs on one rail of a pod; others
    are twice as far. Bandwidths of the levels of GPUs, hosts and pods are those of NVLink, adapters and links
    to spine switches.
    """
    names = [level.name for level in tiers]
    at = marked.index(True)
    if sum(marked) > 1 or names[at] not in GPU_NAMES:
        raise bad(f"rails of level {shorten(names[at])}, expected them at gpu: node:32 gpu:8:rails")
    if not at or names[at - 1] not in NODE_NAMES:
        raise bad("gpu with rails without hosts right above, expected levels like node:32 gpu:8:rails")
    above = list(tiers[: at - 1])
    domains = [level for level in above if level.name in DOMAIN_NAMES]
    pods = [level for level in above if level.name not in DOMAIN_NAMES]
    if len(domains) > 1 or len(pods) > 1 or (domains and above[-1] != domains[0]):
        found = shorten(" ".join(names[: at - 1]))
        raise bad(f"rails under levels {found}, expected at most pods and, inside, NVLink domains")
    sizes = [count for count in counts[: at + 1] if isinstance(count, int)]
    if len(sizes) <= at:
        raise bad("rails with unequal counts, expected the same number of hosts and GPUs everywhere")
    if any(given[: at - 1]):
        raise bad("rails: a distance above the hosts, expected none: it is twice that of the level of hosts")
    node, gpu = tiers[at - 1], tiers[at]
    if given[at - 1] and (node.distance % 2 or not node.distance):
        raise bad(f"rails: distance {node.distance} of hosts, expected an even number for two hops")
    hosts = math.prod(sizes[:at])
    text = f"{hosts}x{sizes[at]}" + (f":domain={sizes[at - 1]}" if domains else "")
    text += f":pod={hosts // sizes[0] if pods else hosts}"
    if node.bandwidth is not None:
        speeds = [level.bandwidth or node.bandwidth for level in (gpu, node, pods[0] if pods else node)]
        text += ":bw=" + "x".join(str(int(speed)) for speed in speeds)
    machine = machines["rails"].parse(text + (f"@{node.distance // 2}" if given[at - 1] else ""))
    if len(tiers) == at + 1 and gpu == Level(gpu.name, 1):
        return machine  # what is inside hosts may follow: node:4 gpu:8:rails / hwloc:node.xml
    from hopbytes.machines.network_machine import NetworkMachine

    assert isinstance(machine, NetworkMachine)
    return machine.nested(Tree(tuple(tiers[at:]), tuple(counts[at:])))
