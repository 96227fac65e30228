"""Network adapters in an hwloc file, and which of them each GPU is nearest to on the PCI bus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hopbytes.machines.node.node_tree import NearAdapter
from hopbytes.text.documents import Element
from hopbytes.text.lines import natural_key

#: ``osdev_type`` of OpenFabrics devices: a number up to hwloc 2, since hwloc 3 a set of bits, perhaps with
#: that of network devices.
OPENFABRICS = ("3", "32", "48")

Path = tuple[int, ...]


class Adapter(NamedTuple):
    """Name of an adapter, and the objects that contain it, from the machine inwards."""

    name: str
    path: Path


def find_adapters(machine: Element) -> tuple[Adapter, ...]:
    """Return the OpenFabrics devices (``mlx5_0``, ``hfi1_0``) of a node, in the natural order of names."""
    found: dict[str, Adapter] = {}
    stack: list[tuple[Element, Path]] = [(machine, ())]
    while stack:
        element, path = stack.pop()
        name = element.get("name")
        if element.get("type") == "OSDev" and element.get("osdev_type") in OPENFABRICS and name:
            found.setdefault(name, Adapter(name, path))
        inside = (*path, id(element))
        stack.extend((child, inside) for child in element.named("object"))
    return tuple(sorted(found.values(), key=lambda adapter: natural_key(adapter.name)))


def adapters_of(paths: Sequence[Path], adapters: Sequence[Adapter]) -> list[NearAdapter | None]:
    """Return the adapter of each GPU, given the objects that contain it; None where either is unknown.

    An adapter is nearer the more of these objects contain it too: the same PCI switch, the same root
    complex, the same package. Of equally near adapters a GPU takes one that the fewest GPUs have so far.

    >>> two = [Adapter("mlx5_0", (1, 2)), Adapter("mlx5_1", (1, 3))]
    >>> [near.name for near in adapters_of([(1, 3, 4), (1, 2, 5), (1, 6), (1, 7)], two) if near]
    ['mlx5_1', 'mlx5_0', 'mlx5_0', 'mlx5_1']
    """
    taken = [0] * len(adapters)
    found: list[NearAdapter | None] = []
    for path in paths:
        shared = [_shared(path, adapter.path) for adapter in adapters]
        best = min(range(len(adapters)), key=lambda i: (-shared[i], taken[i], i), default=None)
        if best is None or not path:
            found.append(None)
            continue
        taken[best] += 1
        found.append(NearAdapter(adapters[best].name, best, len(adapters)))
    return found


def _shared(one: Path, other: Path) -> int:
    same = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        same += 1
    return same
