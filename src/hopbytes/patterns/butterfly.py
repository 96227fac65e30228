"""Butterfly exchange between tasks whose numbers differ in one bit."""

from __future__ import annotations

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns.base import (
    MAX_TASKS,
    Pattern,
    build_graph,
    check_arcs,
    invalid_parameter,
    patterns,
    uniform_arcs,
)


@patterns.register("butterfly")
@frozen
class Butterfly(Pattern):
    """Butterfly: in stage s every task exchanges data with the task whose number differs in bit s.

    Parameters
    ----------
    tasks : int
        Number of tasks, a power of two.
    volume : str
        ``same``: `bytes` in every stage (recursive doubling, fast Fourier transforms); ``halving``: the
        volume halves with every stage from bit 0 on (recursive halving of a reduce-scatter); ``doubling``:
        it doubles up to `bytes` in the last stage.
    bytes : int
        Volume of each arc in the stage with the largest volume.

    Examples
    --------
    >>> from hopbytes.patterns.base import pattern
    >>> pattern("butterfly:8:volume=halving:bytes=400").volumes[:3].tolist()
    [400, 200, 100]
    """

    tasks: int = 64
    volume: str = "same"
    bytes: int = 65536

    def graph(self) -> CommGraph:
        """Return the pattern; O(tasks log tasks)."""
        if not 1 <= self.tasks <= MAX_TASKS or self.tasks & (self.tasks - 1):
            raise invalid_parameter(self, f"tasks={self.tasks}, expected a power of two up to {MAX_TASKS}")
        stages = self.tasks.bit_length() - 1
        shifts = {"same": [0] * stages, "halving": range(stages), "doubling": range(stages)[::-1]}
        if self.volume not in shifts:
            raise invalid_parameter(self, f"volume={self.volume}, expected same, halving or doubling")
        check_arcs(self, self.tasks * stages)
        tasks = np.arange(self.tasks)
        kinds = [
            uniform_arcs(tasks, tasks ^ (1 << stage), self.bytes >> shift)
            for stage, shift in enumerate(shifts[self.volume])
        ]
        return build_graph(self, self.tasks, kinds)
