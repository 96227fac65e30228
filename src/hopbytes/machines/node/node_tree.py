"""One node as its operating system numbers it: hardware threads, the units they lie in, GPUs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from typing import NamedTuple

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, HopbytesError
from hopbytes.machines.node.hardware_kinds import aligned, numbered, usual_depth
from hopbytes.text.cpu_lists import MAX_PUS
from hopbytes.text.lines import natural_key
from hopbytes.util.computed_once import kept


@frozen
class Part:
    """A piece of hardware as a reader found it: kind, number of the operating system, what lies inside.

    A hardware thread has kind ``pu`` and nothing inside. The outermost part is the node.
    """

    kind: str
    os_index: int
    inside: tuple[Part, ...] = ()


class NearAdapter(NamedTuple):
    """A network adapter: its name, its number among those of the node in natural order, and their number."""

    name: str
    number: int
    together: int


@frozen
class Gpu:
    """A GPU of a node."""

    index: int  # its number in the node: that of its runtime, unless GPUs of several makers are in the node
    name: str  # what the operating system or its driver calls it, such as ``cuda0``; or its PCI address
    #: hardware threads near it (numbers of the operating system), ascending; none when unknown
    pus: tuple[int, ...] = ()
    #: the network adapter it is nearest to on the PCI bus; None when unknown
    adapter: NearAdapter | None = None
    maker: str = ""  # ``nvidia``, ``amd``, ``intel``; empty when unknown
    #: what the variable of its maker, such as CUDA_VISIBLE_DEVICES, takes; empty for its index
    device: str = ""

    @property
    def shown_as(self) -> str:
        """What the variable of its maker takes to make it visible."""
        return self.device or str(self.index)


def nearest_adapters(
    nearness: Sequence[Mapping[str, int]], names: Collection[str]
) -> list[NearAdapter | None]:
    """Return the adapter of each GPU: of those with the least number, one that the fewest GPUs have so far.

    `names` are all adapters of the node; an adapter without a number is not known to be near.
    """
    ordered = sorted(names, key=natural_key)
    taken = dict.fromkeys(ordered, 0)
    found: list[NearAdapter | None] = []
    for near in nearness:
        known = [name for name in ordered if name in near]
        best = min(known, key=lambda name: (near[name], taken[name]), default=None)
        if best is None:
            found.append(None)
            continue
        taken[best] += 1
        found.append(NearAdapter(best, ordered.index(best), len(ordered)))
    return found


@frozen(eq=False, owns=("units", "os_pus", "logical_pus", "logical_cores"))
class NodeTree:
    """The hardware threads (PUs) of a node that may be used, in logical order, and where each lies."""

    kinds: tuple[str, ...]  # names of the kinds found, outermost first, the last is ``pu``
    #: int32[p, len(kinds)]: Unit of each kind that every PU lies in, counted over the node; -1 where it lies
    #: in none
    units: Int32
    os_pus: Int64  # int64[p]: Number of every PU that the operating system uses
    #: int64[p]: Number of every PU in logical order counted over all PUs, also those that may not be used
    logical_pus: Int64
    logical_cores: Int64  # int64[p]: The same for the core it lies in (the PU itself in nodes without cores)
    gpus: tuple[Gpu, ...] = ()  # in the order of their index
    host: str = ""  # host name, when known
    numa: int = 0  # memory nodes, those without PUs included
    numa_barred: int = 0  # those among them that may not be used
    notices: tuple[str, ...] = ()  # what its reader had to assume, in sentences for the user
    #: otherwise nothing is known about PUs, and one stands for each GPU, with the number of the GPU
    pus_known: bool = True
    _cache: dict[str, bytes] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        count = len(self.os_pus)
        if not count:
            raise FormatError("node", None, "no hardware thread that may be used, expected at least one")
        if count > MAX_PUS:
            raise FormatError("node", None, f"{count} hardware threads, expected at most {MAX_PUS}")
        if len(np.unique(self.os_pus)) != count:
            number = int(np.flatnonzero(np.bincount(self.os_pus) > 1)[0])
            raise FormatError("node", None, f"PU {number} twice, expected every PU in one place")

    @property
    def cores(self) -> Int64:
        """int64[p]: core of each PU, counted over the cores of the node that may be used."""
        if "core" not in self.kinds:
            return np.arange(len(self.os_pus), dtype=np.int64)
        changes = np.diff(self.logical_cores, prepend=-1) != 0
        return np.cumsum(changes).astype(np.int64) - 1

    def count(self, kind: str) -> int:
        """How many units of a kind hold usable PUs (``package``, ``core``, ``l3`` …)."""
        names = [column for column, name in enumerate(self.kinds) if name == kind]
        return len(np.unique(self.units[self.units[:, names[0]] >= 0, names[0]])) if names else 0

    def facts(self) -> dict[str, int]:
        return {
            "pus": len(self.os_pus) if self.pus_known else 0,
            "cores": self.count("core"),
            "packages": self.count("package"),
            "numa": self.numa,
            "gpus": len(self.gpus),
        }

    def restricted(self, allowed: Collection[int]) -> NodeTree:
        """Return the node with only those PUs that `allowed` lists (numbers of the operating system)."""
        keep = np.isin(self.os_pus, np.fromiter(allowed, np.int64, len(allowed)))
        if keep.all():
            return self
        return replace(
            self, units=self.units[keep], os_pus=self.os_pus[keep], logical_pus=self.logical_pus[keep],
            logical_cores=self.logical_cores[keep],
        )

    @kept
    def identity(self) -> bytes:
        """Return bytes that are equal for nodes that differ in nothing but host name and notices."""
        arrays = (self.units, self.os_pus, self.logical_pus, self.logical_cores)
        words = repr((self.kinds, self.gpus, self.numa, self.pus_known)).encode()
        return words + b"".join(array.tobytes() for array in arrays)


def node_tree(
    root: Part, allowed: Collection[int] | None = None, *,
    gpus: tuple[Gpu, ...] = (), host: str = "", numa: int = 0, where: str = "node",
    numa_barred: int = 0, notices: tuple[str, ...] = (), pus_known: bool = True,
) -> NodeTree:
    """Build a node from the parts a reader found."""
    chains = _chains(root)
    found = [tuple(numbered([part.kind for part in chain])) for chain in chains]
    kinds, renamed = aligned(found)
    names = [renamed[chain] for chain in found]
    units = np.full((len(chains), len(kinds)), -1, np.int32)
    columns = {name: column for column, name in enumerate(kinds)}
    seen: list[dict[int, int]] = [{} for _ in kinds]
    for row, (chain, chain_names) in enumerate(zip(chains, names, strict=True)):
        for part, name in zip(chain, chain_names, strict=True):
            numbers = seen[columns[name]]
            units[row, columns[name]] = numbers.setdefault(id(part), len(numbers))
    order = _usual_order(kinds, units)
    kinds, units = [kinds[column] for column in order], np.ascontiguousarray(units[:, order])
    columns = {name: column for column, name in enumerate(kinds)}
    os_pus = np.array([chain[-1].os_index for chain in chains], np.int64)
    logical_pus = np.arange(len(chains), dtype=np.int64)
    cores = logical_pus
    if "core" in columns:
        cores = units[:, columns["core"]].astype(np.int64)
        # A PU outside all cores is one of its own.
        cores = np.where(cores < 0, logical_pus + len(logical_pus), cores)
    with errors_about(where):
        whole = NodeTree(
            tuple(kinds), units, os_pus, logical_pus, cores, gpus, host, numa, numa_barred, notices, pus_known
        )
        return whole if allowed is None else whole.restricted(allowed)


@contextmanager
def errors_about(where: str) -> Iterator[None]:
    """Say of errors inside the block that they are about a file, or what else something was read from."""
    try:
        yield
    except HopbytesError as error:
        raise FormatError(where, None, error.what if isinstance(error, FormatError) else str(error)) from None


def _chains(root: Part) -> list[list[Part]]:
    """Every hardware thread with the parts it lies in, outermost first, without the root."""
    chains: list[list[Part]] = []
    stack: list[tuple[Part, list[Part]]] = [(part, []) for part in reversed(root.inside)]
    while stack:
        part, outside = stack.pop()
        chain = [*outside, part]
        if part.kind == "pu":
            chains.append(chain)
        stack.extend((inner, chain) for inner in reversed(part.inside))
    return chains


def _usual_order(kinds: list[str], units: Int32) -> list[int]:
    """Columns with neighbours of equal units in the order such kinds usually have.

    hwloc 1.x puts a package inside its memory node and hwloc 2 the memory node inside its package; where
    they are the same, both shall be the same node.
    """
    order = list(range(len(kinds)))
    for end in range(len(order) - 1, 0, -1):
        for index in range(end):
            outer, inner = order[index : index + 2]
            same = np.array_equal(units[:, outer], units[:, inner])
            if same and usual_depth(kinds[outer]) > usual_depth(kinds[inner]):
                order[index : index + 2] = [inner, outer]
    return order


def parts_from_sets(sets: Mapping[tuple[str, int], frozenset[int]], pus: Collection[int]) -> Part:
    """Build the parts of a node from the PUs of each unit."""
    units = [(frozenset(members) & frozenset(pus), kind, index) for (kind, index), members in sets.items()]
    # Largest first; of equal ones, the kind that usually lies outside.
    units = sorted(
        (unit for unit in units if unit[0]), key=lambda u: (-len(u[0]), usual_depth(u[1]), min(u[0]), u[2])
    )
    kept: list[tuple[frozenset[int], str, int]] = []
    inside: dict[int, list[int]] = {-1: []}
    holder = dict.fromkeys(pus, -1)  # smallest unit so far that holds each PU
    for members, kind, index in units:
        holders = {holder[pu] for pu in members}
        if len(holders) > 1:
            continue
        number = len(kept)
        kept.append((members, kind, index))
        inside[number] = []
        inside[holders.pop()].append(number)
        holder.update(dict.fromkeys(members, number))

    def build(number: int, kind: str, index: int) -> Part:
        own = sorted(pu for pu in pus if holder[pu] == number)
        parts = [(pu, Part("pu", pu)) for pu in own]
        parts += [(min(kept[inner][0]), build(inner, *kept[inner][1:])) for inner in inside[number]]
        return Part(kind, index, tuple(part for _, part in sorted(parts, key=lambda item: item[0])))

    return build(-1, "machine", 0)


@frozen(eq=False)
class NodeInventory:
    """The nodes of a machine one by one, each with the numbers its operating system uses."""

    trees: tuple[NodeTree, ...]  # distinct nodes
    tree_of_node: tuple[int, ...]  # which of `trees` every node of the machine is
    #: kinds of units that are the same units as a level of the machine, and that level; ``node`` for the
    #: whole node. A node with a single package, say, has no level ``package``.
    same_as: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, trees: Sequence[NodeTree]) -> NodeInventory:
        """Return the inventory of nodes given one by one; equal ones are stored once."""
        numbers: dict[bytes, int] = {}
        kept: list[NodeTree] = []
        which = []
        for tree in trees:
            number = numbers.setdefault(tree.identity(), len(kept))
            if number == len(kept):
                kept.append(tree)
            which.append(number)
        return cls(tuple(kept), tuple(which))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeInventory) and self._identities() == other._identities()

    def __hash__(self) -> int:
        return hash(tuple(self._identities()))

    def _identities(self) -> list[bytes]:
        return [self.trees[which].identity() for which in self.tree_of_node]

    @property
    def n_nodes(self) -> int:
        return len(self.tree_of_node)

    def tree(self, node: int) -> NodeTree:
        return self.trees[self.tree_of_node[node]]

    @property
    def pus_known(self) -> bool:
        """Whether the hardware threads of all nodes are known; otherwise some nodes tell only their GPUs."""
        return all(tree.pus_known for tree in self.trees)

    def os_cpus(self) -> Int64:
        """int64[places]: CPU number of every place, as the operating system of its own node counts."""
        return np.concatenate([self.trees[which].os_pus for which in self.tree_of_node])

    def gpu_of_place(self) -> Int32 | None:
        """int32[places]: number of the GPU near every place; None unless GPUs are units of all nodes."""
        if not all("gpu" in tree.kinds for tree in self.trees):
            return None
        near = []
        for tree in self.trees:
            of_pu = {pu: gpu.index for gpu in tree.gpus for pu in gpu.pus}
            if not tree.pus_known:  # one stands for each GPU
                of_pu = {gpu.index: gpu.index for gpu in tree.gpus}
            near.append(np.array([of_pu.get(pu, -1) for pu in tree.os_pus.tolist()], np.int32))
        return np.concatenate([near[which] for which in self.tree_of_node])

    def repeated(self, count: int) -> NodeInventory:
        """Return the inventory of `count` nodes like the only one of this inventory."""
        return replace(self, tree_of_node=self.tree_of_node * count)
