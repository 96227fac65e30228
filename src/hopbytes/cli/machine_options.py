"""Options that say which machine a job may use, which part of it, and how tasks are spread over it."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import hopbytes as hb
from hopbytes._frozen import field_names, frozen
from hopbytes.cli.declare import UsageError, option
from hopbytes.cli.options import Maker

if TYPE_CHECKING:
    from hopbytes.model.allocation import Allocation

_machine: Maker = partial(option, panel="Machine")
_problem: Maker = partial(option, panel="Problem")

On: TypeAlias = Annotated[str | None, _machine(
    "The machine. 'node:8@10 core:4@1' is 8 nodes of 4 cores, outermost first, distance behind the @; "
    "or node.xml (lstopo), job (the running job), job.machine.json (hopbytes probe), torus:8x8x8, … "
    "('hopbytes show machines').", "SPEC", values="machines",
)]
Distance: TypeAlias = Annotated[str | None, _machine(
    "Replace distances of levels of the machine, such as node=20,core=2. With --hierarchy: one of each "
    "level, innermost first, such as 1:10:100.", "LEVEL=N,…", rare=True,
)]
Hosts: TypeAlias = Annotated[str | None, _machine(
    "Host names in the order of the machine: n[001-016],m or a file with them.",
    "LIST", values="files",
)]


@frozen
class MachineOptions:
    """Where tasks may run."""

    on: On = None
    distance: Distance = None
    hosts: Hosts = None
    exclude: Annotated[list[str] | None, _machine(
        "Leave out units, such as core=0 or node=n[3-5]; may be repeated.", "WHAT", rare=True,
    )] = None
    reserve: Annotated[str | None, _machine(
        "Leave N cores of every unit of a level free, such as 1/package.", "N/LEVEL", rare=True,
    )] = None
    cores_per_task: Annotated[int | None, _machine(
        "Cores of a node that each task gets.", "N", least=1, default="what the job asked for, else 1",
    )] = None
    per: Annotated[str | None, _machine(
        "One task per unit of a level, with all its cores: l3, package, gpu, pu.",
        "LEVEL", rare=True, default="core",
    )] = None

    @property
    def given(self) -> bool:
        """Whether an option names the machine."""
        return self.on is not None or getattr(self, "hierarchy", None) is not None

    @property
    def unsaid(self) -> bool:
        """Whether no option concerns the machine."""
        return not any(getattr(self, name) for name in field_names(self))

    def or_on(self, spec: str) -> MachineOptions:
        """Return these options with another machine if none was given."""
        return self if self.given else dataclasses.replace(self, on=spec)

    def allocation(self, spread: SpreadOptions | None = None) -> Allocation:
        """Return the allocation that these options describe, with how `spread` says to use its slots."""
        if self.on is not None and getattr(self, "hierarchy", None) is not None:
            raise UsageError("--on and --hierarchy exclude each other")
        if not self.given:
            raise UsageError("the machine is missing: give --on SPEC")
        values = {name: getattr(self, name) for name in field_names(self) if name != "on"}
        given = {name: value for name, value in values.items() if value not in (None, (), [])}
        where: Allocation = hb.allocate(self.on, **given, **({} if spread is None else spread.keywords()))
        return where

    def whole_or_part(self) -> Allocation | str:
        """Return the spec where the whole machine is meant, since a list of its slots may be large."""
        alone = self.on is not None and dataclasses.replace(self, on=None).unsaid
        return self.on if self.on is not None and alone else self.allocation()

    def named_hosts(self, where: Allocation | None) -> tuple[str, ...] | None:
        """Return the hosts of ``--hosts`` if they are not those of an allocation."""
        from hopbytes.text.hostlist import read_hosts

        return None if self.hosts is None or where is not None else read_hosts(self.hosts)


@frozen
class AnyMachineOptions(MachineOptions):
    """The same, with machines in the notation of papers, and with slots that are unequal."""

    hierarchy: Annotated[str | None, _machine(
        "Instead of --on: units per level, innermost first, such as 4:8:6.", "A:B:…", rare=True,
    )] = None
    capacity: Annotated[list[str] | None, _machine(
        "Slots that take N times the load of others, such as node=0-3:2; may be repeated.",
        "WHAT:N", rare=True,
    )] = None


Oversubscribe: TypeAlias = Annotated[bool, _problem("Allow more processes than slots.")]


@frozen
class SpreadOptions:
    """How processes are distributed over slots and nodes."""

    oversubscribe: Oversubscribe = False
    tasks_per_node: Annotated[int | None, _problem(
        "Put exactly N tasks on every node in use.", "N", least=1,
    )] = None
    pack: Annotated[bool, _problem(
        "Fill node after node, as mpirun does. Without this and --spread, the slots with the lowest cost "
        "are used.",
    )] = False
    spread: Annotated[bool, _problem(
        "Put equally many tasks on every node, as srun does; each task gets more memory bandwidth.",
    )] = False
    tasks_per: Annotated[list[str] | None, _problem(
        "Put exactly N tasks on each unit of a level, such as l3=2; may be repeated.", "LEVEL=N", rare=True,
    )] = None

    def keywords(self) -> dict[str, Any]:
        """Return keywords of :func:`hopbytes.allocate`."""
        if self.pack and self.spread:
            raise UsageError("--pack and --spread exclude each other")
        return dataclasses.asdict(self) | {"tasks_per": dict(map(_level_count, self.tasks_per or ())) or None}


def _level_count(item: str) -> tuple[str, int]:
    level, _, count = item.partition("=")
    if not level or not count.isdecimal():
        raise UsageError(f"--tasks-per {item}: expected LEVEL=N such as package=4")
    return level, int(count)
