"""Description of whatever a user names: a registered name, a file or a machine spec."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from hopbytes.errors import UnsupportedError, nearest
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.patterns.base import is_pattern_spec
from hopbytes.report.catalogue import KINDS, catalogue, describe
from hopbytes.report.network_text import route_facts, route_text
from hopbytes.report.ranks_text import ranks_per_node
from hopbytes.report.show import machine_facts, machine_text
from hopbytes.util.quantities import amount

Facts = dict[str, Any]

#: Facts about a mapping in the text; JSON has all.
OF_A_MAPPING = (
    "tasks", "problem", "comm_cost", "objective", "imbalance", "balance", "preset", "seed", "migrations",
)


def explain(
    thing: str, *, input_format: str | None = None, route: tuple[str, str] | None = None,
    machine_options: Facts | None = None, **options: Any,
) -> tuple[Facts, str]:
    """Return the description of a thing, for programs and for people.

    >>> explain("node:2 core:4")[0]["pes"]
    8
    """
    if route is not None:
        from hopbytes.machines.allocate.allocate import allocate

        facts = route_facts(allocate(thing, **machine_options or {}), *route)
        return facts, route_text(facts)
    if machine_options or (is_machine(thing) and input_format is None):
        return _explain_machine(thing, machine_options or {})
    kinds = [(kind.removesuffix("s"), row) for kind in KINDS for row in catalogue(kind)]
    rows = [{"thing": kind} | row for kind, row in kinds if row["name"] == thing]
    if rows:
        return rows[0], "\n".join(f"{row['thing']} {describe([row])}" for row in rows)
    if input_format is not None or thing == "-" or os.path.exists(thing):
        return _explain_content(thing, input_format, options)
    if is_pattern_spec(thing):
        return _explain_content(thing, None, {})
    if ":" not in thing:
        near = nearest(thing, [*KINDS, *(row["name"] for _, row in kinds)])
        raise UnsupportedError(
            f"{thing!r} is no registered name ('hopbytes show KIND'), no file and no machine like "
            "'node:2 core:4'" + (f"; did you mean {near[0]!r}?" if near else "")
        )
    return _explain_machine(thing, {})


def is_machine(thing: str) -> bool:
    """Return whether a text that is no spec names a machine: ``local``, or a file that contains one."""
    from hopbytes.machines.base import machines
    from hopbytes.machines.spec import kind_of_file

    return (thing in machines and machines[thing].stands_alone) or kind_of_file(thing) is not None


def _explain_machine(spec: str, options: Facts) -> tuple[Facts, str]:
    from hopbytes.machines.allocate.allocate import allocate

    where = allocate(spec, **options)
    return {"thing": "machine"} | machine_facts(where), machine_text(where)


def _explain_content(path: str, input_format: str | None, options: Facts) -> tuple[Facts, str]:
    from hopbytes.formats.exchange import read

    content = read(path, input_format, **options)
    if isinstance(content, CommGraph):
        facts = pattern_facts(content)
        return {"thing": "pattern"} | facts, _pattern_text(facts)
    if isinstance(content, Mapping):
        facts = {"tasks": content.n} | dict(sorted(content.info.items()))
        machine = machine_facts(content.where)
        text = "\n".join([
            _aligned({key: facts[key] for key in OF_A_MAPPING if key in facts}),
            *ranks_per_node(content), "", machine_text(content.where),
        ])  # fmt: skip
        return {"thing": "mapping"} | facts | {"machine": machine}, text
    pes = np.asarray(content)
    facts = {"tasks": len(pes), "pes_used": len(np.unique(pes)), "largest_pe": int(pes.max(initial=-1))}
    return {"thing": "mapping"} | facts, _aligned(facts)


def pattern_facts(graph: CommGraph) -> Facts:
    """Return the size and shape of a pattern; O(n + m).

    >>> facts = pattern_facts(CommGraph.from_edges([0, 1, 1], [1, 0, 1], [5, 5, 2]))
    >>> facts["tasks"], facts["arcs"], facts["volume"], facts["volume_to_itself"]
    (2, 3, 12, 2)
    """
    from hopbytes import kernels
    from hopbytes.cost.metrics.mapping_metrics import diagonal_volume
    from hopbytes.patterns.base import recorded_hosts
    from hopbytes.patterns.ml import training_of

    degrees, hosts, training = np.diff(graph.indptr), recorded_hosts(graph), training_of(graph)
    traffic = {} if training is None else training.traffic()
    kinds = {kind: sum(int(arcs.volumes.sum()) for arcs in parts) for kind, parts in traffic.items()}
    kinds = {kind: volume for kind, volume in kinds.items() if volume}
    loads = graph.loads
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
        "heaviest_task": None if loads is None else int(loads.max(initial=0)),
        "hosts": None if hosts is None else len(set(hosts)),
        "parallelism": kinds,
        "notices": list(graph.meta.get("notices", ())),
    }


def _pattern_text(facts: Facts) -> str:
    """Return the facts for people, without those that say nothing about this pattern."""
    usual = {"volume_to_itself": 0, "volume_scale": 1, "load": facts["tasks"], "parallelism": {}}
    shown = {name: value for name, value in facts.items() if usual.get(name, ...) != value}
    shown["pairs"] = shown.pop("arcs")
    kinds, notices = shown.pop("parallelism", {}), shown.pop("notices")
    order = ["name", "tasks", "pairs", *(name for name in shown if name not in ("name", "tasks", "pairs"))]
    lines = {name: shown[name] for name in order}
    lines |= {f"{kind} parallelism": f"{amount(volume)} per step" for kind, volume in kinds.items()}
    return "\n".join([_aligned(lines), *notices])


def _aligned(facts: Facts) -> str:
    width = max(map(len, facts))
    lines = [(name.replace("_", " "), _text(value)) for name, value in facts.items()]
    return "\n".join(f"{name:<{width}}  {value}".rstrip() for name, value in lines if value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.2f}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(item)}" for name, item in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_text, value))
    return "" if value is None else str(value)
