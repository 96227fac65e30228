"""``machine:FILE``: a machine that ``hopbytes probe`` or ``hopbytes probe --measure`` stored."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError
from hopbytes.machines.base import Level, Machine, machines
from hopbytes.machines.delegating import MeasuredMachine
from hopbytes.machines.node.hardware_kinds import DEFAULT_DISTANCE, MAKERS, base_kind
from hopbytes.machines.node.job import JobInfo
from hopbytes.machines.node.node_tree import Gpu, NearAdapter, NodeInventory, NodeTree, errors_about
from hopbytes.machines.node_machine import NodeMachine, cut_overrides, file_and_hosts
from hopbytes.machines.tree import Tree
from hopbytes.text.cpu_lists import MAX_PUS, format_list, parse_list
from hopbytes.text.documents import Record
from hopbytes.text.hostlist import HOST_NAME, distinct_hosts
from hopbytes.text.lines import read_bytes
from hopbytes.text.open_input import named_in

KIND = "hopbytes machine"
VERSION = 1
MAX_BYTES = 512 * 2**20
#: What the variable of a GPU's maker takes: a number, perhaps with that of a tile; launch scripts contain it.
DEVICE = re.compile(r"(?:[0-9]{1,9}(?:\.[0-9]{1,9})?)?", re.ASCII)


@machines.register("machine")
@frozen(eq=False)
class Stored(NodeMachine):
    """A machine from a file of ``hopbytes probe`` or ``measure``: nodes, hosts, job, what was measured."""

    @classmethod
    def parse(cls, text: str) -> Machine:
        body, replaced = cut_overrides(text)
        path, names = file_and_hosts("machine", body)
        record = _Record(read_bytes(path, MAX_BYTES), path, KIND, VERSION)
        levels = record.levels()
        spec = record.spec()
        if spec is not None:
            from hopbytes.machines.spec import parse_machine

            with errors_about(path), named_in(path):
                machine = _with_levels(parse_machine(spec), levels or (), f"machine:{path}")
            return machine.with_distances(replaced) if replaced else machine
        hosts = record.hosts()
        trees = record.trees()
        which = record.tree_of_node(len(trees), len(hosts))
        if names and (hosts or len(which) > 1):
            what = f"{len(which)} nodes in the file, expected one without a name to be repeated"
            raise FormatError(path, None, f"@{names[0]}…: {what} (`hosts` chooses among named ones)")
        if names:
            which, hosts = which * len(names), distinct_hosts(names, "machine")
        with errors_about(path):
            inventory = NodeInventory(trees, which)
            return cls(f"machine:{body}", inventory, hosts, replaced, levels, job=record.job(hosts))


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


def machine_text(machine: Machine, source: str) -> str:
    """Return the text of a machine file: JSON, one field or tree a line."""
    record: dict[str, Any] = {"kind": KIND, "by": "written by hopbytes", "version": VERSION, "source": source}
    names = ("name", "distance", "latency", "bandwidth")
    levels = [{name: getattr(level, name) for name in names} for level in machine.levels]
    if not isinstance(machine, NodeMachine):
        record |= {"spec": machine.spec(), "levels": levels}
    else:
        job, inventory = machine.job, machine.inventory
        facts = ("system", "cpus", "tasks", "cpus_per_task", "threads_per_core")
        record |= {
            "levels": levels, "hosts": machine.hosts, "tree_of_node": inventory.tree_of_node,
            "job": None if job is None else {name: getattr(job, name) for name in facts},
            "trees": [_tree_record(tree) for tree in inventory.trees],
        }
    fields = []
    for key, value in record.items():
        text = json.dumps(value)
        if key == "trees":
            text = "[\n" + ",\n".join(map(json.dumps, value)) + "\n]"
        fields.append(f"{json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _tree_record(tree: NodeTree) -> dict[str, Any]:
    rows = np.column_stack([tree.os_pus, tree.logical_pus, tree.logical_cores, tree.units])
    gpus = [
        {
            "index": gpu.index, "name": gpu.name, "pus": format_list(gpu.pus), "adapter": gpu.adapter,
            "maker": gpu.maker, "device": gpu.device,
        }
        for gpu in tree.gpus
    ]  # fmt: skip
    return {
        "kinds": tree.kinds, "numa": tree.numa, "gpus": gpus, "pus": rows.tolist(),
        "numa_barred": tree.numa_barred, "pus_known": tree.pus_known, "notices": tree.notices,
    }  # fmt: skip


class _Record(Record):
    """The fields of a machine file, each checked when it is asked for."""

    def spec(self) -> str | None:
        spec = self.fields.get("spec")
        if spec is not None and not isinstance(spec, str):
            raise self.fail("spec is not a text")
        return spec

    def hosts(self) -> tuple[str, ...]:
        hosts = self.fields.get("hosts", [])
        named = isinstance(hosts, list) and all(isinstance(name, str) for name in hosts)
        if not named or not all(map(HOST_NAME.fullmatch, hosts)):
            raise self.fail("hosts are not a list of host names")
        return distinct_hosts(hosts, self.name)

    def tree_of_node(self, trees: int, hosts: int) -> tuple[int, ...]:
        numbers = self.integers(self.fields.get("tree_of_node"), "tree_of_node", 0, trees - 1)
        if len(numbers) != max(1, hosts) and hosts:
            raise self.fail(f"tree_of_node has {len(numbers)} entries for {hosts} hosts, expected one each")
        if not len(numbers):
            raise self.fail("tree_of_node is empty, expected one node or more")
        return tuple(numbers.tolist())

    def trees(self) -> tuple[NodeTree, ...]:
        trees = self.fields.get("trees")
        if not isinstance(trees, list) or not trees or not all(isinstance(tree, dict) for tree in trees):
            raise self.fail("trees are not a list of nodes")
        return tuple(self.tree(tree) for tree in trees)

    def tree(self, fields: Mapping[str, Any]) -> NodeTree:
        kinds = fields.get("kinds")
        known = isinstance(kinds, list) and all(
            isinstance(kind, str) and base_kind(kind) in DEFAULT_DISTANCE and len(kind) < 40 for kind in kinds
        )
        if not known or not kinds or kinds[-1] != "pu" or len(set(kinds)) != len(kinds):
            raise self.fail(f"kinds {str(kinds)[:60]}, expected distinct ones that end in pu")
        rows = self.integers(fields.get("pus"), "pus", -1, 2 * MAX_PUS, dimensions=2).astype(np.int64)
        if rows.shape[1] != len(kinds) + 3 or (rows[:, :3] < 0).any() or (rows[:, -1] < 0).any():
            wanted = f"expected {len(kinds) + 3} of 0 or more"
            raise self.fail(f"pus has rows of {rows.shape[1]} numbers, {wanted}")
        numa, barred, notices = (fields.get(name) for name in ("numa", "numa_barred", "notices"))
        words = notices if isinstance(notices, list) else ()
        with errors_about(self.name):
            return NodeTree(
                tuple(kinds), np.ascontiguousarray(rows[:, 3:], dtype=np.int32),
                rows[:, 0].copy(), rows[:, 1].copy(), rows[:, 2].copy(),
                self.gpus(fields.get("gpus", [])), numa=numa if isinstance(numa, int) else 0,
                numa_barred=barred if isinstance(barred, int) and 0 <= barred <= MAX_PUS else 0,
                notices=tuple(word[:400] for word in words if isinstance(word, str)),
                pus_known=fields.get("pus_known") is not False,
            )  # fmt: skip

    def gpus(self, items: Any) -> tuple[Gpu, ...]:
        gpus = []
        for item in items if isinstance(items, list) else [None]:
            facts: Any = item if isinstance(item, dict) else {}
            index, name, pus = facts.get("index"), facts.get("name"), facts.get("pus")
            texts = isinstance(name, str) and isinstance(pus, str)
            if not texts or not isinstance(index, int) or not 0 <= index < MAX_PUS:
                raise self.fail("gpus are not a list of index, name and pus")
            near = tuple(sorted(parse_list(pus, self.name)))
            maker, device = (str(facts.get(key, "")) for key in ("maker", "device"))
            if maker not in ("", *MAKERS) or not DEVICE.fullmatch(device):
                raise self.fail(f"a GPU of maker {maker[:20]!r}, number {device[:20]!r}, expected known ones")
            gpus.append(Gpu(index, name[:80], near, self.adapter(facts), maker, device))
        if len({gpu.index for gpu in gpus}) != len(gpus):
            raise self.fail("a GPU twice, expected every index once")
        return tuple(gpus)

    def adapter(self, item: Mapping[str, Any]) -> NearAdapter | None:
        """Adapter near a GPU: its name, its number and how many there are; None when unknown."""
        found = item.get("adapter")
        if found is None:
            return None
        name, number, count = found if isinstance(found, list) and len(found) == 3 else (None, -1, 0)
        whole = isinstance(number, int) and isinstance(count, int)
        if not isinstance(name, str) or not whole or not 0 <= number < count < MAX_PUS:
            raise self.fail(f"adapter {str(found)[:60]} of a GPU, expected its name, its number, how many")
        return NearAdapter(name[:80], number, count)

    def job(self, hosts: tuple[str, ...]) -> JobInfo | None:
        fields = self.fields.get("job")
        if not isinstance(fields, dict):
            return None
        counts = []
        for name in ("cpus", "tasks"):
            value = fields.get(name)
            numbers = None if value is None else self.integers(value, name, 0, 2**31)
            if numbers is not None and len(numbers) != len(hosts):
                raise self.fail(f"{name} of {len(numbers)} hosts, expected {len(hosts)}")
            counts.append(None if numbers is None else tuple(numbers.tolist()))
        per_task, threads = (
            value if isinstance(value, int) and 0 < value <= MAX_PUS else None
            for value in (fields.get("cpus_per_task"), fields.get("threads_per_core"))
        )
        system = str(fields.get("system"))[:40]
        return JobInfo(system, hosts, counts[0], counts[1], per_task, threads_per_core=threads)

    def levels(self) -> tuple[Level, ...] | None:
        items = self.fields.get("levels")
        if items is None:
            return None
        try:
            levels = []
            for item in items if isinstance(items, list) else [{}]:
                name, distance, *times = (item[key] for key in ("name", "distance", "bandwidth", "latency"))
                if not isinstance(distance, int) or not isinstance(name, str):
                    raise TypeError
                bandwidth, latency = (None if time is None else float(time) for time in times)
                levels.append(Level(name, distance, bandwidth, latency))
        except (TypeError, KeyError, ValueError, OverflowError):
            raise self.fail("levels are not a list of name, distance, latency and bandwidth") from None
        return tuple(levels)
