"""Options that say which machine a job may use, and which part of it."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeAlias

from hopbytes._frozen import field_names, frozen
from hopbytes.cli.common_options import Maker, SpreadOptions
from hopbytes.cli.declare import UsageError, option

if TYPE_CHECKING:
    from hopbytes.model.allocation import Allocation

_machine: Maker = partial(option, panel="Machine")
_infiniband: Maker = partial(option, panel="InfiniBand", rare=True)

Hosts: TypeAlias = Annotated[
    str | None,
    _machine(
        "--hosts", metavar="LIST", values="files",
        help="Host names in the order of the machine: n[001-016],m or a file with them.",
    ),
]
LevelDistance: TypeAlias = Annotated[
    str | None,
    _machine(
        "--level-distance", metavar="LEVEL=N,…", rare=True,
        help="Replace distances of levels of the machine, such as node=20,core=2.",
    ),
]
Rails: TypeAlias = Annotated[
    str | None,
    _infiniband(
        "--rails", metavar="RULE", help="Adapter that each host on ib: uses: first, same, spread or gpu."
    ),
]
Adapters: TypeAlias = Annotated[
    str | None,
    _infiniband("--adapters", metavar="NAMES", help="Adapters to use on ib: such as mlx5_[0-3] or mlx5_*."),
]
NodeNameMap: TypeAlias = Annotated[
    str | None,
    _infiniband(
        "--node-name-map", metavar="FILE", values="files",
        help="Names for adapters on ib: a file with lines GUID \"HOST ADAPTER\".",
    ),
]


@frozen
class MachineOptions:
    """Where tasks may run."""

    on: Annotated[
        str | None,
        _machine(
            "--on", metavar="SPEC", values="machines",
            help="The machine. 'node:8@10 core:4@1' is 8 nodes of 4 cores, outermost first, distance "
            "behind the @; or node.xml (lstopo), job (the running job), job.machine.json (hopbytes probe), "
            "torus:8x8x8, … ('hopbytes list machines').",
        ),
    ] = None
    hierarchy: Annotated[
        str | None,
        _machine(
            "--hierarchy", metavar="A:B:…", rare=True,
            help="Instead of --on: units per level, innermost first, such as 4:8:6.",
        ),
    ] = None
    distance: Annotated[
        str | None,
        _machine(
            "--distance", metavar="D:E:…", rare=True,
            help="Distances of the levels of --hierarchy, innermost first, such as 1:10:100.",
        ),
    ] = None
    level_distance: LevelDistance = None
    hosts: Hosts = None
    exclude: Annotated[
        list[str] | None,
        _machine(
            "--exclude", metavar="WHAT", rare=True,
            help="Leave out units, such as core=0 or node=n[3-5]; may be repeated.",
        ),
    ] = None
    reserve: Annotated[
        str | None,
        _machine(
            "--reserve", metavar="N/LEVEL", rare=True,
            help="Leave N cores of every unit of a level free, such as 1/package.",
        ),
    ] = None
    capacity: Annotated[
        list[str] | None,
        _machine(
            "--capacity", metavar="WHAT:N", rare=True,
            help="Slots that take N times the load of others, such as node=0-3:2; may be repeated.",
        ),
    ] = None
    rails: Rails = None
    adapters: Adapters = None
    node_name_map: NodeNameMap = None
    cores_per_task: Annotated[
        int | None,
        _machine(
            "--cores-per-task", metavar="N", least=1, default="what the job asked for, else 1",
            help="Cores of a node that each task gets.",
        ),
    ] = None
    per: Annotated[
        list[str] | None,
        _machine(
            "--per", metavar="LEVEL", rare=True, default="core",
            help="One task per unit of a level, with all its cores: l3, package, gpu, pu.",
        ),
    ] = None
    tasks_per: Annotated[
        list[str] | None,
        _machine(
            "--tasks-per", metavar="LEVEL=N", rare=True,
            help="Put exactly N tasks on each unit of a level, such as l3=2; may be repeated.",
        ),
    ] = None

    @property
    def given(self) -> bool:
        """Whether an option names the machine."""
        return self.on is not None or self.hierarchy is not None

    @property
    def unsaid(self) -> bool:
        """Whether no option concerns the machine."""
        return not any(getattr(self, name) for name in field_names(self))

    def or_on(self, spec: str) -> MachineOptions:
        """Return these options with another machine if none was given."""
        return self if self.given else dataclasses.replace(self, on=spec)

    def allocation(self, spread: SpreadOptions | None = None) -> Allocation:
        """Return the allocation that these options describe, with how `spread` says to use its slots."""
        import hopbytes as hb

        units = [item for item in self.per or () if "=" not in item]
        if len(units) > 1:
            raise UsageError(f"--per {' --per '.join(units)}: a slot can be a unit of one level only")
        if (self.on is None) == (self.hierarchy is None):
            raise UsageError("the machine is missing: give --on SPEC, or --hierarchy A:B:… --distance D:E:…")
        if self.distance is not None and self.level_distance is not None:
            raise UsageError("--distance and --level-distance exclude each other")
        where: Allocation = hb.allocate(
            self.on,
            hierarchy=self.hierarchy,
            distance=self.distance or self.level_distance,
            hosts=self.hosts,
            exclude=tuple(self.exclude or ()),
            reserve=self.reserve,
            cores_per_task=self.cores_per_task,
            per=units[0] if units else None,
            capacity=tuple(self.capacity or ()),
            rails=self.rails,
            adapters=self.adapters,
            node_name_map=self.node_name_map,
            tasks_per=self._tasks_per_unit(),
            **({} if spread is None else spread.keywords()),
        )
        return where

    def _tasks_per_unit(self) -> dict[str, int] | None:
        """Return the counts of ``--tasks-per LEVEL=N``."""
        # Before 0.1.0 --per also took counts.
        counts = [*(self.tasks_per or ()), *(item for item in self.per or () if "=" in item)]
        return dict(map(_level_count, counts)) or None


def _level_count(item: str) -> tuple[str, int]:
    level, _, count = item.partition("=")
    if not level or not count.isdecimal():
        raise UsageError(f"--tasks-per {item}: expected LEVEL=N such as package=4")
    return level, int(count)
