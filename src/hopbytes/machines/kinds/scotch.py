"""Scotch target architectures (``.tgt``) as machines: named shapes, parts of them, tables of distances."""

from __future__ import annotations

import math
from typing import NoReturn, cast

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.machines.base import Level, Machine, machines
from hopbytes.machines.kinds.table import MAX_PLACES, Table
from hopbytes.machines.kinds.torus import Torus
from hopbytes.machines.spec_fields import file_spec
from hopbytes.machines.tree import Tree
from hopbytes.text.lines import integer_in, read_lines

MAX_BYTES = 2**28
LONGEST_LINE = 2**26
MAX_TERMINALS = 2**24


@machines.register("scotch")
class Scotch(Table):
    """Targets of Scotch: ``scotch:FILE.tgt``.

    ``tleaf`` and ``cmplt`` become trees, ``torus`` and ``mesh`` tori, ``hcub`` a mesh of two per dimension;
    distances given as a table (``deco 0``) and parts of targets (``sub``) become tables, leaves in the
    order of the file. ``names=switch,node,package,numa,core`` names the levels of a tree, outermost first, so
    that nodes are known; without it there is one host.
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Machine:  # type: ignore[override]
        spec = file_spec("scotch", text, {"names": "switch,node,core"})
        target = read_scotch_target(spec.path)
        if target.weights is not None:
            raise UnsupportedError(f"{spec.path}: terminals of different weights, expected equal ones")
        names = spec.options.get("names")
        if target.terminals is not None:
            if names:
                raise UnsupportedError(f"{spec.path}: names= is for whole trees, this is a part of one")
            return cls(_part(target, target.terminals, spec.path), text)
        machine = _tree(target, spec.path, names) or _grid(target)
        return cls(cast("Int64", target.table), text) if machine is None else machine

    def spec(self) -> str:
        return f"scotch:{self.path}"


@frozen(eq=False)
class Target:
    """A Scotch target."""

    shape: str  # ``tree``, ``torus``, ``mesh``, ``hypercube``, ``complete`` or ``table``
    sizes: tuple[int, ...]  # arities from the root down (tree), dimensions, or the number of terminals
    costs: tuple[int, ...] = ()  # cost of the links of each level of a tree, from the root down
    table: Int64 | None = None  # int64[n, n] or None: distances of terminals, for ``table``
    weights: tuple[int, ...] | None = None  # computing power of each terminal; None when all are equal
    terminals: tuple[int, ...] | None = None  # those in use (``sub``), in their order; None for all

    @property
    def n_terminals(self) -> int:
        return math.prod(2**size if self.shape == "hypercube" else size for size in self.sizes)


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


def _part(target: Target, terminals: tuple[int, ...], path: str) -> Int64:
    """int64[k, k]: distances of the terminals in use."""
    if len(terminals) > MAX_PLACES:
        raise UnsupportedError(f"{path}: a part of {len(terminals)} terminals, expected at most {MAX_PLACES}")
    machine = _tree(target, path, None) or _grid(target)
    # Distances take places in ascending order.
    ascending, position = np.unique(np.array(terminals, np.int64), return_inverse=True)
    if machine is None:
        matrix = cast("Int64", target.table)[np.ix_(ascending, ascending)]  # neither a tree nor a grid
    else:
        matrix = machine.distance().select(ascending).matrix()
    return np.ascontiguousarray(matrix[np.ix_(position, position)])


class _Words:
    """Words of a file with the lines they stand on."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.line = 1
        lines = enumerate(read_lines(path, MAX_BYTES, LONGEST_LINE), start=1)
        self._words = ((number, word) for number, line in lines for word in line.partition("#")[0].split())

    def word(self, what: str) -> str:
        self.line, word = next(self._words, (self.line, ""))
        if not word:
            raise FormatError(self.path, None, f"the file ends, expected {what}: is it cut?")
        return word

    def integer(self, what: str, least: int, most: int) -> int:
        word = self.word(what)
        number = integer_in(word, least, most)
        if number is None:
            self.fail(f"{word[:40]!r}, expected {what}, an integer from {least} to {most}")
        return number

    def check_end(self) -> None:
        left = list(self._words)
        if left:
            self.line = left[-1][0]
            self.fail(f"{len(left)} numbers too many after the target")

    def fail(self, what: str) -> NoReturn:
        raise FormatError(self.path, self.line, what)


def read_scotch_target(path: str) -> Target:
    """Read a Scotch target file."""
    words = _Words(path)
    target = _target(words, allow_part=True)
    words.check_end()
    if target.n_terminals > MAX_TERMINALS:
        words.fail(f"{target.n_terminals} terminals, expected at most {MAX_TERMINALS}")
    for number in target.terminals or ():
        if number >= target.n_terminals:
            words.fail(f"terminal {number}, expected at most {target.n_terminals - 1}")
    return target


def _target(words: _Words, allow_part: bool) -> Target:
    name = words.word("the name of a target")
    kind = name.lower()
    if kind == "sub" and allow_part:
        count = words.integer("the number of terminals", 1, MAX_TERMINALS)
        chosen = tuple(words.integer("a terminal", 0, MAX_TERMINALS) for _ in range(count))
        if len(set(chosen)) < count:
            words.fail("a terminal twice, expected distinct ones")
        whole = _target(words, allow_part=False)
        return Target(whole.shape, whole.sizes, whole.costs, whole.table, whole.weights, chosen)
    if kind == "tleaf":
        depth = words.integer("the number of levels", 1, 60)
        pairs = [
            (words.integer("an arity", 1, MAX_TERMINALS), words.integer("a link cost", 0, 2**31 - 1))
            for _ in range(depth)
        ]
        return Target("tree", tuple(arity for arity, _ in pairs), tuple(cost for _, cost in pairs))
    if kind == "hcub":
        return Target("hypercube", (words.integer("the dimension", 1, 24),))
    if kind == "cmplt":
        return Target("complete", (words.integer("the number of terminals", 1, MAX_TERMINALS),))
    if kind == "cmpltw":
        count = words.integer("the number of terminals", 1, MAX_TERMINALS)
        weights = tuple(words.integer("a weight", 1, 2**31 - 1) for _ in range(count))
        return Target("complete", (count,), weights=weights)
    if kind == "deco":
        return _table(words)
    for shape in ("torus", "mesh"):
        if kind.startswith(shape):
            return Target(shape, _dimensions(words, name, kind[len(shape) :]))
    raise UnsupportedError(
        f"{words.path}:{words.line}: target {name[:20]!r} is not read (known: tleaf, torus2D, torus3D, "
        "torusXD, mesh2D, mesh3D, meshXD, hcub, cmplt, cmpltw, deco 0, sub)"
    )


def _dimensions(words: _Words, name: str, suffix: str) -> tuple[int, ...]:
    if suffix in ("2d", "3d"):
        count = int(suffix[0])
    elif suffix == "xd":
        count = words.integer("the number of dimensions", 1, 8)
    else:
        words.fail(f"target {name[:20]!r}, expected a suffix 2D, 3D or XD")
    return tuple(words.integer("a dimension", 1, 2**16) for _ in range(count))


def _table(words: _Words) -> Target:
    """Read ``deco 0``: terminals with weights, then distances below the diagonal, row by row."""
    words.integer("the kind of decomposition (only 0, by terminals, is read)", 0, 0)
    count = words.integer("the number of terminals", 1, MAX_PLACES)
    words.integer("the largest number of a domain", 1, 2**31 - 1)
    weight_of: dict[int, int] = {}
    for _ in range(count):
        label = words.integer("the label of a terminal", 0, 2**31 - 1)
        if label in weight_of:
            words.fail(f"terminal {label} a second time, expected distinct labels")
        weight_of[label] = words.integer("its weight", 0, 2**31 - 1)
        words.integer("the number of its domain", 1, 2**31 - 1)
    table = np.zeros((count, count), np.int64)
    for row in range(1, count):
        for column in range(row):
            distance = words.integer(f"the distance of terminals {row} and {column}", 0, 2**31 - 1)
            table[row, column] = table[column, row] = distance
    # Rows are in the order of the list above; places are in the order of the labels.
    order = np.argsort(np.array(list(weight_of), np.int64), kind="stable")
    weights = tuple(weight_of[label] for label in sorted(weight_of))
    return Target(
        "table", (count,), table=np.ascontiguousarray(table[np.ix_(order, order)]),
        weights=None if len(set(weights)) == 1 else weights,
    )
