"""Grade ``flows``: messages between nodes share links fairly, SimGrid's model without corrections."""

from __future__ import annotations

import time

from hopbytes.errors import HopbytesError
from hopbytes.kernels.fair_flows import fair_flow_seconds
from hopbytes.simulation.bound import Round

#: Steps of the solution last at least this share of the time so far.
TOLERANCE = 1e-3
#: Seconds per flow that a solution takes at most, roughly; routes of ten links take half of it.
COST = 1e-3


def flows_seconds(there: Round, timeout: float) -> float:
    """Return the seconds until the last of the flows of a round ends.

    Flows share links as in SimGrid: max-min fair, in inverse proportion of the latencies of their routes.
    Flows that are spread over several paths are divided.
    """
    flows, ends, end = there.flows, there.places.endpoint, time.monotonic() + timeout

    def go_on() -> None:
        if time.monotonic() > end:
            raise HopbytesError(
                f"the flows were not solved within {timeout:g} seconds (`time_limit` gives more; grade bound "
                "needs no simulation)"
            )

    routes = there.links.routes(ends[flows.sources], ends[flows.targets])
    return fair_flow_seconds(
        routes, there.links.capacity, there.use.latency, flows.bytes, tolerance=TOLERANCE, go_on=go_on
    )
