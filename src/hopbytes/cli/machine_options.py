"""Options that say which machine a job may use, and which part of it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from hopbytes.cli.common_options import Maker, shown

if TYPE_CHECKING:
    from hopbytes.model.allocation import Allocation

_machine: Maker = partial(shown, rich_help_panel="Machine")

Hosts: TypeAlias = Annotated[
    str | None,
    _machine("--hosts", metavar="LIST", help="Host names in machine order: n[001-016],m or a file of them."),
]
Rails: TypeAlias = Annotated[
    str | None,
    _machine("--rails", metavar="RULE", help="Adapters of hosts on ib: first, same, spread or gpu."),
]
Adapters: TypeAlias = Annotated[
    str | None,
    _machine("--adapters", metavar="NAMES", help="Adapters to use on ib: mlx5_[0-3] or mlx5_*."),
]
NodeNameMap: TypeAlias = Annotated[
    str | None,
    _machine("--node-name-map", metavar="FILE", help="Names for adapters on ib: GUID \"HOST ADAPTER\"."),
]


@dataclass(frozen=True)
class MachineOptions:
    """Where tasks may run."""

    on: Annotated[
        str | None,
        _machine(
            "--on", metavar="SPEC", help="Levels, outermost first: 'node:8@10 core:4@1'; or table:FILE."
        ),
    ] = None
    hierarchy: Annotated[
        str | None,
        _machine("--hierarchy", metavar="A:B:…", help="Instead of --on: counts, innermost level first."),
    ] = None
    distance: Annotated[
        str | None,
        _machine("--distance", metavar="D:E:…", help="Of --hierarchy; with --on LEVEL=N,… replaces some."),
    ] = None
    hosts: Hosts = None
    exclude: Annotated[
        list[str] | None,
        _machine("--exclude", metavar="WHAT", help="Leave out core=0 or node=n[3-5], say. May be repeated."),
    ] = None
    reserve: Annotated[
        str | None,
        _machine(
            "--reserve", metavar="N/LEVEL", help="Leave N cores of every unit of a level free: 1/package."
        ),
    ] = None
    capacity: Annotated[
        list[str] | None,
        _machine("--capacity", metavar="WHAT:N", help="PEs that can take N times the load: node=0-3:2."),
    ] = None
    rails: Rails = None
    adapters: Adapters = None
    node_name_map: NodeNameMap = None
    cores_per_task: Annotated[
        int | None,
        _machine(
            "--cores-per-task", metavar="N", min=1, help="Cores of a node that each task gets (the job's; 1)."
        ),
    ] = None
    per: Annotated[
        list[str] | None,
        _machine(
            "--per",
            metavar="LEVEL[=N]",
            help="LEVEL: a slot is a whole unit of it (core, pu, …). LEVEL=N: N tasks on each. Repeatable.",
        ),
    ] = None

    @property
    def given(self) -> bool:
        """Somebody said which machine."""
        return self.on is not None or self.hierarchy is not None

    @property
    def unsaid(self) -> bool:
        """Nobody said anything about a machine."""
        return not any(vars(self).values())

    def or_on(self, spec: str) -> MachineOptions:
        """Return these options on a machine of its own where none was given."""
        return self if self.given else dataclasses.replace(self, on=spec)

    def allocation(self) -> Allocation:
        """Return the allocation these options describe."""
        import hopbytes as hb

        units = [item for item in self.per or () if "=" not in item]
        if len(units) > 1:
            raise typer.BadParameter(f"--per {' --per '.join(units)}: a slot can be a unit of one level only")
        if (self.on is None) == (self.hierarchy is None):
            raise typer.BadParameter("say where: either --on SPEC or --hierarchy A:B:… --distance D:E:…")
        where: Allocation = hb.machine(
            self.on,
            hierarchy=self.hierarchy,
            distance=self.distance,
            hosts=self.hosts,
            exclude=tuple(self.exclude or ()),
            reserve=self.reserve,
            cores_per_task=self.cores_per_task,
            per=units[0] if units else None,
            capacity=tuple(self.capacity or ()),
            rails=self.rails,
            adapters=self.adapters,
            node_name_map=self.node_name_map,
        )
        return where

    def tasks_per_unit(self) -> dict[str, int] | None:
        """Return the counts of ``--per LEVEL=N``, a keyword of :func:`hopbytes.map_tasks`."""
        return dict(_level_count(item) for item in self.per or () if "=" in item) or None


def _level_count(item: str) -> tuple[str, int]:
    level, _, count = item.partition("=")
    if not level or not count.isdecimal():
        raise typer.BadParameter(f"--per {item}: expected LEVEL=N like package=4")
    return level, int(count)
