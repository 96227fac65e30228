"""The algorithm that runs and its effort, as a group of options."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from hopbytes._frozen import frozen
from hopbytes.cli.common_options import Maker
from hopbytes.cli.declare import UsageError, option
from hopbytes.cli.values import seconds, work_units

_method: Maker = partial(option, panel="Method")


@frozen
class MethodOptions:
    """The algorithm that runs, and its effort."""

    preset: Annotated[
        str | None,
        _method(
            "--preset", metavar="NAME", default="eco", values="presets",
            help="Effort: turbo (huge graphs), fast, eco, strong, best (until a limit or Ctrl-C) or routed.",
        ),
    ] = None
    mapper: Annotated[
        str | None,
        _method(
            "--mapper", metavar="NAME[:KEY=VALUE,…]", rare=True, values="mappers",
            help="Algorithm to run instead of a preset ('hopbytes list mappers').",
        ),
    ] = None
    refine: Annotated[
        list[str] | None,
        _method(
            "--refine", metavar="NAME[:KEY=VALUE,…]", rare=True, values="refiners",
            help="Algorithm that improves the mapping afterwards; may be repeated.",
        ),
    ] = None
    objective: Annotated[
        str | None,
        _method(
            "--objective", metavar="NAME", values="objectives",
            default="comm_cost; on GPUs with rails the load of links is weighed, too",
            help="What is minimised: comm_cost (volume × distance); on networks also hop_bytes, hops, "
            "max_congestion, max_messages or hybrid; auto chooses by kind of machine.",
        ),
    ] = None
    weight: Annotated[
        str,
        _method(
            "--weight", metavar="WHAT", rare=True, values="weights",
            help="Weight of the data between two tasks: bytes, messages, or time (from latency and "
            "bandwidth).",
        ),
    ] = "bytes"
    unit_messages: Annotated[
        bool, _method("--unit-messages", rare=True, help="Count every pair of tasks as one message.")
    ] = False
    seed: Annotated[
        int,
        _method(
            "--seed", metavar="N", least=0, rare=True, help="Seed; the same seed gives the same mapping."
        ),
    ] = 0
    threads: Annotated[
        int | None,
        _method(
            "--threads", metavar="N", least=1, default="all CPUs", rare=True,
            help="Number of threads; the mapping does not depend on it.",
        ),
    ] = None
    time_limit: Annotated[
        float | None,
        _method(
            "--time-limit", metavar="TIME", parser=seconds,
            help="Stop after this time, counted from the end of reading: 90, 90s, 5m or 1h30m.",
        ),
    ] = None
    work_limit: Annotated[
        int | None,
        _method(
            "--work-limit", metavar="N", parser=work_units, rare=True,
            help="Deterministic budget: start no new search after N scanned edges.",
        ),
    ] = None

    @property
    def anytime(self) -> bool:
        """Whether the search may end early without an error, because of a limit or the preset."""
        from hopbytes.solve.presets import presets

        limited = self.time_limit is not None or self.work_limit is not None
        return limited or (self.preset is not None and presets[self.preset]().anytime)

    def keywords(self) -> dict[str, Any]:
        """Return keywords of :func:`hopbytes.map_tasks`."""
        from hopbytes.algorithms.base import mappers
        from hopbytes.errors import UnsupportedError
        from hopbytes.util.limits import Limits
        from hopbytes.util.options import build

        if self.unit_messages and self.weight != "bytes":
            raise UsageError(f"--unit-messages and --weight {self.weight} exclude each other")
        if self.mapper is not None and self.preset is not None:
            what = f"--preset {self.preset} and --mapper {self.mapper}"
            raise UnsupportedError(f"{what} exclude each other, give one")
        first = self.preset or "eco" if self.mapper is None else build(mappers, self.mapper)
        return {
            "method": [first, *self.refine] if self.refine else first,
            "objective": self.objective,
            "weight": "unit" if self.unit_messages else self.weight,
            "seed": self.seed,
            "threads": self.threads,
            "limits": Limits(self.time_limit, self.work_limit),
        }
