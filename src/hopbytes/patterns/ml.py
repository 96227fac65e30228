"""Training of transformer models with tensor, context, expert, data and pipeline parallelism."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns.base import (
    MAX_TASKS,
    Arcs,
    Pattern,
    build_graph,
    check_arcs,
    invalid_parameter,
    patterns,
)
from hopbytes.patterns.collectives import (
    ALGORITHMS,
    all_reduce,
    all_to_all,
    neighbour_exchange,
    ring_exchange,
)

KINDS = ("tp", "cp", "ep", "dp", "pp")


@patterns.register("ml")
@dataclass(frozen=True, slots=True)
class MachineLearning(Pattern):
    """One training step of a transformer with tensor, context, expert, data and pipeline parallelism.

    Parameters
    ----------
    tp, pp, dp, cp : int
        Sizes of the tensor, pipeline, data and context parallel groups; there are tp·pp·dp·cp tasks.
    ep : int
        Size of the expert parallel groups, a divisor of dp·cp, because they consist of those tasks.
    hidden, layers, seq : int
        Width of the model, number of layers, tokens of a sequence.
    micro : int
        Micro-batches per step and data parallel replica.
    batch : int
        Sequences per micro-batch.
    element : int
        Bytes per number, for activations and gradients.
    top : int
        Number of experts to which each token is sent.
    order : str
        Kinds of parallelism, beginning with the one whose groups consist of consecutive tasks.
    allreduce : str
        ``ring`` or ``tree``, see :mod:`hopbytes.patterns.collectives`.

    Notes
    -----
    With A = batch · seq / cp · hidden · element bytes of activations and L = layers / pp layers per stage,
    each task sends per step (integer divisions round down):

    - tensor: 4 all-reduces of A per layer and micro-batch (two forward, two backward);
    - context: 3 (cp - 1) times the keys and values, 2 A / tp, to the next task of a ring per layer and
      micro-batch (once forward; backward the values and their gradients);
    - expert: 4 all-to-alls of top · A / tp per layer and micro-batch (to the experts and back, twice);
    - pipeline: A / tp to the next stage and A / tp back, per micro-batch;
    - data: one all-reduce of the gradients, 12 hidden² · L · element / tp, over dp and cp. With ep > 1 two
      thirds of the gradients belong to experts, and are reduced over the dp·cp/ep tasks with the same expert.

    The groups and the default order are those of Megatron-LM (Narayanan et al., SC 2021). O(arcs).

    Examples
    --------
    >>> from hopbytes.patterns.base import pattern
    >>> graph = pattern("ml:tp=2,pp=1,dp=2,hidden=8,layers=1,seq=4,micro=1")
    >>> graph.targets.tolist(), graph.volumes.tolist()
    ([1, 2, 0, 3, 0, 3, 1, 2], [256, 768, 256, 768, 768, 256, 768, 256])
    """

    tp: int = 8
    pp: int = 4
    dp: int = 8
    ep: int = 1
    cp: int = 1
    hidden: int = 8192
    layers: int = 80
    seq: int = 4096
    micro: int = 8
    batch: int = 1
    element: int = 2
    top: int = 2
    order: str = "tp-cp-ep-dp-pp"
    allreduce: str = "ring"

    def graph(self) -> CommGraph:
        """Return the pattern."""
        n = self._checked()
        stage, activations = self.layers // self.pp, self._activations()
        per_layer, piece = stage * self.micro, activations // self.tp
        dense = {"tp": self.tp, "cp": self.cp, "dp": self.dp, "pp": self.pp}
        kinds = all_reduce(self._groups(dense, "tp"), activations, 4 * per_layer, self.allreduce)
        kinds += ring_exchange(self._groups(dense, "cp"), 2 * piece, 3 * (self.cp - 1) * per_layer)
        kinds += neighbour_exchange(self._groups(dense, "pp"), piece, self.micro)
        kinds += self._gradients(dense, stage)
        if self.ep > 1:
            check_arcs(self, n * self.ep)
            kinds += all_to_all(self._groups(self._experts(), "ep"), self.top * piece, 4 * per_layer)
        return build_graph(self, n, kinds)

    def _checked(self) -> int:
        """Return the number of tasks; UnsupportedError if parameters contradict each other."""
        sizes = {name: getattr(self, name) for name in (*KINDS, "hidden", "layers", "seq", "micro")}
        for name, size in {**sizes, "batch": self.batch, "element": self.element, "top": self.top}.items():
            if size < 1:
                raise invalid_parameter(self, f"{name}={size}, expected an integer >= 1")
        n = self.tp * self.cp * self.dp * self.pp
        if n > MAX_TASKS:
            raise invalid_parameter(self, f"{n} tasks, expected at most {MAX_TASKS}")
        for whole, part in (("layers", "pp"), ("seq", "cp"), ("hidden", "tp")):
            if sizes[whole] % sizes[part]:
                what = f"{whole}={sizes[whole]}, expected a multiple of {part}={sizes[part]}"
                raise invalid_parameter(self, what)
        if self.dp * self.cp % self.ep:
            raise invalid_parameter(self, f"ep={self.ep}, expected a divisor of dp·cp = {self.dp * self.cp}")
        if sorted(self.order.split("-")) != sorted(KINDS):
            raise invalid_parameter(self, f"order={self.order}, expected {'-'.join(KINDS)} in any order")
        if self.allreduce not in ALGORITHMS:
            raise invalid_parameter(self, f"allreduce={self.allreduce}, expected {' or '.join(ALGORITHMS)}")
        if self.ep > 1 and not np.array_equal(self._groups(self._experts(), "pp"), self._stages()):
            what = "expected an order in which the experts of a layer are in the pipeline stage of the layer"
            raise invalid_parameter(self, f"order={self.order}, {what}")
        return n

    def _activations(self) -> int:
        return self.batch * (self.seq // self.cp) * self.hidden * self.element

    def _experts(self) -> dict[str, int]:
        """Return the group sizes for expert layers, made of data and context parallel tasks."""
        return {"tp": self.tp, "ep": self.ep, "dp": self.dp * self.cp // self.ep, "pp": self.pp}

    def _stages(self) -> Int64:
        return self._groups({"tp": self.tp, "cp": self.cp, "dp": self.dp, "pp": self.pp}, "pp")

    def _gradients(self, dense: dict[str, int], stage: int) -> list[Arcs]:
        numbers = stage * self.hidden * self.hidden * self.element
        if self.ep == 1:
            return all_reduce(self._groups(dense, "cp", "dp"), 12 * numbers // self.tp, 1, self.allreduce)
        shared = all_reduce(self._groups(dense, "cp", "dp"), 4 * numbers // self.tp, 1, self.allreduce)
        own = all_reduce(self._groups(self._experts(), "dp"), 8 * numbers // self.tp, 1, self.allreduce)
        return shared + own

    def _groups(self, sizes: dict[str, int], *kinds: str) -> Int64:
        """Return int64[groups, size]: the tasks of a group differ in their coordinates of `kinds` only."""
        order = [kind for kind in self.order.split("-") if kind in sizes][::-1]
        grid = np.arange(math.prod(sizes.values())).reshape([sizes[kind] for kind in order])
        last = [place for place, kind in enumerate(order) if kind in kinds]
        first = [place for place in range(len(order)) if place not in last]
        groups: Int64 = grid.transpose(first + last).reshape(-1, math.prod(sizes[kind] for kind in kinds))
        return groups
