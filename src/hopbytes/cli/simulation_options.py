"""Options about predicted time that verbs share."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from hopbytes._frozen import field_names, frozen
from hopbytes.cli.common_options import Maker
from hopbytes.cli.declare import option
from hopbytes.cli.values import factor, seconds

_simulation: Maker = partial(option, panel="Simulation")


@frozen
class SimulationOptions:
    """What is simulated, and what is assumed about the machine."""

    grade: Annotated[
        str | None,
        _simulation(
            "--grade", metavar="GRADE", values="grades",
            help="How the time is found: bound (lower bounds, at once), flows (messages share links, added "
            "up per pair of nodes) or replay (SimGrid, every message).",
            default="flows",
        ),
    ] = None
    bytes_scale: Annotated[
        float,
        _simulation("--bytes-scale", metavar="X", parser=factor, help="Factor for all volumes."),
    ] = 1.0
    iterations: Annotated[
        int | None,
        _simulation(
            "--iterations", metavar="N", least=1,
            help="Equal rounds that the pattern is the sum of, one after the other.",
            default="the median number of messages between two tasks where it is known, else 1",
        ),
    ] = None
    assume: Annotated[
        str,
        _simulation(
            "--assume", metavar="NAME", values="speeds",
            help="Latencies and bandwidths where the machine has none: ethernet-10g, ethernet-25g, "
            "ethernet-100g, hdr100, hdr200, ndr400, slingshot200, or none to refuse such machines.",
        ),
    ] = "hdr100"
    oversubscription: Annotated[
        float,
        _simulation(
            "--oversubscription", metavar="N", parser=factor, rare=True,
            help="On machines of levels: a unit above the nodes sends 1/N of what its nodes could send.",
        ),
    ] = 1.0
    time_limit: Annotated[
        float | None,
        _simulation(
            "--time-limit", metavar="TIME", parser=seconds, default="10m",
            help="Stop a simulation after this time.",
        ),
    ] = None

    def keywords(self) -> dict[str, Any]:
        """Return keywords of :func:`hopbytes.simulate`."""
        values = {name: getattr(self, name) for name in field_names(self)}
        return {name: value for name, value in values.items() if value is not None}
