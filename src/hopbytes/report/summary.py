"""The report of ``hopbytes map`` about a mapping: sentences for people, one object for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hopbytes.formats.exchange import Receipt
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping

if TYPE_CHECKING:
    from hopbytes.cost.metrics.evaluation import Evaluation
    from hopbytes.report.verdict import Verdict

#: Number of random mappings for comparison; a graph with more arcs than the limit gets one, to save time.
RANDOM_SEEDS = 10
ARCS_FOR_ALL_SEEDS = 2_000_000


class Judged(NamedTuple):
    """The metrics of a mapping, and the verdict on it."""

    evaluation: Evaluation
    verdict: Verdict


def judged(
    graph: CommGraph, mapping: Mapping, *, launcher: str = "fill", chance: bool = False
) -> Judged:
    """Return the metrics of a mapping under the weights for which it was made, and the verdict on it.

    Measures the mapping, the launcher's own and, with `chance`, random ones: O(n + m) each.
    """
    from hopbytes.cost.metrics.evaluation import evaluate
    from hopbytes.report.verdict import verdict

    seeds = (RANDOM_SEEDS if graph.m <= ARCS_FOR_ALL_SEEDS else 1) if chance else 0
    seen, threads = graph.with_weights(mapping.info.get("weight", "bytes")), mapping.info.get("threads")
    evaluation = evaluate(seen, mapping, random_seeds=seeds, launcher=launcher, threads=threads)
    return Judged(evaluation, verdict(graph, mapping, evaluation))


def verdict_of(graph: CommGraph, mapping: Mapping, evaluation: Evaluation) -> Verdict:
    """Return the verdict on a mapping whose bytes were evaluated; `map` gave the same when it made it."""
    from hopbytes.report.verdict import verdict

    if mapping.info.get("weight", "bytes") in ("bytes", "time"):
        return verdict(graph, mapping, evaluation)
    return judged(graph, mapping, launcher=evaluation.launcher).verdict


def map_summary(graph: CommGraph, mapping: Mapping, found: Judged) -> list[str]:
    """Return the sentences about a mapping: the verdict, the slots in use, then one line of numbers."""
    from hopbytes.report.parallelism import parallelism
    from hopbytes.report.tables import summary
    from hopbytes.report.verdict import slots_sentence

    line = f"{mapping.info['problem']}: {summary(found.evaluation, mapping)}"
    if "migrations" in mapping.info:
        moved, price = mapping.info["migrations"], mapping.info["migration_cost"]
        line += f" · {moved} of {mapping.n} tasks migrate" + (f" for {price:,}" if price else "")
    kinds = [str(each) for each in parallelism(graph, mapping)]
    return [each for each in (*found.verdict.sentences, *kinds, slots_sentence(mapping), line) if each]


def map_record(
    graph: CommGraph, mapping: Mapping, read_seconds: float, receipt: Receipt | None,
    found: Verdict | None = None,
) -> dict[str, Any]:
    """Return the object that ``map --json`` prints: facts of the run, verdict, files, launch command."""
    info: dict[str, Any] = dict(mapping.info)
    first = ("comm_cost", "imbalance", "balance", "problem")
    record = {key: info.pop(key) for key in first}
    record["seconds"] = {"read": read_seconds, **info.pop("seconds")}
    record |= {"n": mapping.n, "k": mapping.where.k, "machine": mapping.where.machine.spec()}
    record |= info | {"verdict": None if found is None else found.to_dict()}
    record["notices"] = [
        *graph.meta.get("notices", ()),
        *([f"{graph.n:,} tasks = {graph.meta['sizes']}"] if "sizes" in graph.meta else ()),
        *mapping.where.notices,
        *record.get("notices", ()),
        *(receipt.notices if receipt else ()),
    ]
    if graph.meta.get("format") == "generated":
        from hopbytes.report.parallelism import parallelism_record

        record |= parallelism_record(graph, mapping)
    record["files"] = list(receipt.paths) if receipt else []
    record["launch"] = receipt.launch if receipt else ""
    record["launches"] = {line.mpi: line.command for line in receipt.lines} if receipt else {}
    return record
