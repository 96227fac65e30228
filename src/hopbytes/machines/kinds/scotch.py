"""Scotch target architectures as machines."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.fabrics.scotch_target import Target, read_scotch_target
from hopbytes.machines.base import Machine, machines
from hopbytes.machines.common.file_spec import file_spec
from hopbytes.machines.common.table import MAX_PLACES, Table
from hopbytes.machines.common.tree import Tree
from hopbytes.machines.kinds.torus import Torus
from hopbytes.machines.topology import Level

KEYS = {"names": "switch,node,core"}


@machines.register("scotch")
class Scotch(Table):
    """Targets of Scotch: ``scotch:FILE.tgt``.

    ``tleaf`` and ``cmplt`` become trees, ``torus`` and ``mesh`` tori, ``hcub`` a mesh of two per dimension;
    distances given as a table (``deco 0``) and parts of targets (``sub``) become tables, places in the
    order of the file. ``names=switch,node,package,numa,core`` names the levels of a tree, outermost first, so
    that nodes are known; without it there is one host.
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Machine:  # type: ignore[override]
        """Read ``FILE[:names=…]``."""
        spec = file_spec("scotch", text, KEYS)
        target = read_scotch_target(spec.path)
        if target.weights is not None:
            raise UnsupportedError(f"{spec.path}: terminals of different weights; places here are all alike")
        names = spec.options.get("names")
        whole = _tree(target, spec.path, names) if names or target.terminals is None else None
        if target.terminals is not None:
            if whole is not None:
                raise UnsupportedError(f"{spec.path}: names= is for whole trees, this is a part of one")
            return cls(_part(target, spec.path), text)
        return whole if whole is not None else _grid(target) or cls(_distances(target), text)

    def spec(self) -> str:
        """The file it came from."""
        return f"scotch:{self.path}"


def _tree(target: Target, path: str, names: str | None) -> Tree | None:
    """Return the machine of a tree; None for other shapes."""
    if target.shape not in ("tree", "complete"):
        if names:
            raise FormatError(path, None, f"names= for a {target.shape}, expected it for a tleaf only")
        return None
    depth = len(target.sizes)
    words = names.split(",") if names else [f"level{depth - level}" for level in range(depth)]
    if len(words) != depth:
        raise FormatError(path, None, f"{len(words)} names, expected one for each of {depth} levels")
    costs = target.costs or (1,)
    # Scotch adds up the costs of the levels from the lowest common unit down to the leaves.
    distances = [sum(costs[level:]) for level in range(depth)]
    return Tree(tuple(map(Level, words, distances)), target.sizes)


def _grid(target: Target) -> Torus | None:
    """Return the machine of a torus, mesh or hypercube; None for other shapes."""
    if target.shape == "hypercube":
        return Torus((2,) * target.sizes[0], (False,) * target.sizes[0])
    if target.shape not in ("torus", "mesh"):
        return None
    # In the numbering of Scotch the first dimension runs fastest, in that of tori here the last one.
    sizes = tuple(reversed(target.sizes))
    return Torus(sizes, (target.shape == "torus",) * len(sizes))


def _distances(target: Target) -> Int64:
    assert target.table is not None  # what is no tree and no grid is a table
    return target.table


def _part(target: Target, path: str) -> Int64:
    """int64[k, k]: distances of the terminals in use."""
    assert target.terminals is not None
    places = np.array(target.terminals, np.int64)
    if len(places) > MAX_PLACES:
        raise UnsupportedError(f"{path}: a part of {len(places)} terminals, expected at most {MAX_PLACES}")
    machine = _tree(target, path, None) or _grid(target)
    if machine is None:
        return np.ascontiguousarray(_distances(target)[np.ix_(places, places)])
    # Distances take places in ascending order.
    ascending, position = np.unique(places, return_inverse=True)
    matrix = machine.distance().select(ascending).matrix()
    return np.ascontiguousarray(matrix[np.ix_(position, position)])
