"""Where the groups of a training job belong on GPUs with rails, and what a lower load of links may cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes._frozen import field_names, frozen
from hopbytes.machines.gpu_domains import GpuDomains, gpu_domains
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns.base import Arcs
from hopbytes.patterns.ml import MachineLearning, training_of


@frozen(eq=False)
class RailRule:
    """Bytes of a training job that leave their place: tensor groups their domain, data rings their rail."""

    tensor: Arcs  # arcs between different tasks of tensor and of data parallel groups
    data: Arcs
    domains: GpuDomains
    #: A replica of the model fills whole NVLink domains of a rail-optimised network, so that each of its
    #: tasks can have the same rail in all replicas. The adapters of other fabrics are no rails in this sense,
    #: since equal ones need not share leaf switches.
    whole: bool

    @classmethod
    def of(cls, graph: CommGraph, where: Allocation) -> RailRule | None:
        """Return the rule for a training job (``ml:``), None for other patterns; O(arcs).

        >>> import hopbytes as hb
        >>> rule = RailRule.of(hb.read("ml:tp=2,pp=2,dp=2,layers=2"), hb.allocate("rails:2x4"))
        >>> rule.misplaced(np.arange(8, dtype=np.int32)), rule.whole
        ((0, 0), True)
        >>> rule.misplaced(np.array([0, 1, 5, 4, 2, 3, 7, 6], np.int32))
        (0, 6442450944)
        """
        training = training_of(graph)
        if training is None:
            return None
        traffic, domains = training.traffic(), gpu_domains(where)
        return cls(
            _joined(traffic["tensor"]), _joined(traffic["data"]), domains,
            _fills_domains(training, graph.n, domains),
        )

    def misplaced(self, pe: Int32) -> tuple[int, int]:
        """Return bytes of tensor groups between domains, and of data rings between domains and rails."""
        domain, rail = self.domains.domain[pe], self.domains.rail

        def apart(arcs: Arcs) -> Bool:
            found: Bool = domain[arcs.sources] != domain[arcs.targets]
            return found

        tensor = int(self.tensor.volumes[apart(self.tensor)].sum())
        if rail is None:
            return tensor, 0
        crossing = apart(self.data) & (rail[pe[self.data.sources]] != rail[pe[self.data.targets]])
        return tensor, int(self.data.volumes[crossing].sum())

    def kept(self, mappings: Sequence[Int32]) -> list[bool]:
        """Return which of some mappings keep the rule as well as the best of them.

        Only mappings with the fewest bytes of tensor groups between domains keep it: with none if the size of
        the groups divides that of the domains. If a replica fills whole domains and one of these mappings
        has every data parallel ring inside domains or on one rail, the others do not keep it.
        """
        found = [self.misplaced(pe) for pe in mappings]
        least = min(tensor for tensor, _ in found)
        on_rails = self.whole and (least, 0) in found
        return [tensor == least and (not on_rails or data == 0) for tensor, data in found]


def _fills_domains(training: MachineLearning, n: int, domains: GpuDomains) -> bool:
    """Return whether the tasks of a replica fill whole domains if domains are filled one by one."""
    if domains.name == "node":
        return False
    sizes = np.bincount(domains.domain)
    replica = n // training.dp
    return bool(replica) and all(replica % size == 0 for size in np.unique(sizes[sizes > 0]).tolist())


def _joined(parts: list[Arcs]) -> Arcs:
    """Return the arcs of all parts, without those of a task to itself."""
    empty = np.zeros(0, np.int64)
    columns: list[Int64] = [
        np.concatenate([empty, *(getattr(part, name) for part in parts)]) for name in field_names(Arcs)
    ]
    moving = columns[0] != columns[1]
    return Arcs(*(column[moving] for column in columns))
