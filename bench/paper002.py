"""The simulation of Jeannot and Mercier, "Near-optimal placement of MPI processes on hierarchical NUMA
architectures" (Euro-Par 2010), section 5.2: TreeMatch beside MPIPP, packed and round robin, and our presets.

``python bench/paper002.py --out bench/results/paper002.jsonl`` maps every case by every algorithm, writes a
JSON line each (J, and CPU seconds of one thread) and prints how often TreeMatch is strictly ahead, ties, and
ratios of simulated run time (sum of volume x distance). The cases are fixed below: recorded programs on two
machines, and 14 random hierarchical matrices on six. Machines and recordings are samples of the developers'
shared folder. Started again it goes on where it was; ``--cases recorded`` or ``synthetic`` does a part.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import hopbytes as hb
from instances import shared_folder

#: Programs recorded at 16, 32 and 64 ranks; those whose recordings hold next to no traffic are left out.
RECORDED = (
    "ompi_monitoring/npb_bt_S_16.prof", "ompi_monitoring/npb_cg_S_16.prof",
    "ompi_monitoring/npb_cg_S_32.prof", "ompi_monitoring/npb_ft_S_16.prof",
    "ompi_monitoring/npb_is_S_16.prof", "ompi_monitoring/npb_mg_S_16.prof",
    "ompi_monitoring/npb_sp_S_16.prof", "ompi_monitoring/lmp_lj_16.prof", "ompi_monitoring/lmp_lj_32.prof",
    "ompi_monitoring/lmp_pppm_16.prof", "ompi_monitoring/hpcc_16.prof",
    "ompi_monitoring/openfoam_pitzDaily_16.prof", "ompi_monitoring/openfoam_pitzDaily_32.prof",
    "ompi_monitoring/qe_si8_nk4_16.prof", "mpip_commatrix/npb_cg_C_64.mpiP.gz",
    "mpip_commatrix/npb_mg_C_64.mpiP.gz", "mpip_commatrix/lulesh_64.mpiP.gz",
    "mpip_commatrix/cloverleaf_64.mpiP.gz", "maplib/amg_64_size.csv", "maplib/cg_64_size.csv",
)
#: The first has the shape of the paper's Bertha: four memory nodes of four packages of three pairs of cores.
MACHINES = (
    "v2_96em64t-4n4d3ca2co-pci", "v3_Zen3-2xEpyc-7763", "v2_corona11_converted", "v2_lassen_converted",
    "v2_memorysidecaches", "v3_Zen-2xEpyc-7451",
)
#: Pairs, pairs of pairs and so on; every hidden tree with two seeds.
TREES = ("2x2x2x2", "4x2x2", "2x4x2", "4x4x2", "2x2x2x3", "2x3x2x3", "5x2x4")
SEEDS = (1, 2)
ALGORITHMS = {
    "treematch": {"mapper": "treematch"},
    "mpipp.1": {"mapper": "mpipp:starts=1"},
    "mpipp.5": {"mapper": "mpipp:starts=5"},
    "packed": {"mapper": "identity", "pack": True},
    "eco": {"preset": "eco", "pack": True},
    "strong": {"preset": "strong", "pack": True},
    "treematch+strong": {"preset": "strong"},
}
ROUND_ROBIN = "round robin"


def cases(kind: str) -> Iterator[tuple[str, str, str]]:
    """Return kind, pattern and machine of every case."""
    if kind in ("all", "recorded"):
        yield from (("recorded", pattern, machine) for pattern in RECORDED for machine in MACHINES[:2])
    if kind in ("all", "synthetic"):
        for tree in TREES:
            for seed in SEEDS:
                for machine in MACHINES:
                    yield "synthetic", f"hierarchical:{tree}:factor=10:seed={seed}", machine


def placed(graph: hb.CommGraph, where: hb.Allocation, name: str, chosen: hb.Mapping | None) -> hb.Mapping:
    """Map one case by one algorithm; `chosen` is TreeMatch's placement."""
    if name == ROUND_ROBIN:  # process i on the core that the operating system numbers i
        first = [min(where.os_pus(pe) or (pe,)) for pe in range(where.k)]
        return hb.Mapping(np.argsort(first)[: graph.n].astype(np.int32), where, {})
    if name != "treematch+strong":
        return hb.map_tasks(graph, where, threads=1, **ALGORITHMS[name])  # type: ignore[arg-type]
    assert chosen is not None
    pes = np.sort(chosen.pe).astype(np.int64)
    inner = hb.map_tasks(graph, where.select(pes), threads=1, preset="strong")
    return hb.Mapping(pes[inner.pe].astype(np.int32), where, inner.info)


def measure(folder: Path, kind: str, done: set[tuple[str, ...]]) -> Iterator[dict[str, Any]]:
    """Yield a record per case and algorithm that is not done yet."""
    for kind_of_case, pattern, machine in cases(kind):
        names = (*ALGORITHMS, ROUND_ROBIN)
        if all((pattern, machine, name) in done for name in names):
            continue
        path = pattern if kind_of_case == "synthetic" else str(folder / "samples" / pattern)
        graph = hb.read(path, holds="pattern")
        where = hb.machine(f"hwloc:{folder}/samples/hwloc/{machine}.xml")
        chosen = None
        for name in names:
            began = time.process_time()
            mapping = placed(graph, where, name, chosen)
            seconds = time.process_time() - began
            chosen = mapping if name == "treematch" else chosen
            cost = hb.evaluate(graph, mapping, baselines=False).mapping.comm_cost
            yield {
                "kind": kind_of_case, "pattern": pattern, "machine": machine, "n": graph.n, "k": where.k,
                "algorithm": name, "comm_cost": cost, "seconds": seconds,
                "work": mapping.info.get("work", {}),
            }


def table(records: list[dict[str, Any]]) -> str:
    """How TreeMatch compares: per kind of case and rival, the ratios of simulated run time and of time."""
    head = "rival | ahead % | ties % | behind % | median | mean | min | max | its CPU time, times ours"
    lines = []
    for kind in sorted({record["kind"] for record in records}):
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for record in records:
            if record["kind"] == kind:
                found.setdefault((record["pattern"], record["machine"]), {})[record["algorithm"]] = record
        lines.append(f"{kind}: {len(found)} cases; rival's simulated run time over TreeMatch's")
        lines.append(head)
        for name in [*ALGORITHMS, ROUND_ROBIN][1:]:
            pairs = [(case["treematch"], case[name]) for case in found.values() if name in case]
            if not pairs:
                continue
            ratios = np.array([rival["comm_cost"] / ours["comm_cost"] for ours, rival in pairs])
            times = [rival["seconds"] / max(ours["seconds"], 1e-9) for ours, rival in pairs]
            share = [100 * np.mean(each) for each in (ratios > 1, ratios == 1, ratios < 1)]
            lines.append(
                f"{name} | {share[0]:.1f} | {share[1]:.1f} | {share[2]:.1f} | {np.median(ratios):.3f} | "
                f"{ratios.mean():.3f} | {ratios.min():.3f} | {ratios.max():.3f} | {np.median(times):.1f}"
            )
        ties = [
            f"{pattern} on {machine}" for (pattern, machine), case in found.items()
            if "mpipp.1" in case and case["mpipp.1"]["comm_cost"] == case["treematch"]["comm_cost"]
        ]  # fmt: skip
        lines += ["equal to mpipp.1: " + ("; ".join(ties) or "none"), ""]
    return "\n".join(lines)


def main() -> None:
    """Measure what is missing, print the table."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cases", choices=("all", "recorded", "synthetic"), default="all")
    options = parser.parse_args()
    folder = shared_folder()
    if folder is None:
        raise SystemExit("no folder of developers' samples (HOPBYTES_SHARED)")
    folder = folder.parent
    options.out.parent.mkdir(parents=True, exist_ok=True)
    text = options.out.read_text() if options.out.exists() else ""
    records = [json.loads(line) for line in text.splitlines()]
    done = {(each["pattern"], each["machine"], each["algorithm"]) for each in records}
    with options.out.open("a") as out:
        for record in measure(folder, options.cases, done):
            key = (record["pattern"], record["machine"], record["algorithm"])
            if key not in done:
                records.append(record)
                out.write(json.dumps(record) + "\n")
                out.flush()
    print(table(records))


if __name__ == "__main__":
    main()
