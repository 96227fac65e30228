"""Names of levels as people type them: plurals, capitals, levels in the wrong order, no level of nodes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hopbytes.errors import FormatError
from hopbytes.machines.topology import NODE_NAMES, Level

#: Levels outside nodes: a tree that has one of them but no node was meant to have nodes.
OUTSIDE_NODES = ("island", "rack", "cabinet", "switch", "chassis", "blade", "enclosure")
#: Levels inside nodes, and words for them that people use, with the range of depths at which each is found:
#: NUMA domains hold packages on some machines, and lie inside an L3 cache on others.
_INSIDE = {
    "package": (2, 2), "socket": (2, 2), "chip": (2, 2), "die": (2, 2), "numa": (2, 3), "group": (2, 3),
    "cmg": (2, 3), "ccd": (2, 3), "ccx": (3, 3), "cluster": (3, 3), "tile": (3, 3), "module": (3, 3),
    "l5": (3, 3), "l4": (3, 3), "l3": (3, 3), "l2": (3, 3), "gpu": (2, 3), "l1": (3, 4), "core": (4, 4),
    "pu": (5, 5),
}  # fmt: skip
_DEPTHS = dict.fromkeys(("island", "rack", "cabinet"), (0, 0)) | dict.fromkeys(NODE_NAMES, (1, 1)) | _INSIDE
_NUMBERED = re.compile(r"level[0-9]+")


def _words() -> dict[str, str]:
    """Every spelling that is understood, in lower case, with the name of its level."""
    names = (*NODE_NAMES, *OUTSIDE_NODES, *_INSIDE)
    plurals = {f"{name}es" if name.endswith(("s", "ch")) else f"{name}s": name for name in names}
    return {name: name for name in names} | plurals | {"numanode": "numa", "numanodes": "numa"}


WORDS = _words()


def level_name(word: str) -> str:
    """Return the name of the level that a word means: a known name in any case, also in the plural.

    Unknown words are returned unchanged.

    >>> level_name("Nodes"), level_name("L3"), level_name("switches"), level_name("Boxes")
    ('node', 'l3', 'switch', 'Boxes')
    """
    return WORDS.get(word.lower(), word) if isinstance(word, str) else word


def level_among(word: str, names: Sequence[str]) -> str:
    """Return what `word` is called among the levels `names`: itself, else the known level it means."""
    meant = level_name(word)
    return meant if word not in names and meant in names else word


def check_order(names: Sequence[str], tokens: Sequence[str]) -> None:
    """Refuse levels that are not written outermost first.

        >>> check_order(["core", "node"], ["core:6", "node:2"])
        Traceback (most recent call last):
            ...
        hopbytes.errors.FormatError: machine: node stands inside core: levels are written outermost first, \
    'node:2 core:6'

    """
    known = [(place, name) for place, name in enumerate(names) if name in _DEPTHS]
    for inner, name in sorted(known, key=lambda item: _DEPTHS[item[1]]):
        for _, outer in known[: known.index((inner, name))]:
            if _DEPTHS[name][1] < _DEPTHS[outer][0]:
                what = f"{name} stands inside {outer}: levels are written outermost first"
                raise FormatError("machine", None, f"{what}, '{_ordered(names, tokens)}'")


def _ordered(names: Sequence[str], tokens: Sequence[str]) -> str:
    depths = [_DEPTHS[name][0] for name in names if name in _DEPTHS]
    if depths == sorted(depths, reverse=True):  # the whole text was written innermost first
        return " ".join(tokens[::-1])
    order = sorted(range(len(names)), key=lambda place: _DEPTHS.get(names[place], (1, 1)))
    return " ".join(tokens[place] for place in order)


def one_host(levels: Sequence[Level], cores: int) -> str | None:
    """Say that a tree without nodes is taken as one host; None when it has nodes."""
    if any(level.name in NODE_NAMES for level in levels):
        return None
    wanted = f"no level is called {', '.join(NODE_NAMES[:-1])} or {NODE_NAMES[-1]}"
    return f"{wanted}: the machine is taken as ONE host with all {cores} cores"


def nodes_missing(levels: Sequence[Level], cores: int) -> tuple[str, ...]:
    """Sentences about a tree that was probably meant to have nodes: its names are not those of a host.

    >>> nodes_missing([Level("package", 3), Level("core", 1)], 8)
    ()
    >>> nodes_missing([Level("blade", 9), Level("core", 1)], 8)
    ('no level is called node, host or server: the machine is taken as ONE host with all 8 cores',)
    """
    notice = one_host(levels, cores)
    names = [level.name for level in levels]
    unknown = [name for name in names if name not in WORDS and not _NUMBERED.fullmatch(name)]
    near = {name: _near(name) for name in unknown}
    meant = [(name, level_name(found[0])) for name, found in near.items() if found]
    if notice is None or not (meant or len(unknown) > 1 or any(name in OUTSIDE_NODES for name in names)):
        return ()
    return (notice + (f" (did you mean {meant[0][1]} by {meant[0][0]!r}?)" if meant else ""),)


def _near(name: str) -> list[str]:
    """Return the name of nodes that is spelled most like `name`, if one is near."""
    import difflib

    return difflib.get_close_matches(name.lower(), (*NODE_NAMES, "nodes", "hosts", "servers"), 1, 0.75)


def assumed(hierarchy: str | None, distance: str | None, levels: Sequence[Level]) -> tuple[str, ...]:
    """Say what the papers' notation leaves open, when no distances were given with it.

    >>> print(assumed("4:2", None, [Level("level2", 10), Level("level1", 1)])[0])   # doctest: +ELLIPSIS
    `hierarchy='4:2'`: distances 1:10 (`distance` gives others); ... (nodes: `machine='node:2@10 core:4@1'`)
    """
    if hierarchy is None or distance is not None:
        return ()
    distances = ":".join(str(level.distance) for level in reversed(levels))
    counts = [word.strip() for word in reversed(hierarchy.split(":"))]
    names = {1: ["node"], 2: ["node", "core"], 3: ["node", "package", "core"]}.get(len(levels), [])
    spec = " ".join(
        f"{name}:{count}@{level.distance}" for name, count, level in zip(names, counts, levels, strict=False)
    )
    named = f" (nodes: `machine='{spec}'`)" if names else " (`machine` names the level of nodes)"
    return (
        f"`hierarchy={hierarchy!r}`: distances {distances} (`distance` gives others); its levels have no "
        f"names, so the machine is taken as ONE host{named}",
    )


def without_commas(tokens: Sequence[str]) -> str | None:
    """Return the levels of a spec whose levels are separated by commas, as they should be written.

    None when no token holds such a comma.

    >>> without_commas(["node:6@10,core:[2,2]@1"])
    'node:6@10 core:[2,2]@1'
    """
    # A comma before a name and a colon begins a level; those in lists stand between numbers.
    parted = re.sub(r"[,;]\s*(?=[A-Za-z_][A-Za-z0-9_-]*:)", " ", " ".join(tokens))
    return parted if parted.split() != list(tokens) else None
