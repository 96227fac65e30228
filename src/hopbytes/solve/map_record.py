"""The record of a mapping for programs, which ``map --json`` prints."""

from __future__ import annotations

from typing import Any

from hopbytes.formats.exchange import Receipt
from hopbytes.launch.in_words import near_in_words
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping


def map_record(
    graph: CommGraph, mapping: Mapping, read_seconds: float, receipt: Receipt | None,
    verdict: dict[str, Any] | None = None, form: str | None = None,
) -> dict[str, Any]:
    """Return the object that ``map --json`` prints: facts of the run, verdict, files, launch command."""
    info: dict[str, Any] = dict(mapping.info)
    record = {key: info.pop(key) for key in ("comm_cost", "imbalance", "balance", "problem")}
    record["seconds"] = {"read": read_seconds, **info.pop("seconds")}
    record |= {"n": mapping.n, "k": mapping.where.k, "machine": mapping.where.machine.spec()}
    record |= info | {"verdict": verdict}
    record["notices"] = [
        *graph.meta.get("notices", ()),
        *([f"{graph.n:,} tasks = {graph.meta['sizes']}"] if "sizes" in graph.meta else ()),
        *mapping.where.notices,
        *record.get("notices", ()),
        *(receipt.notices if receipt else ()),
        *near_in_words(graph, mapping, *filter(None, [form])),
    ]
    if graph.meta.get("format") == "generated":
        from hopbytes.cost.metrics.parallelism import parallelism_record

        record |= parallelism_record(graph, mapping)
    record["files"] = list(receipt.paths) if receipt else []
    record["launch"] = receipt.launch if receipt else ""
    record["launches"] = {line.mpi: line.command for line in receipt.lines} if receipt else {}
    return record
