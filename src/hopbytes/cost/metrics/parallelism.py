"""Training jobs: what each kind of parallelism sends, and where the mapping puts that traffic."""

from __future__ import annotations

from typing import Any

from hopbytes._frozen import field_names, frozen
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.util.quantities import amount

#: Domains with their articles.
ARTICLES = {"NVLink domain": "an NVLink domain", "node": "a node"}


@frozen
class KindOfTraffic:
    """The traffic of one kind of parallelism."""

    kind: str  # ``tensor``, ``context``, ``expert``, ``pipeline`` or ``data``
    volume: int  # bytes per step, of all tasks
    inside: int  # bytes inside a domain: an NVLink domain where the machine tells it, else a node
    on_rail: int | None  # bytes between domains on one rail; None if the machine does not tell its rails
    domain: str  # what a domain is

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in field_names(self)}

    def __str__(self) -> str:
        shares = [f"{_part(self.inside, self.volume)} inside {ARTICLES[self.domain]}"]
        if self.on_rail is not None:
            other = self.volume - self.inside - self.on_rail
            shares.append(f"{_part(self.on_rail, self.volume)} on one rail")
            shares.append(f"{_part(other, self.volume)} between rails")
        return f"{self.kind} parallelism: {amount(self.volume)} per step, {', '.join(shares)}"


def parallelism(graph: CommGraph, mapping: Mapping) -> list[KindOfTraffic]:
    """Return the traffic of each kind of parallelism that sends anything; empty unless `graph` is ``ml:``."""
    from hopbytes.machines.gpu_domains import gpu_domains
    from hopbytes.patterns.ml import training_of

    training = training_of(graph)
    if training is None or mapping.n != graph.n:
        return []
    domains = gpu_domains(mapping.where)
    domain = domains.domain[mapping.pe]
    rail = None if domains.rail is None else domains.rail[mapping.pe]
    kinds = []
    for kind, parts in training.traffic().items():
        total = inside = on_rail = 0
        for arcs in parts:
            moving = arcs.sources != arcs.targets
            near = moving & (domain[arcs.sources] == domain[arcs.targets])
            total += int(arcs.volumes[moving].sum())
            inside += int(arcs.volumes[near].sum())
            if rail is not None:
                same = moving & ~near & (rail[arcs.sources] == rail[arcs.targets])
                on_rail += int(arcs.volumes[same].sum())
        if total:
            kinds.append(KindOfTraffic(kind, total, inside, None if rail is None else on_rail, domains.name))
    return kinds


def parallelism_record(graph: CommGraph, mapping: Mapping) -> dict[str, Any]:
    """Return ``{"parallelism": […]}`` for JSON, or nothing if the pattern is no training job."""
    kinds = [kind.to_dict() for kind in parallelism(graph, mapping)]
    return {"parallelism": kinds} if kinds else {}


def _part(part: int, whole: int) -> str:
    share = 100 * part / whole
    if part in (0, whole):
        return f"{share:.0f} %"
    if round(share, 1) in (0, 100):
        return "< 0.1 %" if share < 50 else "> 99.9 %"
    return f"{share:.1f} %"
