"""Training of transformer models with tensor, context, expert, data and pipeline parallelism."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import permutations
from typing import ClassVar

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns.base import (
    MAX_TASKS,
    Arcs,
    Pattern,
    build_graph,
    check_arcs,
    invalid_parameter,
    patterns,
    uniform_arcs,
)
from hopbytes.util.options import build

KINDS = ("tp", "cp", "ep", "dp", "pp")
#: How context parallel tasks exchange data.
CONTEXTS = ("ring", "alltoall")

#: Formats of recordings of torch.distributed and its libraries.
RECORDED = ("nccl", "flight", "kineto")


@patterns.register("ml")
@frozen
class MachineLearning(Pattern):
    """One training step of a transformer with tensor, context, expert, data and pipeline parallelism.

    With A = batch · seq / cp · hidden · element bytes of activations and L = layers / pp layers per stage,
    each task sends per step (integer divisions round down):

    - tensor: 4 all-reduces of A per layer and micro-batch (two forward, two backward); with `sp` 4
      reduce-scatters and 6 all-gathers of A instead (Korthikanti et al., MLSys 2023, section 4.2.2);
    - context: 3 (cp - 1) times the keys and values, 2 A / tp · kv / hidden, to the next task of a ring per
      layer and micro-batch (once forward; backward the values and their gradients); or 8 all-to-alls, 4 of
      A / tp and 4 of A / tp · kv / hidden (queries, output; keys, values; forward and backward);
    - expert: 4 all-to-alls of top · A / tp per layer and micro-batch (to the experts and back, twice);
    - pipeline: A / tp to the next stage and A / tp back, per micro-batch;
    - data: one all-reduce of the gradients, P · L · element / tp, over dp and cp, or what `zero` says
      (Rajbhandari et al., SC 2020, section 7). A layer has P = 2 hidden² + 2 hidden · kv
      parameters of attention and 2 (3 if `gated`) hidden · ffn others, 12 hidden² by default. With ep > 1
      the latter are those of one expert, and each task's experts / ep of them are reduced over the dp·cp/ep
      tasks with the same experts.

    The groups and the default order are those of Megatron-LM (Narayanan et al., SC 2021). O(arcs).
    """

    sizes: ClassVar[tuple[str, ...]] = ("tp", "cp", "pp", "dp")
    meant: ClassVar[Mapping[str, str]] = {
        "fsdp": "zero=3 with dp=N, the number of GPUs that share the states", "ddp": "dp=N",
        "tensor": "tp=N", "pipeline": "pp=N", "data": "dp=N", "expert": "ep=N", "context_parallel": "cp=N",
        "world": "tp=N,pp=N,dp=N, whose product it is", "gpus": "tp=N,pp=N,dp=N, whose product it is",
        "seqlen": "seq=N", "heads": "hidden=N, all heads together", "microbatches": "micro=N",
    }  # fmt: skip

    #: sizes of the tensor, pipeline, data and context parallel groups; there are tp·pp·dp·cp tasks
    tp: int = 8
    pp: int = 4
    dp: int = 8
    #: size of the expert parallel groups, a divisor of dp·cp, because they consist of those tasks
    ep: int = 1
    cp: int = 1
    hidden: int = 8192  #: width of the model, number of layers, tokens of a sequence
    layers: int = 80
    seq: int = 4096
    micro: int = 8  #: micro-batches per step and data parallel replica
    batch: int = 1  #: sequences per micro-batch
    element: int = 2  #: bytes per number, for activations and gradients
    top: int = 2  #: number of experts to which each token is sent
    #: kinds of parallelism, beginning with the one whose groups consist of consecutive tasks
    order: str = "tp-cp-ep-dp-pp"
    #: ``ring``, ``tree``, ``double_tree`` or ``two_level``, see :mod:`hopbytes.patterns.ml`.
    allreduce: str = "ring"
    inner: int = 8  #: consecutive members of a group in the inner rings of ``two_level``: the GPUs of a host
    zero: int = 0  #: stage of ZeRO, 0 to 3; FSDP is stage 3
    #: with `zero`: tasks among which states are divided, a divisor of the group; 0 means all of dp·cp
    shard: int = 0
    sp: bool = False  #: sequence parallelism of Megatron-LM inside tensor groups
    #: ``ring`` (ring attention, or an all-gather of the same volume), ``alltoall`` (Ulysses)
    context: str = "ring"
    kv: int = 0  #: width of the keys, and of the values; 0 means `hidden`
    ffn: int = 0  #: width of the feed-forward network of a layer, or of each expert; 0 means 4 hidden
    gated: bool = False  #: feed-forward networks have three matrices (SwiGLU) instead of two
    experts: int = 0  #: experts of a layer, a multiple of `ep`; 0 means `ep`

    def graph(self) -> CommGraph:
        n = self._checked()
        return build_graph(self, n, [arcs for kind in self._traffic(n).values() for arcs in kind])

    def traffic(self) -> dict[str, list[Arcs]]:
        """Return the arcs of each kind of parallelism: ``tensor``, ``context``, ``expert`` …"""
        return self._traffic(self._checked())

    def grid(self) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Return the kinds of parallelism, outermost first, and their sizes: task = index in that grid."""
        self._checked()
        sizes = {"tp": self.tp, "cp": self.cp, "dp": self.dp, "pp": self.pp}
        names = tuple(kind for kind in self.order.split("-")[::-1] if kind in sizes)
        return names, tuple(sizes[name] for name in names)

    def _traffic(self, n: int) -> dict[str, list[Arcs]]:
        stage = self.layers // self.pp
        activations = self.batch * (self.seq // self.cp) * self.hidden * self.element
        per_layer, piece = stage * self.micro, activations // self.tp
        dense = {"tp": self.tp, "cp": self.cp, "dp": self.dp, "pp": self.pp}
        pipelines = self._groups(dense, "pp")
        kinds = {
            "tensor": self._tensor(self._groups(dense, "tp"), activations, per_layer),
            "context": self._context(self._groups(dense, "cp"), piece, per_layer),
            "expert": [],
            "pipeline": both_ways(pipelines[:, :-1], pipelines[:, 1:], piece, self.micro),
            "data": self._gradients(dense, stage),
        }
        if self.ep > 1:
            check_arcs(self, n * self.ep)
            groups = self._groups(self._experts(), "ep")
            kinds["expert"] = all_to_all(groups, self.top * piece, 4 * per_layer)
        return kinds

    def _tensor(self, groups: Int64, activations: int, per_layer: int) -> list[Arcs]:
        if self.sp:
            return shared(groups, activations, 10 * per_layer)
        return all_reduce(groups, activations, 4 * per_layer, self.allreduce, self.inner)

    def _context(self, groups: Int64, piece: int, per_layer: int) -> list[Arcs]:
        narrow = piece * (self.kv or self.hidden) // self.hidden
        if self.context == "ring":
            return ring(groups, 2 * narrow * self.cp, 3 * (self.cp - 1) * per_layer, steps=1)
        check_arcs(self, groups.size * self.cp)
        return all_to_all(groups, piece, 4 * per_layer) + all_to_all(groups, narrow, 4 * per_layer)

    def _checked(self) -> int:
        """Return the number of tasks; UnsupportedError if parameters contradict each other."""
        for fault in self._faults():
            raise invalid_parameter(self, fault)
        return self.tp * self.cp * self.dp * self.pp

    def _faults(self) -> Iterator[str]:
        """Yield what is wrong; each check relies on those before it."""
        positive = (*KINDS, "hidden", "layers", "seq", "micro", "batch", "element", "top", "inner")
        for names, least in ((positive, 1), (("zero", "shard", "kv", "ffn", "experts"), 0)):
            for name in names:
                if getattr(self, name) < least:
                    yield f"{name}={getattr(self, name)}, expected an integer >= {least}"
        n, replicas = self.tp * self.cp * self.dp * self.pp, self.dp * self.cp
        if n > MAX_TASKS:
            yield f"{n} tasks, expected at most {MAX_TASKS}"
        for whole, part in (("layers", "pp"), ("seq", "cp"), ("hidden", "tp")):
            if getattr(self, whole) % getattr(self, part):
                yield f"{whole}={getattr(self, whole)}, expected a multiple of {part}={getattr(self, part)}"
        if replicas % self.ep:
            yield f"ep={self.ep}, expected a divisor of dp·cp = {replicas}"
        if self.experts % self.ep:
            yield f"experts={self.experts}, expected a multiple of ep={self.ep}"
        if sorted(self.order.split("-")) != sorted(KINDS):
            yield f"order={self.order}, expected {'-'.join(KINDS)} in any order"
        for name, words in (("allreduce", ALGORITHMS), ("context", CONTEXTS)):
            if getattr(self, name) not in words:
                yield f"{name}={getattr(self, name)}, expected {' or '.join(words)}"
        if self.zero > 3:
            yield f"zero={self.zero}, expected a stage from 0 to 3"
        groups = {"dp·cp": replicas} | ({"dp·cp/ep": replicas // self.ep} if self.ep > 1 else {})
        for name, size in groups.items():
            if self.shard and size % self.shard:
                yield f"shard={self.shard}, expected a divisor of {name} = {size}"
        if self.shard and not self.zero:
            yield f"shard={self.shard} without zero, expected zero=1, 2 or 3"
        stages = self._groups({"tp": self.tp, "cp": self.cp, "dp": self.dp, "pp": self.pp}, "pp")
        if self.ep > 1 and not np.array_equal(self._groups(self._experts(), "pp"), stages):
            what = "expected an order in which the experts of a layer are in the pipeline stage of the layer"
            yield f"order={self.order}, {what}"

    def _experts(self) -> dict[str, int]:
        """Return the group sizes for expert layers, made of data and context parallel tasks."""
        return {"tp": self.tp, "ep": self.ep, "dp": self.dp * self.cp // self.ep, "pp": self.pp}

    def _gradients(self, dense: dict[str, int], stage: int) -> list[Arcs]:
        attention = 2 * self.hidden * (self.hidden + (self.kv or self.hidden))
        forward = (3 if self.gated else 2) * self.hidden * (self.ffn or 4 * self.hidden)
        numbers, groups = stage * self.element, self._groups(dense, "cp", "dp")
        if self.ep == 1:
            return self._data_parallel(groups, (attention + forward) * numbers // self.tp)
        experts = max(self.experts, self.ep) // self.ep
        own = self._data_parallel(self._groups(self._experts(), "dp"), experts * forward * numbers // self.tp)
        return self._data_parallel(groups, attention * numbers // self.tp) + own

    def _data_parallel(self, groups: Int64, volume: int) -> list[Arcs]:
        """Return the arcs of one step for `volume` bytes of parameters per task, groups int64[g, size]."""
        # Stage 0: one all-reduce of the gradients. Stage 1: one reduce-scatter of the gradients and one
        # all-gather of the parameters. Stage 2: a reduce-scatter per micro-batch, one all-gather. Stage 3:
        # two all-gathers (forward, backward) and a reduce-scatter per micro-batch. With `shard` these are
        # inside the parts, and every reduce-scatter is followed by an all-reduce among the tasks that have
        # the same share.
        if self.zero == 0:
            return all_reduce(groups, volume, 1, self.allreduce, self.inner)
        size = groups.shape[1]
        part = self.shard or size
        inside = groups.reshape(-1, part)
        scatters = 1 if self.zero == 1 else self.micro
        gathers = 2 * self.micro if self.zero == 3 else 1
        arcs = shared(inside, volume, scatters) + shared(inside, volume, gathers)
        if part == size:
            return arcs
        copies = across_parts(groups, part)
        return arcs + all_reduce(copies, volume // part, scatters, self.allreduce, self.inner)

    def _groups(self, sizes: dict[str, int], *kinds: str) -> Int64:
        """Return int64[groups, size]: the tasks of a group differ in their coordinates of `kinds` only."""
        order = [kind for kind in self.order.split("-") if kind in sizes][::-1]
        grid = np.arange(math.prod(sizes.values())).reshape([sizes[kind] for kind in order])
        last = [axis for axis, kind in enumerate(order) if kind in kinds]
        first = [axis for axis in range(len(order)) if axis not in last]
        groups: Int64 = grid.transpose(first + last).reshape(-1, math.prod(sizes[kind] for kind in kinds))
        return groups


def training_of(graph: CommGraph) -> MachineLearning | None:
    """Return the generator of a pattern that is a training job (``ml:``), None for other patterns."""
    spec = str(graph.meta.get("name", ""))
    if graph.meta.get("format") != "generated" or spec.partition(":")[0] != "ml":
        return None
    generator = build(patterns, spec)
    return generator if isinstance(generator, MachineLearning) else None


def is_training(graph: CommGraph) -> bool:
    """Tell whether a pattern is a training job, generated or recorded, which torchrun starts, and no MPI."""
    return graph.meta.get("format") in RECORDED or training_of(graph) is not None


#: Orders of Megatron-LM that need no change of its source, and the option that selects them.
MEGATRON_OPTIONS = {"tp-cp-ep-dp-pp": "the default", "tp-cp-ep-pp-dp": "--use-tp-pp-dp-mapping"}


def rank_orders(training: MachineLearning) -> dict[str, Int64]:
    """Return every order of ranks: its name, and int64[n], the rank of each task."""
    names, sizes = training.grid()
    coordinates = dict(zip(names, np.unravel_index(np.arange(int(np.prod(sizes))), sizes), strict=True))
    size = dict(zip(names, sizes, strict=True))
    orders: dict[str, Int64] = {}
    seen: set[bytes] = set()
    first = [("tp", "cp", "dp", "pp"), ("tp", "cp", "pp", "dp")]
    for order in first + [order for order in permutations(first[0]) if order not in first]:
        outward = order[::-1]
        rank = np.ravel_multi_index([coordinates[kind] for kind in outward], [size[kind] for kind in outward])
        rank = rank.astype(np.int64)
        if rank.tobytes() not in seen:
            seen.add(rank.tobytes())
            orders["-".join(order).replace("dp", "ep-dp").replace("tp-cp-pp-ep-dp", "tp-cp-ep-pp-dp")] = rank
    return orders


ALGORITHMS = ("ring", "tree", "double_tree", "two_level")


def all_reduce(groups: Int64, volume: int, times: int, algorithm: str, inner: int = 8) -> list[Arcs]:
    """Return the arcs of an all-reduce of `volume` bytes inside every group, a row of int64[g, size]."""
    size = groups.shape[1]
    if size == 1:
        return []
    if algorithm == "ring":
        return ring(groups, volume, times, steps=2 * (size - 1))
    if algorithm == "two_level":
        return _two_level(groups, volume, times, inner)
    if algorithm == "double_tree":
        return _double_tree(groups, volume, times)
    child = np.arange(1, size)
    return both_ways(groups[:, child], groups[:, (child - 1) // 2], volume, times)


def ring(groups: Int64, volume: int, times: int, steps: int) -> list[Arcs]:
    """Return the arcs of `steps` pieces of volume / size to the next member of every group, `times` times."""
    # size - 1 steps are a reduce-scatter or an all-gather, twice as many an all-reduce.
    size = groups.shape[1]
    if size == 1:
        return []
    total = times * steps * volume // size
    return [uniform_arcs(groups.ravel(), np.roll(groups, -1, axis=1).ravel(), total, times * steps)]


def shared(groups: Int64, volume: int, times: int) -> list[Arcs]:
    """Return the arcs of a ring reduce-scatter or all-gather of `volume` bytes, `times` times."""
    return ring(groups, volume, times, steps=groups.shape[1] - 1)


def all_to_all(groups: Int64, volume: int, times: int) -> list[Arcs]:
    """Return the arcs of an all-to-all inside every group: `volume` bytes per member, divided by `size`."""
    size = groups.shape[1]
    if size == 1:
        return []
    sources = np.repeat(groups, size, axis=1).ravel()
    return [uniform_arcs(sources, np.tile(groups, (1, size)).ravel(), times * volume // size, times)]


def both_ways(first: Int64, second: Int64, volume: int, times: int) -> list[Arcs]:
    """Return arcs in both directions between the tasks of two arrays: `volume` bytes, `times` times."""
    ends = (first.ravel(), second.ravel())
    return [uniform_arcs(*pair, times * volume, times) for pair in (ends, ends[::-1])]


def binary_tree(size: int) -> Int64:
    """int64[size]: parent of every member of a tree by the lowest bit of its number; -1 for member 0."""
    # A member whose lowest bit is b has the parent with bit b cleared and the next higher bit set, or, where
    # there is no such member, only with bit b cleared. Members with odd numbers are leaves. Source: Sanders,
    # Speck, Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009.
    member = np.arange(1, size, dtype=np.int64)
    bit = member & -member
    cleared = member - bit
    higher = cleared | 2 * bit
    return np.concatenate([[-1], np.where(higher < size, higher, cleared)]).astype(np.int64)


def double_tree(size: int) -> tuple[Int64, Int64]:
    """Return the parents in two binary trees; at most one member is an inner member of both."""
    first, member = binary_tree(size), np.arange(size, dtype=np.int64)
    image = size - 1 - member if size % 2 == 0 else (member + 1) % size
    second = np.empty(size, np.int64)
    second[image] = np.where(first < 0, -1, image[np.maximum(first, 0)])
    return first, second


def _double_tree(groups: Int64, volume: int, times: int) -> list[Arcs]:
    """Return the arcs of both trees: one carries half of the volume, the other the rest."""
    arcs = []
    halves = (volume // 2, volume - volume // 2)
    for parent, half in zip(double_tree(groups.shape[1]), halves, strict=True):
        child = np.flatnonzero(parent >= 0)
        arcs += both_ways(groups[:, child], groups[:, parent[child]], half, times)
    return arcs


def _two_level(groups: Int64, volume: int, times: int, inner: int) -> list[Arcs]:
    """Return the arcs of rings inside parts of consecutive members, and of rings across the parts."""
    size = groups.shape[1]
    part = max(divisor for divisor in range(1, min(inner, size) + 1) if size % divisor == 0)
    inside = groups.reshape(-1, part)
    parts = ring(inside, volume, times, steps=2 * (part - 1))
    return parts + ring(across_parts(groups, part), volume // part, times, steps=2 * (size // part - 1))


def across_parts(groups: Int64, part: int) -> Int64:
    """Return groups of the members that have the same number in each part of `part` consecutive members."""
    size = groups.shape[1]
    across = groups.reshape(-1, size // part, part).transpose(0, 2, 1).reshape(-1, size // part)
    return np.ascontiguousarray(across)
