"""Traffic of data parallel training: gradients, and parameters that ZeRO or FSDP divide among tasks."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.patterns.base import Arcs
from hopbytes.patterns.collectives import all_reduce, shared


@frozen
class GradientPlan:
    """How data parallel tasks exchange gradients and parameters."""

    #: stage of ZeRO: 0 replicates everything, 1 divides optimizer states, 2 also gradients, 3 also parameters
    #: (FSDP)
    zero: int
    #: consecutive tasks of a group among which states are divided, the other tasks have copies of them
    #: (hybrid sharding); 0 means the whole group
    shard: int
    micro: int  # micro-batches per step
    algorithm: str  # of all-reduces, see :func:`hopbytes.patterns.collectives.all_reduce`.
    inner: int  # see there

    def arcs(self, groups: Int64, volume: int) -> list[Arcs]:
        """Return the arcs of one step for `volume` bytes of parameters per task, groups int64[g, size].

        Stage 0: one all-reduce of the gradients. Stage 1: one reduce-scatter of the gradients and one
        all-gather of the parameters. Stage 2: a reduce-scatter per micro-batch, one all-gather. Stage 3: two
        all-gathers (forward, backward) and a reduce-scatter per micro-batch. With `shard` these are inside
        the parts, and every reduce-scatter is followed by an all-reduce among the tasks that have the same
        share. Source: Rajbhandari et al., "ZeRO: memory optimizations toward training trillion parameter
        models", SC 2020, section 7.
        """
        if self.zero == 0:
            return all_reduce(groups, volume, 1, self.algorithm, self.inner)
        size = groups.shape[1]
        part = self.shard or size
        inside = groups.reshape(-1, part)
        scatters = 1 if self.zero == 1 else self.micro
        gathers = 2 * self.micro if self.zero == 3 else 1
        found = shared(inside, volume, scatters) + shared(inside, volume, gathers)
        if part == size:
            return found
        across = groups.reshape(-1, size // part, part).transpose(0, 2, 1).reshape(-1, size // part)
        copies = np.ascontiguousarray(across)
        return found + all_reduce(copies, volume // part, scatters, self.algorithm, self.inner)
