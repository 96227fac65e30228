"""Descriptions of what a user names: a registered name, a file, a pattern, a machine, the links of a route.

Each is a dictionary for programs, with keys for JSON, and a text for people.
"""

from __future__ import annotations

import os
import re
from fractions import Fraction
from typing import Any

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Array, Int64
from hopbytes.cost.metrics.mapping_metrics import diagonal_volume
from hopbytes.cost.objectives.link_sums import plain
from hopbytes.errors import FormatError, UnsupportedError, nearest
from hopbytes.formats.exchange import read
from hopbytes.machines.allocate.allocate import allocate
from hopbytes.machines.allocate.units import units_of
from hopbytes.machines.base import machines
from hopbytes.machines.network import Network
from hopbytes.machines.spec import kind_of_file
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.patterns.base import is_pattern_spec, recorded_hosts
from hopbytes.patterns.ml import training_of
from hopbytes.show.boxes import boxes_of, drawing
from hopbytes.show.catalogue import KINDS, catalogue, describe
from hopbytes.show.machine_picture import MAX_NODES_DRAWN, ranks_of_nodes
from hopbytes.show.names import node_name
from hopbytes.text.columns import table_lines, width
from hopbytes.text.cpu_lists import format_list
from hopbytes.util.quantities import amount

Facts = dict[str, Any]

#: Facts about a mapping in the text; JSON has all.
OF_A_MAPPING = (
    "tasks", "problem", "comm_cost", "objective", "imbalance", "balance", "preset", "seed", "migrations",
)
HARDWARE = {"packages": "package", "numa": "memory node", "pus": "hardware thread", "gpus": "GPU"}
#: Hosts, capacities of links and nodes of a mapping that are listed; JSON has all.
MAX_HOSTS_SHOWN, MOST_CAPACITIES, MOST_NODES = 8, 6, 64
#: Names of nodes in the routes of generated networks.
OWN_NAME = re.compile(r"n(0|[1-9][0-9]{0,8})", re.ASCII)
#: Shares with larger denominators are written as percentages.
MOST_DENOMINATOR = 1000


def explain(
    thing: str, *, input_format: str | None = None, route: tuple[str, str] | None = None,
    machine_options: Facts | None = None, **options: Any,
) -> tuple[Facts, str]:
    """Return the description of a thing, for programs and for people."""
    given = machine_options or {}
    if route is not None:
        facts = route_facts(allocate(thing, **given), *route)
        return facts, route_text(facts)
    if not given and (input_format is not None or not _is_machine(thing)):
        order = sorted(KINDS, key=lambda kind: kind not in ("mappers", "refiners"))  # first their names
        kinds = [(kind.removesuffix("s"), row) for kind in order for row in catalogue(kind)]
        rows = [{"thing": kind} | row for kind, row in kinds if row["name"] == thing]
        if rows:
            return rows[0], "\n".join(f"{row['thing']} {describe([row])}" for row in rows)
        if ":" not in thing and not _is_content(thing, input_format):
            near = nearest(thing, [*KINDS, *(row["name"] for _, row in kinds)])
            raise UnsupportedError(
                f"{thing!r} is not a registered name ('hopbytes show KIND'), a file or a machine like "
                "'node:2 core:4'" + (f"; did you mean {near[0]!r}?" if near else "")
            )
    return _explained(content_of(thing, None, input_format, given, options))


def content_of(
    thing: str, on: str | None, input_format: str | None, machine_options: Facts, options: Facts
) -> Allocation | CommGraph | Mapping | Array:
    """Return the machine, the pattern, the mapping, or the PEs of an unknown machine that a text names."""
    if on is not None:
        where = allocate(on, **machine_options)
        if not os.path.exists(thing) and thing != "-":
            raise FormatError(thing, None, "no such file, expected a mapping on the machine of --on")
        mapping: Mapping | Array = read(thing, input_format, holds="mapping", where=where, **options)
        return mapping
    is_machine = machine_options or (input_format is None and _is_machine(thing))
    if is_machine or not _is_content(thing, input_format):
        return allocate(thing, **machine_options)
    content: CommGraph | Mapping | Array = read(thing, input_format, **options)
    return content


def _is_content(thing: str, input_format: str | None) -> bool:
    """Return whether a text names a file or a pattern."""
    return input_format is not None or thing == "-" or os.path.exists(thing) or is_pattern_spec(thing)


def _is_machine(thing: str) -> bool:
    """Return whether a text that is no spec names a machine: ``local``, or a file that contains one."""
    return (thing in machines and machines[thing].stands_alone) or kind_of_file(thing) is not None


def _explained(content: Any) -> tuple[Facts, str]:
    """Describe a machine, a pattern, a mapping, or the PEs of one whose machine is unknown."""
    if isinstance(content, Allocation):
        return {"thing": "machine"} | machine_facts(content), machine_text(content)
    if isinstance(content, CommGraph):
        facts = pattern_facts(content)
        return {"thing": "pattern"} | facts, _pattern_text(facts)
    if isinstance(content, Mapping):
        facts = {"tasks": content.n} | dict(sorted(content.info.items()))
        lines = _aligned({key: facts[key] for key in OF_A_MAPPING if key in facts}) + ranks_per_node(content)
        text = "\n".join([*lines, "", machine_text(content.where)])
        return {"thing": "mapping"} | facts | {"machine": machine_facts(content.where)}, text
    pes = np.asarray(content)
    facts = {"tasks": len(pes), "pes_used": len(np.unique(pes)), "largest_pe": int(pes.max(initial=-1))}
    return {"thing": "mapping"} | facts, "\n".join(_aligned(facts))


def _aligned(facts: Facts) -> list[str]:
    rows = [(name.replace("_", " "), _text(value)) for name, value in facts.items()]
    return [line for line, (_, value) in zip(table_lines(rows, "<"), rows, strict=True) if value]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(item)}" for name, item in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_text, value))
    return "" if value is None else str(value)


# Patterns and mappings


def pattern_facts(graph: CommGraph) -> Facts:
    """Return the size and shape of a pattern; O(n + m)."""
    degrees, hosts, training = np.diff(graph.indptr), recorded_hosts(graph), training_of(graph)
    traffic = {} if training is None else training.traffic()
    kinds = {kind: sum(int(arcs.volumes.sum()) for arcs in parts) for kind, parts in traffic.items()}
    return {
        "name": graph.name,
        "tasks": graph.n,
        "arcs": graph.m,
        "volume": graph.total_volume,
        "volume_to_itself": diagonal_volume(graph),
        "volume_scale": graph.scale,
        "messages": None if graph.messages is None else int(graph.messages.sum()),
        "both_directions_equal": kernels.find_asymmetry(graph.arcs(graph.volumes)) < 0,
        "partners_fewest": int(degrees.min()) if graph.n else 0,
        "partners_mean": graph.m / graph.n if graph.n else 0.0,
        "partners_most": int(degrees.max(initial=0)),
        "load": graph.total_load,
        "heaviest_task": None if graph.loads is None else int(graph.loads.max(initial=0)),
        "hosts": None if hosts is None else len(set(hosts)),
        "parallelism": {kind: volume for kind, volume in kinds.items() if volume},
        "notices": list(graph.meta.get("notices", ())),
    }


def _pattern_text(facts: Facts) -> str:
    """Return the facts for people, without those that say nothing about this pattern."""
    usual = {"volume_to_itself": 0, "volume_scale": 1, "load": facts["tasks"], "parallelism": {}}
    shown = {name: value for name, value in facts.items() if usual.get(name, ...) != value}
    shown = {"pairs" if name == "arcs" else name: value for name, value in shown.items()}
    notices = shown.pop("notices")
    kinds = shown.pop("parallelism", {})
    shown |= {f"{kind} parallelism": f"{amount(volume)} per step" for kind, volume in kinds.items()}
    return "\n".join([*_aligned(shown), *notices])


def ranks_per_node(mapping: Mapping, columns: int | None = None) -> list[str]:
    """Return a line per node in use: its name and its ranks (tasks of a partition)."""
    columns, used = columns or width(), ranks_of_nodes(mapping)
    word = "ranks" if mapping.info.get("problem") == "processes" else "tasks"
    lines = [
        _fitting(f"{node_name(mapping.where, node)}: {word} ", ranks, columns)
        for node, ranks in used[:MOST_NODES]
    ]
    more = len(used) - MOST_NODES
    return lines + ([f"… and {more:,} more nodes"] if more > 0 else [])


def _fitting(head: str, tasks: Int64, columns: int) -> str:
    """Return as many ranges of ascending numbers as fit, and the number of tasks if some do not fit."""
    text = format_list(tasks.tolist())
    if len(head + text) <= columns:
        return head + text
    tail = f",… ({len(tasks):,} in all)"
    cut = text[: max(0, columns - len(head) - len(tail)) + 1].rpartition(",")[0]
    return head + (cut or text.partition(",")[0]) + tail


# Machines


def machine_facts(where: Allocation) -> Facts:
    """Return the facts of :func:`machine_text` with keys for JSON."""
    machine = where.machine
    per_node = np.bincount(where.node_of_pe)
    facts: Facts = {
        "spec": machine.spec(),
        "kind": type(machine).__name__.lower(),
        "pes": where.k,
        **_cores(where),
        "nodes": int(machine.node_of_core()[-1]) + 1,
        "pes_per_node": _range(per_node[per_node > 0]),
        "hosts": list(where.hosts),
        "levels": _levels(where),
    }
    if not facts["levels"]:
        apart = machine.distance().matrix()[~np.eye(machine.n_cores, dtype=bool)]
        facts["distances"] = _range(apart) if len(apart) else [0, 0]
    network = machine.network()
    facts |= _hardware(where) | ({} if network is None else {"network": network.describe()})
    facts["notices"] = list(where.notices)
    return facts


def _cores(where: Allocation) -> Facts:
    """Count all cores, those in slots and those per PE; leaves that are threads of one core count once."""
    core = units_of(where.machine, "core")
    owner = np.repeat(np.arange(where.k), np.diff(where.core_start))
    used = core[where.cores]
    # Cores ascend with the leaves, in all and in every slot; sorting 2**24 of them is faster than hashing.
    new = (np.diff(owner, prepend=-1) != 0) | (np.diff(used, prepend=-1) != 0)
    return {
        "cores": _distinct(core),
        "cores_in_slots": _distinct(used),
        "cores_per_pe": _range(np.bincount(owner[new])),
    }


def _distinct(numbers: Int64) -> int:
    return int(np.count_nonzero(np.diff(np.sort(numbers)))) + 1


def _hardware(where: Allocation) -> Facts:
    """Return sums over nodes whose trees are known; empty if they are unknown."""
    inventory = where.machine.inventory
    if inventory is None:
        return {}
    trees = [inventory.tree(node) for node in range(inventory.n_nodes)]
    facts = [tree.facts() for tree in trees]
    sums = {name: sum(own[name] for own in facts) for name in ("pus", "packages", "numa", "gpus")}
    barred = sum(tree.numa_barred for tree in trees)
    return sums | ({"numa_allowed": sums["numa"] - barred} if barred else {})


def _levels(where: Allocation) -> list[Facts]:
    machine, outer, rows = where.machine, np.zeros(where.machine.n_cores, np.int64), []
    for index, level in enumerate(machine.levels):
        units = machine.ancestors(index).astype(np.int64)
        heads = np.flatnonzero(np.diff(units, prepend=-1))
        rows.append({
            "name": level.name,
            "units": int(units[-1]) + 1,
            "units_in_use": int(np.count_nonzero(np.bincount(units[where.cores]))),
            "children": _range(np.bincount(outer[heads])),
            "distance": level.distance,
            "bandwidth": level.bandwidth,
            "latency": level.latency,
        })  # fmt: skip
        outer = units
    return rows


def _range(numbers: Int64) -> list[int]:
    return [int(numbers.min()), int(numbers.max())]


def _span(pair: list[int]) -> str:
    return str(pair[0]) if pair[0] == pair[1] else f"{pair[0]}-{pair[1]}"


def machine_text(where: Allocation) -> str:
    """Return a description for people; the first line's spec parses to the same machine."""
    facts = machine_facts(where)
    idle, per_node = facts["cores"] - facts["cores_in_slots"], f"{_span(facts['pes_per_node'])} per node"
    unit, slot, own = "core" if where.has_cores else "GPU", where.slot_word, facts["cores_per_pe"]
    rows = [("machine", facts["spec"])]
    if slot == unit:
        rows.append((f"{unit}s", f"{facts['pes']}, {per_node}" + (f", {idle} not in use" if idle else "")))
    else:
        rows += [
            (f"{slot}s", f"{facts['pes']}, {_span(own)} {unit}{'s' * (own != [1, 1])} each, {per_node}"),
            (f"{unit}s", f"{facts['cores']}, " + (f"{idle} not in use" if idle else "all in use")),
        ]
    hosts, more = facts["hosts"][:MAX_HOSTS_SHOWN], len(facts["hosts"]) - MAX_HOSTS_SHOWN
    hosts += [f"… {more} more"] if more > 0 else []
    rows.append(("nodes", f"{facts['nodes']}" + (f" ({', '.join(hosts)})" if hosts else "")))
    if "pus" in facts:
        counts = [(facts[key], word) for key, word in HARDWARE.items() if facts[key]]
        words = ", ".join(f"{count} {word}{'s' * (count > 1)}" for count, word in counts)
        if "numa_allowed" in facts:
            words = words.replace("memory nodes", f"memory nodes ({facts['numa_allowed']} allowed)")
        rows.append(("hardware", words))
    if "distances" in facts:
        rows.append(("distances", _span(facts["distances"])))
    rows += [*_network_rows(facts), *(("notice", notice) for notice in facts["notices"])]
    lines = [f"{name:9}  {value}" for name, value in rows] + _level_table(facts["levels"])
    if "pus" in facts:  # the trees of distinct nodes
        boxes = boxes_of(where)
        lines += [line for boxed in boxes[:MAX_NODES_DRAWN] for line in ["", *drawing(boxed)]]
        more = len(boxes) - MAX_NODES_DRAWN
        lines += [f"… {more} more kinds of nodes"] if more > 0 else []
    return "\n".join(lines)


def _level_table(levels: list[Facts]) -> list[str]:
    if not levels:
        return []
    columns = [
        ["level", *(level["name"] for level in levels)],
        ["units", *(str(level["units"]) for level in levels)],
        ["in use", *(str(level["units_in_use"]) for level in levels)],
        ["per outer unit", *(_span(level["children"]) for level in levels)],
        ["distance", *(str(level["distance"]) for level in levels)],
    ]
    for key in ("bandwidth", "latency"):
        if any(level[key] is not None for level in levels):
            columns.append([key, *("" if level[key] is None else f"{level[key]:g}" for level in levels)])
    return ["", *table_lines(list(zip(*columns, strict=True)))]


# Networks and routes


def _network_rows(facts: Facts) -> list[tuple[str, str]]:
    if "network" not in facts:
        return []
    network = facts["network"]
    own = [f"{int(value):,} ({count:,} links)" for value, count in network["capacities"].items()]
    more = [f"… {len(own) - MOST_CAPACITIES} more"] if len(own) > MOST_CAPACITIES else []
    paths = ", flows take several paths" if network["several_paths"] else ""
    sources = ""
    if network["sources_looked_at"] < network["endpoints"]:
        sources = f" (from {network['sources_looked_at']:,} of the endpoints)"
    size = f"{network['endpoints']:,} endpoints, {network['switches']:,} switches, {network['links']:,} links"
    rows = [
        ("network", size + paths),
        ("capacity", f"{', '.join(own[:MOST_CAPACITIES] + more) or 'none'}, {network['capacity_unit']}"),
        ("hops", f"{network['mean_distance']:.2f} on average, at most {network['diameter']}{sources}"),
    ]
    if network["unrouted_pairs"]:
        rows.append(("unrouted", f"{network['unrouted_pairs']:,} pairs of endpoints have no route"))
    return rows


def route_facts(where: Allocation, source: str, target: str) -> Facts:
    """Return the links from one node to another."""
    network = where.machine.network()
    if network is None:
        raise UnsupportedError(
            f"--route needs a machine with links, {where.machine.spec()[:60]} has none: torus:, mesh:, "
            "fattree:, dragonfly:, hyperx:, links:FILE and fabrics read from files have"
        )
    a, b = (_endpoint(where, network, name) for name in (source, target))
    lengths, common = network.mean_hops([a], [b])
    if lengths[0] < 0:
        raise UnsupportedError(f"no route from {network.name_endpoint(a)} to {network.name_endpoint(b)}")
    hops = plain(Fraction(int(lengths[0]), common))  # the mean over detours of unequal length
    routes = network.routes([a], [b])
    whole = np.ones(len(routes.links), np.int64)
    parts = (whole if part is None else part for part in (routes.numerators, routes.denominators))
    links = []
    for link, *share in zip(routes.links.tolist(), *(part.tolist() for part in parts), strict=True):
        name, capacity = network.name_link(link), int(network.capacity[link])
        links.append({"link": link, "name": name, "capacity": capacity, "share": share})
    return {
        "thing": "route", "from": network.name_endpoint(a), "to": network.name_endpoint(b), "hops": hops,
        "capacity_unit": network.unit, "links": links,
    }


def _endpoint(where: Allocation, network: Network, name: str) -> int:
    """Return the endpoint of a node, given its host name or number."""
    machine = where.machine
    hosts = where.hosts or machine.known_hosts.names
    nodes = int(machine.node_of_core()[-1]) + 1
    if name in hosts:
        node = hosts.index(name)
    elif name.isascii() and name.isdigit() and len(name) < 10 and int(name) < nodes:
        node = int(name)
    elif not hosts and OWN_NAME.fullmatch(name) and int(name[1:]) < nodes:
        node = int(name[1:])
    else:
        known = f" or a host name like {hosts[0]!r}" if hosts else f", or n0 to n{nodes - 1}"
        what = f"node {name[:40]!r}, expected a number from 0 to {nodes - 1}{known}"
        raise FormatError("--route", None, what)
    core = int(np.searchsorted(machine.node_of_core(), node))
    return int(machine.network_use.endpoint_of_core()[core])


def route_text(facts: Facts) -> str:
    """Return a route as lines: links with their capacities, and shares if there are several paths."""
    hops = f"{facts['hops']:g} hops" + (" on average" if isinstance(facts["hops"], float) else "")
    title = f"{facts['from']} to {facts['to']}: {hops} (capacities {facts['capacity_unit']})"
    rows = []
    for link in facts["links"]:
        part = Fraction(*link["share"])
        words = str(part) if part.denominator <= MOST_DENOMINATOR else f"{float(part):.3%}".replace("%", " %")
        share = "" if part == 1 else f"  {words} of the flow"
        rows.append((link["name"], f"{link['capacity']}{share}"))
    return "\n".join([title, *(f"  {line}" for line in table_lines(rows, "<"))])
