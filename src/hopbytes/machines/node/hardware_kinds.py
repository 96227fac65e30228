"""Kinds of hardware inside a node: their names, their usual nesting, and default distances."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

#: Distance of two places that first differ at a kind, when no other was measured or chosen. In the order in
#: which kinds usually lie inside each other, innermost first.
DEFAULT_DISTANCE = {
    "pu": 1, "core": 1, "l1": 1, "l2": 2, "l3": 3, "l4": 4, "l5": 4, "group": 5, "gpu": 5, "card": 6,
    "nvlink": 10, "xgmi": 10, "pci": 8, "numa": 5, "die": 5, "package": 10, "book": 15, "drawer": 20,
    "node": 40,
}  # fmt: skip
#: What every switch level outside the nodes adds to the distance of the level inside it.
SWITCH_STEP = 20

#: When several kinds are the same units, the level is called after the first of them.
NAMES_BY_WORTH = (
    "node", "gpu", "core", "pu", "package", "numa", "l3", "die", "l2", "l4", "l5", "l1", "nvlink", "xgmi",
    "card", "pci", "drawer", "book", "group",
)  # fmt: skip
#: Makers of GPUs by their PCI vendor, each with a runtime that counts its own GPUs; PCI classes of
#: accelerators (3-D controller, other display, processing accelerator); makers whose displays compute.
VENDORS = {"10de": "nvidia", "1002": "amd", "8086": "intel"}
MAKERS = tuple(VENDORS.values())
ACCELERATORS, DISPLAY_MAKERS = ("0302", "0380", "1200"), ("nvidia", "amd")
_DEPTH = {kind: depth for depth, kind in enumerate(reversed(DEFAULT_DISTANCE))}  # node is 0


def base_kind(name: str) -> str:
    """Return the kind of a level: a kind nested in itself has a number added (``group-2``, ``numa-3``)."""
    return name.partition("-")[0]


def default_distance(names: Iterable[str], inner: int) -> int:
    """Return the distance of a level that stands for `names` around a level of distance `inner`.

    The largest of the table; a kind found outside one that the table puts further out (a NUMA domain
    that holds packages) adds its own distance to that.
    """
    own = max(DEFAULT_DISTANCE.get(base_kind(name), 5) for name in names)
    return own if own >= inner else inner + own


def usual_depth(name: str) -> int:
    """How far inside a kind usually lies; 0 for unknown kinds."""
    return _DEPTH.get(base_kind(name), 0)


def worth(name: str) -> tuple[int, str]:
    """Sort key: how good a name is for a level that has several."""
    kind = base_kind(name)
    rank = NAMES_BY_WORTH.index(kind) if kind in NAMES_BY_WORTH else len(NAMES_BY_WORTH)
    return rank, name


def numbered(chain: Sequence[str]) -> list[str]:
    """Make the names of a chain, outermost first, distinct: the second ``group`` is ``group-2``."""
    names: list[str] = []
    for kind in chain:
        seen = sum(base_kind(name) == kind for name in names)
        names.append(f"{kind}-{seen + 1}" if seen else kind)
    return names


def aligned(chains: Iterable[Sequence[str]]) -> tuple[list[str], dict[tuple[str, ...], list[str]]]:
    """Find one order of names, outermost first, in which every chain appears, and the chains' names in it.

    A new name goes between its neighbours at the place its kind usually has. O(names²) for each chain.
    """
    order: list[str] = []
    names: dict[tuple[str, ...], list[str]] = {}
    for chain in sorted({tuple(chain) for chain in chains}, key=lambda chain: (-len(chain), chain)):
        names[chain] = _in_order(list(chain), order)
        _insert(names[chain], order)
    return order, names


def _in_order(chain: list[str], order: Sequence[str]) -> list[str]:
    """Give other numbers to names of a chain until the rest stands in it as in `order`."""
    while True:
        places = [(order.index(name), name) for name in chain if name in order]
        crossed = [
            name for at, (here, name) in enumerate(places)
            if any((there - here) * (other - at) < 0 for other, (there, _) in enumerate(places))
        ]
        if not crossed:
            return chain
        name = max(crossed, key=worth)
        number = int(name.partition("-")[2] or 1) + 1  # numbers grow, so this ends
        while f"{base_kind(name)}-{number}" in chain:
            number += 1
        chain[chain.index(name)] = f"{base_kind(name)}-{number}"


def _insert(chain: Sequence[str], order: list[str]) -> None:
    """Put the new names of a chain between those that have a place, where their kinds usually lie."""
    after = 0
    for index, name in enumerate(chain):
        if name in order:
            after = order.index(name) + 1
            continue
        # Not beyond the next name of the chain that already has a place.
        end = min((order.index(later) for later in chain[index + 1 :] if later in order), default=len(order))
        while after < end and usual_depth(order[after]) < usual_depth(name):
            after += 1
        order.insert(after, name)
        after += 1
