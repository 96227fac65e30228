"""Lower bounds of the time of a round, without any simulator."""

from __future__ import annotations

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.model.mapping import Mapping
from hopbytes.simulation.assumed_speeds import Speeds
from hopbytes.simulation.between_places import Flows, LinkUse, Places, flows_between, places_of, use_of_links
from hopbytes.simulation.inside_nodes import InsideNodes, copies_inside
from hopbytes.simulation.node_links import NodeLinks
from hopbytes.simulation.phase import Phase

#: Links that a prediction names.
LINKS_NAMED = 10


@frozen(eq=False)
class Round:
    """One round on one mapping: what goes between nodes, what inside, and what each needs at least."""

    links: NodeLinks
    places: Places
    flows: Flows
    use: LinkUse
    inside: InsideNodes

    @property
    def parts(self) -> dict[str, float]:
        """Seconds of a round that each bound gives, see Prediction."""
        single = self.use.latency + self.flows.largest / self.use.slowest
        return {
            "link": float(self.use.seconds.max(initial=0.0)),
            "injection": self._injection(),
            "copy": float(self.inside.seconds.max(initial=0.0)),
            "message": max(float(single.max(initial=0.0)), self.inside.longest),
        }

    @property
    def spread(self) -> bool:
        """Whether flows take several paths."""
        ends = self.places.endpoint[self.flows.sources[:1]], self.places.endpoint[self.flows.targets[:1]]
        return self.links.routes(*ends).numerators is not None

    def _injection(self) -> float:
        """Return the seconds of the endpoint or router that sends or receives longest over all its links."""
        if self.links.outlet is None or not self.flows.count:
            return 0.0
        outlet_of, leaving = self.links.outlet
        most = 0.0
        first, second = (
            outlet_of[self.places.endpoint[ends]] for ends in (self.flows.sources, self.flows.targets)
        )
        apart = first != second
        for ends in (first[apart], second[apart]):
            sent = np.bincount(ends, weights=self.flows.bytes[apart], minlength=len(leaving))
            sent = sent.astype(np.float64)  # without any flow it counts in integers
            busy = np.divide(sent, leaving, out=np.zeros_like(sent), where=leaving > 0)
            most = max(most, float(busy.max(initial=0.0)))
        return most

    def hottest(self, count: int = LINKS_NAMED) -> tuple[tuple[str, float, float], ...]:
        """Return name, bytes and seconds of the busiest links, busiest first; ties by number."""
        order = np.argsort(-self.use.seconds, kind="stable")[:count]
        return tuple(
            (self.links.name_link(int(link)), float(self.use.bytes[link]), float(self.use.seconds[link]))
            for link in order
            if self.use.bytes[link] > 0
        )


def round_on(phase: Phase, mapping: Mapping, links: NodeLinks, speeds: Speeds | None) -> Round:
    """Put a round on the links of a machine; O(messages log messages + links of all routes)."""
    places = places_of(mapping, links)
    flows = flows_between(phase, places)
    unit = links.endpoint_of_pe if links.ends_apart else mapping.where.node_of_pe
    inside = copies_inside(phase, mapping, speeds, unit)
    return Round(links, places, flows, use_of_links(flows, places, links), inside)
