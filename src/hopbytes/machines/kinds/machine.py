"""``machine:FILE``: a machine that ``hopbytes probe`` or ``hopbytes measure`` stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, HopbytesError
from hopbytes.machines.base import Machine, machines
from hopbytes.machines.common.measured_machine import MeasuredMachine
from hopbytes.machines.common.node_machine import NodeMachine, check_names, cut_overrides
from hopbytes.machines.common.stored_file import Record, within
from hopbytes.machines.common.tree import Tree
from hopbytes.machines.kinds.hwloc import file_and_hosts
from hopbytes.machines.node.inventory import NodeInventory
from hopbytes.machines.topology import Level
from hopbytes.text.open_input import named_in


@machines.register("machine")
@frozen(eq=False)
class Stored(NodeMachine):
    """A machine from a file of ``hopbytes probe`` or ``measure``: nodes, hosts, job, what was measured."""

    @classmethod
    def parse(cls, text: str) -> Machine:
        """Read the file called `text`, which distances may follow."""
        body, replaced = cut_overrides(text)
        path, names = file_and_hosts(body)
        if not path:
            raise FormatError("machine", None, "machine: without a file name, expected machine:FILE")
        record = Record(path)
        levels = record.levels()
        spec = record.spec()
        if spec is not None:
            from hopbytes.machines.spec import parse_machine

            try:
                with named_in(path):
                    machine = _with_levels(parse_machine(spec), levels or (), f"machine:{path}")
            except HopbytesError as error:
                raise within(path, error) from None
            return machine.with_distances(replaced) if replaced else machine
        hosts = record.hosts()
        trees = record.trees()
        which = record.tree_of_node(len(trees), len(hosts))
        if names and (hosts or len(which) > 1):
            what = f"{len(which)} nodes in the file, expected one without a name to be repeated"
            raise FormatError(path, None, f"@{names[0]}…: {what} (`hosts` chooses among named ones)")
        check_names(names, "machine")
        if names:
            which, hosts = which * len(names), tuple(names)
        try:
            inventory = NodeInventory(trees, which)
            return cls(f"machine:{body}", inventory, hosts, replaced, levels, job=record.job(hosts))
        except HopbytesError as error:
            raise within(path, error) from None


def _with_levels(machine: Machine, levels: Sequence[Level], text: str) -> Machine:
    """Give a machine the stored distances and times of its levels, by name."""
    known = {level.name: level for level in levels}
    if not any(level.latency is not None or level.bandwidth is not None for level in levels):
        return machine
    if isinstance(machine, Tree):
        return replace(machine, tiers=tuple(known.get(tier.name, tier) for tier in machine.tiers))
    if [level.name for level in levels] != [level.name for level in machine.levels]:
        names = ", ".join(level.name for level in machine.levels)
        raise FormatError("machine", None, f"levels {', '.join(known)[:60]}, expected those of spec: {names}")
    base = machine.with_distances({level.name: level.distance for level in levels})
    return MeasuredMachine(base, tuple(levels), text)
