"""Real MPI patterns, one task per slot: our presets beside tasks in order and Scotch.

``python -m bench.studies.mpi_patterns --out bench/results/mpi_patterns.jsonl`` maps every recording by every
preset and by Scotch 7.0.16 (``scotchpy64``; its default and its best strategy, with an imbalance of 1 % and
of 0), writes a JSON line each and prints J over that of tasks in order (as a launcher starts them: block by
node), J over the best balanced one of the four answers of Scotch, of several that of the least J, and CPU
seconds of mapping (one thread; Scotch may use more). Recordings are samples of the developers' shared folder.
Started again it does what is missing.

``--best ARCS`` adds preset ``best`` with that ``--work-limit`` (arcs looked at, the same everywhere) and
a bound below every placement, and counts who is near either.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

import hopbytes as hb
from bench.instances.graphs import shared_folder
from bench.rivals import scotch_gmap
from bench.rivals.needed import need
from hopbytes.cost.metrics.baselines import in_order

#: By ranks: machines whose every level is a power of two, as most recordings are numbered for, and others.
MACHINES = {
    "powers of two": {
        16: "node:2@20 package:2@5 core:4@2", 32: "node:2@20 package:2@5 l3:2@3 core:4@2",
        64: "node:4@20 package:2@5 l3:2@3 core:4@2", 1000: "node:16@20 package:2@5 l3:8@3 core:4@2",
        1024: "node:16@20 package:2@5 l3:8@3 core:4@2", 1152: "node:18@20 package:2@5 l3:8@3 core:4@2",
    },
    "threes": {
        16: "node:3@20 package:2@5 core:3@2", 32: "node:2@20 package:2@5 l3:3@3 core:3@2",
        64: "node:3@20 package:2@5 l3:3@3 core:4@2", 1000: "node:21@20 package:2@5 l3:6@3 core:4@2",
        1024: "node:22@20 package:2@5 l3:6@3 core:4@2", 1152: "node:24@20 package:2@5 l3:6@3 core:4@2",
    },
}
#: All recordings of 16 ranks and more but those that hold next to no traffic (CoMD and FT by mpiP).
RECORDINGS = (
    "graphs/mpi_lulesh_1000.graph.xz", "graphs/mpi_cg_1024.graph.xz", "graphs/mpi_CloverLeaf_1152.graph.xz",
    "samples/graphs/npb_sp_D_1024.topo", "samples/mpip_commatrix/cloverleaf_64.mpiP.gz",
    "samples/mpip_commatrix/lulesh_64.mpiP.gz", "samples/mpip_commatrix/npb_cg_C_64.mpiP.gz",
    "samples/mpip_commatrix/npb_mg_C_64.mpiP.gz", "samples/maplib/amg_64_size.csv",
    "samples/maplib/cg_64_size.csv", "samples/ompi_monitoring/lmp_lj_32.prof",
    "samples/ompi_monitoring/npb_cg_S_32.prof", "samples/ompi_monitoring/openfoam_pitzDaily_32.prof",
    "samples/ompi_monitoring/hpcc_16.prof", "samples/ompi_monitoring/lmp_lj_16.prof",
    "samples/ompi_monitoring/lmp_pppm_16.prof", "samples/ompi_monitoring/npb_bt_S_16.prof",
    "samples/ompi_monitoring/npb_cg_S_16.prof", "samples/ompi_monitoring/npb_ft_S_16.prof",
    "samples/ompi_monitoring/npb_is_S_16.prof", "samples/ompi_monitoring/npb_mg_S_16.prof",
    "samples/ompi_monitoring/npb_sp_S_16.prof", "samples/ompi_monitoring/openfoam_pitzDaily_16.prof",
    "samples/ompi_monitoring/qe_si8_nk4_16.prof",
)
PRESETS = ("fast", "eco", "strong")
SCOTCH = "scotch"
#: Names of Scotch's strategies in scotchpy, and allowed imbalances.
WAYS = {f"{SCOTCH} {name} {ratio:g}": (f"STRAT{name.upper()}", ratio)
        for name in ("default", "quality") for ratio in (0.01, 0.0)}  # fmt: skip
#: The contender that says how much is left, and how far above the least J a placement counts as near.
BEST = "best"
NEAR = 0.01

Record = dict[str, Any]


def cost(graph: hb.CommGraph, where: hb.Allocation, pe: np.ndarray) -> int:
    """J of a placement."""
    mapping = hb.Mapping(pe.astype(np.int32), where, {})
    return int(hb.evaluate(graph, mapping, baselines=False).mapping.comm_cost)


def ours(graph: hb.CommGraph, where: hb.Allocation, preset: str, seed: int) -> Iterator[Record]:
    """Map by a preset, beside tasks in order on slots chosen alike."""
    began = time.process_time()
    mapping = hb.map_tasks(graph, where, preset, partition=False, threads=1, seed=seed)
    seconds = time.process_time() - began
    base = cost(graph, where, in_order(graph, mapping))
    yield {"tool": preset, "comm_cost": mapping.info["comm_cost"], "in_order": base, "cpu_seconds": seconds,
           "most": int(np.bincount(mapping.pe).max())}  # fmt: skip


def bound(graph: hb.CommGraph, where: hb.Allocation) -> int:
    """Return what no placement with one task per slot is below: neighbours by volume on the nearest slots.

    Of a task's neighbours the i-th heaviest is at best as far as the i-th nearest other slot, from the slot
    where that is nearest.
    """
    indptr, targets, weights = graph.symmetric_positive()
    carried = np.ones(len(targets), np.int64) if weights is None else weights
    apart = where.distance.matrix().copy()
    np.fill_diagonal(apart, np.iinfo(np.int64).max)
    nearest = np.sort(apart, axis=1).min(axis=0)
    rows = [np.sort(carried[indptr[v] : indptr[v + 1]])[::-1] for v in range(graph.n)]
    below = sum(int(row @ nearest[: len(row)]) for row in rows)
    return below * (2 if indptr is graph.indptr else 1) // 2  # each pair was looked at from both ends


def endless(graph: hb.CommGraph, where: hb.Allocation, arcs: int, seed: int) -> Iterator[Record]:
    """Map by ``best`` under a limit of work."""
    began = time.process_time()
    mapping = hb.map_tasks(
        graph, where, BEST, partition=False, threads=1, seed=seed, limits=hb.Limits(work=arcs)
    )
    seconds = time.process_time() - began
    yield {"tool": BEST, "comm_cost": mapping.info["comm_cost"], "cpu_seconds": seconds,
           "bound": bound(graph, mapping.where), "arcs": arcs, "most": 1}  # fmt: skip


def scotch(graph: hb.CommGraph, where: hb.Allocation) -> Iterator[Record]:
    """All answers of Scotch."""
    import scotchpy

    indptr, targets, weights = graph.symmetric_positive()
    carried = np.ones(len(targets), np.int64) if weights is None else weights
    largest = int(carried.sum()) * where.distance.largest
    carried = np.maximum(1, carried // -(-largest // 2**62))
    given, machine = scotchpy.Graph(), scotchpy.Arch()
    starts, ends = indptr.astype(np.int64), targets.astype(np.int64)
    given.build(verttab=starts, edgetab=ends, edlotab=carried)
    levels = [int(word) for word in scotch_gmap.target_text(where).split()[2:]]
    machine.tleaf(levels[0::2], levels[1::2])
    for way, (flag, ratio) in WAYS.items():
        began = time.process_time()
        strategy, pe = scotchpy.Strat(), np.zeros(graph.n, np.int64)
        strategy.graph_map_build(getattr(scotchpy, flag), where.k, ratio)
        given.map(machine, strategy, pe)
        seconds = time.process_time() - began
        yield {"tool": way, "comm_cost": cost(graph, where, pe), "most": int(np.bincount(pe).max()),
               "cpu_seconds": seconds}  # fmt: skip


def measure(
    folder: Path, kind: str, done: set[tuple[str, str, str]], seed: int, arcs: int
) -> Iterator[Record]:
    """Yield a record per recording and tool that is not done yet, on one kind of machines."""
    tools = [*PRESETS, *WAYS, *([BEST] if arcs else [])]
    for name in RECORDINGS:
        missing = [tool for tool in tools if (kind, name, tool) not in done]
        if not missing:
            continue
        graph = hb.read(str(folder / name), holds="pattern")
        where = hb.allocate(MACHINES[kind][graph.n])
        found = [ours(graph, where, preset, seed) for preset in PRESETS if preset in missing]
        if set(WAYS) & set(missing):
            found.append(scotch(graph, where))
        if BEST in missing:
            found.append(endless(graph, where, arcs, seed))
        for record in chain(*found):
            if record["tool"] in missing:
                yield {"machines": kind, "recording": name, "n": graph.n, "k": where.k, **record}


def balanced(tools: dict[str, Record]) -> Record | None:
    """The best balanced answer of Scotch: fewest tasks on its fullest PE, then least J."""
    rows = [record for tool, record in tools.items() if tool.startswith(SCOTCH)]
    return min(rows, key=lambda record: (record["most"], record["comm_cost"]), default=None)


def by_case(records: list[Record]) -> list[dict[str, Record]]:
    """Group the records of each recording on each machine: tool → record."""
    cases: dict[tuple[str, str], dict[str, Record]] = {}
    for record in records:
        cases.setdefault((record["machines"], record["recording"]), {})[record["tool"]] = record
    return list(cases.values())


def ratios(tools: dict[str, Record], preset: str) -> tuple[float, float]:
    """J of a preset over that of tasks in order, and over that of Scotch."""
    record, rival = tools[preset], balanced(tools)
    against = record["comm_cost"] / rival["comm_cost"] if rival else float("nan")
    return record["comm_cost"] / record["in_order"], against


def table(records: list[Record]) -> str:
    """Ratios of J and seconds per recording, then their summary."""
    cases = by_case(records)
    columns = [f"{preset}: / in order, / scotch, CPU s" for preset in PRESETS]
    head = ["recording", "ranks", "scotch / in order (tasks on fullest PE, CPU s)", *columns]
    lines = [" | ".join(head)]
    for tools in cases:
        rival, first = balanced(tools), tools[PRESETS[0]]
        words = [Path(first["recording"]).name.split(".")[0], str(first["n"]), "absent"]
        if rival is not None:
            against = rival["comm_cost"] / first["in_order"]
            words[2] = f"{against:.3f} ({rival['most']}, {rival['cpu_seconds']:.2f})"
        for preset in PRESETS:
            base, scotch = ratios(tools, preset)
            words.append(f"{base:.3f}, {scotch:.3f}, {tools[preset]['cpu_seconds']:.3f}")
        lines.append(" | ".join(words))
    return "\n".join([*lines, summary(cases)])


def summary(cases: list[dict[str, Record]]) -> str:
    """Geometric means over the cases, and what has to be known to read them."""
    lines = []
    for preset in PRESETS:
        found = np.array([ratios(tools, preset) for tools in cases])
        mean, most = np.exp(np.log(found).mean(axis=0)), found.max(axis=0)
        lines.append(
            f"{preset}: J / in order {mean[0]:.3f} (largest {most[0]:.3f}), "
            f"J / scotch {mean[1]:.3f} (largest {most[1]:.3f})"
        )
    rivals = [balanced(tools) for tools in cases]
    crowded = [rival["recording"] for rival in rivals if rival and rival["most"] > 1]
    equal = 0
    for tools, rival in zip(cases, rivals, strict=True):
        answers = {tools[preset]["comm_cost"] for preset in PRESETS}
        equal += rival is not None and answers == {rival["comm_cost"]}
    lines.append(f"the same J by all presets and Scotch: {equal} of {len(cases)}")
    return "\n".join([*lines, "two tasks on a PE by Scotch, all ways: " + (", ".join(crowded) or "none")])


def remaining(cases: list[dict[str, Record]]) -> str:
    """Say how near `eco` and Scotch are to the least J found by anybody and to the bound."""
    found = [tools for tools in cases if BEST in tools]
    lines = []
    for name in (*PRESETS, SCOTCH):
        excess, proven = [], 0
        for tools in found:
            record = balanced(tools) if name == SCOTCH else tools[name]
            single = [each for each in tools.values() if each["most"] == 1]
            least = min(each["comm_cost"] for each in single)
            if record is not None:
                excess.append(record["comm_cost"] / least - 1)
                proven += record["comm_cost"] <= tools[BEST]["bound"]
        if excess:
            near, equal = (sum(each <= most for each in excess) for most in (NEAR, 0))
            lines.append(
                f"{name}: within {NEAR:.0%} of the least found on {near} of {len(excess)}, equal to it on "
                f"{equal}, at the bound on {proven}; mean excess {np.mean(excess):.2%}, "
                f"largest {max(excess):.2%}"
            )
    return "\n".join(lines)


def main() -> None:
    """Measure what is missing, print the table."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--best", type=int, default=0, metavar="ARCS", help="preset best, too")
    options = parser.parse_args()
    folder = shared_folder()
    if folder is None:
        raise SystemExit("no folder of developers' samples (HOPBYTES_SHARED)")
    need("scotchpy")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    text = options.out.read_text() if options.out.exists() else ""
    records = [json.loads(line) for line in text.splitlines()]
    done = {(record["machines"], record["recording"], record["tool"]) for record in records}
    for kind in MACHINES:
        with options.out.open("a") as out:
            for record in measure(folder.parent, kind, done, options.seed, options.best):
                records.append(record)
                out.write(json.dumps(record) + "\n")
                out.flush()
        print(f"\nmachines: {kind}\n" + table([record for record in records if record["machines"] == kind]))
    print(f"\nall\n{summary(by_case(records))}")
    if options.best:
        print(remaining(by_case(records)))


if __name__ == "__main__":
    main()
