"""``machine:FILE``: a machine that ``hopbytes probe`` or ``hopbytes measure`` stored."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hopbytes.errors import FormatError, HopbytesError
from hopbytes.machines.base import Machine, machines
from hopbytes.machines.node_machine import NodeMachine, cut_overrides
from hopbytes.machines.stored_file import Record, within
from hopbytes.machines.tree import Tree


@machines.register("machine")
@dataclass(frozen=True, slots=True, eq=False)
class Stored(NodeMachine):
    """A machine from a file of ``hopbytes probe`` or ``measure``: nodes, hosts, job, what was measured."""

    @classmethod
    def parse(cls, text: str) -> Machine:
        """Read the file called `text`, which distances may follow.

        Raises
        ------
        FormatError
            Not such a file, or fields that contradict each other.
        UnsupportedError
            A newer version of the format.
        """
        path, replaced = cut_overrides(text)
        if not path:
            raise FormatError("machine", None, "machine: without a file name, expected machine:FILE")
        record = Record(path)
        levels = record.levels()
        spec = record.spec()
        if spec is not None:
            from hopbytes.machines.spec import parse_machine

            machine = parse_machine(spec)
            if isinstance(machine, Tree) and levels is not None:
                known = {level.name: level for level in levels}
                tiers = tuple(known.get(tier.name, tier) for tier in machine.tiers)
                machine = replace(machine, tiers=tiers)
            return machine.with_distances(replaced) if replaced else machine
        hosts = record.hosts()
        trees = record.trees()
        which = record.tree_of_node(len(trees), len(hosts))
        try:
            return cls(f"machine:{path}", trees, which, hosts, replaced, levels, its_job=record.job(hosts))
        except HopbytesError as error:
            raise within(path, error) from None
