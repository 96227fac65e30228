"""The problem to solve, the algorithm that solves it and its effort, as groups of options."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import hopbytes as hb
from hopbytes._frozen import frozen
from hopbytes.cli.declare import option
from hopbytes.cli.options import Maker, seconds, work_units

if TYPE_CHECKING:
    from hopbytes.model.allocation import Allocation
    from hopbytes.model.comm_graph import CommGraph
    from hopbytes.solve.presets import Chain

_problem: Maker = partial(option, panel="Problem")
_method: Maker = partial(option, panel="Method")


@frozen
class ProblemOptions:
    """The problem that is solved, its imbalance bound, and constraints of single tasks."""

    partition: Annotated[bool | None, _problem(
        "Partition (many tasks per slot, balanced) or processes (one per slot).",
        names=("--partition/--processes",),
        default="processes for recorded patterns and launch formats; else partition if tasks ≥ 8 × slots",
    )] = None
    imbalance: Annotated[str, _problem(
        "Partition: no slot gets more than 1 + E times the mean load; 0.03 or 3%.", "E",
    )] = "0.03"
    strict_balance: Annotated[bool, _problem(
        "Stop with an error if the loads of single tasks require a larger bound.", rare=True,
    )] = False
    bound: Annotated[str, _problem(
        "Rounding of that bound: floor, or ceil as in SharedMap and KaHIP.", "WAY", rare=True,
    )] = "floor"
    fixed: Annotated[str | None, _problem(
        "File with lines TASKS PE: these tasks must be on that PE.", "FILE", rare=True, values="files",
    )] = None
    forbidden: Annotated[str | None, _problem(
        "File with lines TASKS PES: these tasks must not be on those PEs.", "FILE", rare=True, values="files",
    )] = None
    initial: Annotated[str | None, _problem(
        "Current mapping; the result stays close to it.", "FILE", rare=True, values="files",
    )] = None
    migration_price: Annotated[int, _problem(
        "Cost of migrating one task away from --initial, in units of J.", "N", least=0, rare=True,
    )] = 0

    @property
    def constrained(self) -> bool:
        """Whether single tasks have constraints."""
        return any(each is not None for each in (self.fixed, self.forbidden, self.initial))

    def keywords(self, graph: CommGraph, where: Allocation, *, launches: bool) -> dict[str, Any]:
        """Read the files; return keywords of :func:`hopbytes.map_tasks`. Launchers start processes."""
        given: dict[str, Any] = {
            "migration_price": self.migration_price, "strict": self.strict_balance, "bound": self.bound,
        }  # fmt: skip
        if self.fixed is not None or self.forbidden is not None:
            from hopbytes.formats.task_places import read_fixed, read_forbidden

            for name, read in (("fixed", read_fixed), ("forbidden", read_forbidden)):
                if getattr(self, name) is not None:
                    given[name] = read(getattr(self, name), graph.n, where.k)
        if self.initial is not None:
            given["initial"] = hb.read(self.initial, holds="mapping", where=where, n=graph.n, graph=graph)
        partition = False if self.partition is None and launches else self.partition
        constraints = hb.Constraints(**given)
        return {"partition": partition, "imbalance": self.imbalance, "constraints": constraints}


Preset: TypeAlias = Annotated[str | None, _method(
    "Effort: turbo (least time), fast, eco, strong, best (until a limit or Ctrl-C) or routed.",
    "NAME", default="eco", values="presets",
)]


@frozen
class EffortOptions:
    """The effort: a preset, limits and threads."""

    preset: Preset = None
    seed: Annotated[int, _method("Seed; the same seed gives the same mapping.", "N", least=0, rare=True)] = 0
    threads: Annotated[int | None, _method(
        "Number of threads; the mapping does not depend on it.", "N", least=1, default="all CPUs", rare=True,
    )] = None
    time_limit: Annotated[float | None, _method(
        "Stop after this time, counted from the end of reading: 90, 90s, 5m or 1h30m.",
        "TIME", parser=seconds,
    )] = None
    work_limit: Annotated[int | None, _method(
        "Deterministic budget: start no new search after N scanned edges.", "N", parser=work_units, rare=True,
    )] = None

    @property
    def anytime(self) -> bool:
        """Whether the search may end early without an error, because of a limit or the preset."""
        from hopbytes.solve.presets import presets

        limited = self.time_limit is not None or self.work_limit is not None
        return limited or (self.preset is not None and presets[self.preset]().anytime)

    def leaves_choice(self) -> bool:
        """Whether several mappings may be made of which a replay chooses one."""
        return not self.anytime

    def keywords(self) -> dict[str, Any]:
        """Return keywords of :func:`hopbytes.map_tasks`."""
        from hopbytes.util.limits import Limits

        limits = Limits(self.time_limit, self.work_limit)
        chosen = {} if self.preset is None else {"method": self.preset}
        return {**chosen, "seed": self.seed, "threads": self.threads, "limits": limits}


@frozen
class MethodOptions(EffortOptions):
    """The algorithms that run, what they minimise, and their effort."""

    device: Annotated[str, _method(
        "Where presets turbo and fast coarsen and refine large graphs: cpu, cuda (a GPU), or auto (a GPU "
        "where there is one).", "NAME", rare=True,
    )] = "cpu"
    mapper: Annotated[str | None, _method(
        "Algorithm to run instead of a preset ('hopbytes show mappers').",
        "NAME[:KEY=VALUE,…]", rare=True, values="mappers",
    )] = None
    refine: Annotated[list[str] | None, _method(
        "Algorithm that improves the mapping afterwards; may be repeated.",
        "NAME[:KEY=VALUE,…]", rare=True, values="refiners",
    )] = None
    objective: Annotated[str | None, _method(
        "What is minimised: comm_cost (volume × distance); on networks also hop_bytes, hops, "
        "max_congestion, max_messages or hybrid; auto chooses by kind of machine.",
        "NAME", values="objectives",
        default="comm_cost; on GPUs with rails the load of links is weighed, too",
    )] = None
    weight: Annotated[str, _method(
        "Weight of the data between two tasks: bytes, messages, time (from latency and bandwidth), or unit "
        "(every pair counts as one message).", "WHAT", rare=True, values="weights",
    )] = "bytes"

    def leaves_choice(self) -> bool:
        named = self.mapper or self.refine or self.objective not in (None, "auto") or self.weight != "bytes"
        return not named and EffortOptions.leaves_choice(self)

    def keywords(self) -> dict[str, Any]:
        options = EffortOptions.keywords(self) | {"objective": self.objective, "weight": self.weight}
        if self.mapper is not None:
            from hopbytes.algorithms.base import mappers
            from hopbytes.errors import UnsupportedError
            from hopbytes.util.options import build

            if self.preset is not None:
                both = f"--preset {self.preset} and --mapper {self.mapper}"
                raise UnsupportedError(f"{both} exclude each other, give one")
            options["method"] = build(mappers, self.mapper)
        if self.device != "cpu":
            options["method"] = self._on_device()
        if self.refine:
            options["method"] = [options.get("method", "eco"), *self.refine]
        return options

    def _on_device(self) -> Chain:
        from hopbytes.errors import UnsupportedError
        from hopbytes.solve.presets import DEFAULT, fast, turbo

        named = f"--mapper {self.mapper}" if self.mapper else f"--preset {self.preset or DEFAULT}"
        preset = {"--preset turbo": turbo, "--preset fast": fast}.get(named)
        if preset is None:
            raise UnsupportedError(f"--device {self.device} with {named}, expected --preset turbo or fast")
        return preset(device=self.device)
