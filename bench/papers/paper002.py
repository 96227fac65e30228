"""The simulation of Jeannot and Mercier, "Near-optimal placement of MPI processes on hierarchical NUMA
architectures" (Euro-Par 2010), section 5.2: TreeMatch beside MPIPP, packed and round robin, Scotch, mappings
that MapLib published, Open MPI's own, and our presets.

``python -m bench.papers.paper002 --out bench/results/paper002.jsonl`` maps every case by every algorithm,
writes a JSON line each (J, and CPU seconds of one thread) and prints how often TreeMatch is strictly ahead,
ties, and ratios of simulated run time (sum of volume x distance). The cases are fixed below: recorded
programs on two machines, and on four more where their ranks fit; 14 random hierarchical matrices on all
six, and on the machines that they fit; a matrix whose mappings are published; programs on this host, if it
has cores enough. Recordings are samples of the developers' shared folder; ``--cases synthetic`` and
``fitting`` do without. Started again it goes on where it was; ``--cases`` does a part. Fig. 3 of the paper,
histograms and cumulative distributions of ratios, comes after the tables. ``--quick`` does a matrix per tree
on all six machines, by the algorithms of the paper.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import hopbytes as hb
import hopbytes_laboratory
from bench.instances.graphs import shared_folder
from bench.papers.paper002_rivals import HIDDEN, OURS, SAMPLED, SHAPES, Case, mapped_row, rows
from bench.papers.quick import Report
from bench.rivals import ompi_treematch, scotch_gmap

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
#: Files of hwloc, and the same machines as trees for those who do not have the files. The first has the
#: shape of the paper's Bertha: four memory nodes of four packages of three pairs of cores.
TREE_OF = {
    "v2_96em64t-4n4d3ca2co-pci": "numa:4@15 package:4@10 l3:3@2 core:2@1",
    "v3_Zen3-2xEpyc-7763": "package:2@10 l3:8@3 core:8@2",
    "v2_corona11_converted": "package:2@10 numa:4@5 l3:2@3 core:3@2",
    "v2_lassen_converted": "package:2@10 l3:10@3 core:2@1",
    "v2_memorysidecaches": "package:2@10 numa:2@5 core:10@2",
    "v3_Zen-2xEpyc-7451": "package:2@10 l3:8@3 core:3@2",
}
MACHINES = tuple(TREE_OF)
#: Pairs, pairs of pairs and so on; every hidden tree with two seeds.
TREES = ("2x2x2x2", "4x2x2", "2x4x2", "4x4x2", "2x2x2x3", "2x3x2x3", "5x2x4")
SEEDS = (1, 2)
KINDS = ("recorded", "elsewhere", "synthetic", "fitting", "published", "host")
#: MapLib's mappings are for these.
GRIDS = ("mesh:4x4x4", "torus:4x4x4")

Record = dict[str, Any]


def cases(kind: str) -> Iterator[Case]:
    """Return the cases of a kind, or all."""
    wanted = KINDS if kind == "all" else (kind,)
    hidden = [(tree, f"hierarchical:{tree}:factor=10:seed={seed}") for tree in TREES for seed in SEEDS]
    if "recorded" in wanted:
        yield from (Case("recorded", pattern, machine) for pattern in RECORDED for machine in MACHINES[:2])
    if "elsewhere" in wanted:
        yield from (Case("elsewhere", pattern, machine) for pattern in RECORDED for machine in MACHINES[2:])
    if "synthetic" in wanted:
        yield from (Case("synthetic", pattern, machine) for _, pattern in hidden for machine in MACHINES)
    if "fitting" in wanted:
        yield from (Case("fitting", pattern, own_machine(tree)) for tree, pattern in hidden)
    if "published" in wanted:
        yield from (Case("published", "maplib/amg_64_size.csv", machine) for machine in GRIDS)
    if "host" in wanted:
        small = [pattern for pattern in RECORDED if "_16." in pattern]
        yield from (Case("host", pattern, "local") for pattern in small)


def own_machine(tree: str) -> str:
    """Return the machine that a hidden tree fits, ten times further with every level."""
    counts = tree.split("x")
    return " ".join(f"level{i}:{c}@{10 ** (len(counts) - 1 - i)}" for i, c in enumerate(counts))


def opened(case: Case, samples: Path) -> tuple[hb.CommGraph, hb.Allocation]:
    """Read pattern and machine of a case."""
    graph = hb.read(case.pattern if generated(case) else str(samples / case.pattern), holds="pattern")
    if case.kind not in SAMPLED:
        return graph, hb.allocate(case.machine)
    file = samples / f"hwloc/{case.machine}.xml"
    return graph, hb.allocate(f"hwloc:{file}" if file.exists() else TREE_OF[case.machine])


def generated(case: Case) -> bool:
    """Whether the pattern of a case is made and not read."""
    return case.pattern.startswith("hierarchical:")


def measure(samples: Path, kind: str, done: set[tuple[str, str]]) -> Iterator[Record]:
    """Yield a record per algorithm of every case that is not done yet."""
    hb.map_tasks(hb.read("stencil:4x4"), hb.allocate("core:16"), "strong")  # imports are not timed
    absent = [case for case in cases(kind) if not generated(case) and not (samples / case.pattern).exists()]
    if absent:
        print(
            f"{len(absent)} of {len(list(cases(kind)))} cases are left out: their recordings are not in "
            f"{samples}, the developers' samples, whose README.md names the source of each (HOPBYTES_SHARED)",
            file=sys.stderr,
        )
    for case in cases(kind):
        if (case.pattern, case.machine) in done or case in absent:
            continue
        graph, where = opened(case, samples)
        if case.kind == "host" and ompi_treematch.why_not(graph.n):
            continue
        if case.kind == "elsewhere" and graph.n > where.k:
            continue
        size = {"n": graph.n, "k": where.k}
        yield from [
            {**dataclasses.asdict(case), **size, **dataclasses.asdict(row)}
            for row in rows(case, graph, where, samples)
        ]


def by_case(records: list[Record], kind: str) -> dict[tuple[str, str], dict[str, Record]]:
    """(pattern, machine) → algorithm → record."""
    found: dict[tuple[str, str], dict[str, Record]] = {}
    for record in records:
        if record["kind"] == kind:
            found.setdefault((record["pattern"], record["machine"]), {})[record["algorithm"]] = record
    return found


def table(records: list[Record], ours: str = OURS) -> str:
    """How TreeMatch compares: per kind of case and rival, the ratios of simulated run time and of time."""
    head = "rival | ahead % | ties % | behind % | median | mean | min | max | its CPU time, times ours"
    lines = []
    for kind in KINDS:
        found = by_case(records, kind)
        if not found:
            continue
        lines += [f"{kind}: {len(found)} cases; rival's simulated run time over that of {ours}", head]
        names = dict.fromkeys(name for case in found.values() for name in case if name != ours)
        lines += [_line(name, [case for case in found.values() if name in case], ours) for name in names]
        ties = [
            f"{pattern} on {machine}" for (pattern, machine), case in found.items()
            if "mpipp.1" in case and case["mpipp.1"]["comm_cost"] == case[ours]["comm_cost"]
        ]  # fmt: skip
        lines += ["equal to mpipp.1: " + ("; ".join(ties) or "none"), ""]
    return "\n".join(lines)


def _line(name: str, found: list[dict[str, Record]], ours: str) -> str:
    ratios = np.array([case[name]["comm_cost"] / case[ours]["comm_cost"] for case in found])
    times = [case[name]["seconds"] / max(case[ours]["seconds"], 1e-9) for case in found]
    share = [100 * np.mean(each) for each in (ratios > 1, ratios == 1, ratios < 1)]
    return (
        f"{name} | {share[0]:.1f} | {share[1]:.1f} | {share[2]:.1f} | {np.median(ratios):.3f} | "
        f"{ratios.mean():.3f} | {ratios.min():.3f} | {ratios.max():.3f} | {np.median(times):.1f}"
    )


#: Bounds of the bins of a histogram of ratios, and ratios at which the cumulative distribution is given.
BINS = (0.0, 0.9, 0.99, 1.0, 1.000001, 1.01, 1.1, 1.25, 1.5, 2.0, float("inf"))
SHOWN = (0.9, 1.0, 1.1, 1.25, 1.5, 2.0)


def histogram(ratios: np.ndarray) -> list[int]:
    """Count ratios in the bins of :data:`BINS`, each from its lower bound up to below the next.

    >>> histogram(np.array([0.95, 1.0, 1.0, 1.2, 7.0]))
    [0, 1, 0, 2, 0, 0, 1, 0, 0, 1]
    """
    return np.histogram(ratios, BINS)[0].tolist()


def cumulative(ratios: np.ndarray) -> list[float]:
    """Return the share of ratios that are at most each of :data:`SHOWN` (ECDF).

    >>> cumulative(np.array([0.95, 1.0, 1.2, 7.0]))
    [0.0, 0.5, 0.5, 0.75, 0.75, 0.75]
    """
    return [float(np.mean(ratios <= at)) for at in SHOWN]


def distributions(records: list[Record], ours: str = OURS) -> str:
    """Fig. 3: histogram and ECDF of the ratios of every rival, per kind of case."""
    bins = " ".join(f"{low:g}" for low in BINS)
    lines = [f"rival | cases in bins of ratios from {bins} | share up to {' '.join(map(str, SHOWN))}"]
    for kind in KINDS:
        found = by_case(records, kind)
        names = dict.fromkeys(name for case in found.values() for name in case if name != ours)
        for name in names:
            own = [case for case in found.values() if name in case]
            ratios = np.array([case[name]["comm_cost"] / case[ours]["comm_cost"] for case in own])
            shares = " ".join(f"{share:.2f}" for share in cumulative(ratios))
            lines.append(f"{kind}: {name} | {' '.join(map(str, histogram(ratios)))} | {shares}")
    return "\n".join(lines)


def quick() -> Report:
    """Place a matrix per tree on all six machines, and on the machine that it fits."""
    hopbytes_laboratory.register()
    report = Report("TreeMatch, simulated run time: that of a rival over that of TreeMatch")
    records: list[Record] = []
    for case in cases("all"):
        if case.kind not in ("synthetic", "fitting") or not case.pattern.endswith("seed=1"):
            continue
        graph, where = opened(case, Path("none"))
        for name in (OURS, "mpipp.1", "mpipp.5", "packed"):
            records.append(dataclasses.asdict(case) | dataclasses.asdict(mapped_row(name, graph, where)))
    for rival, paper in (
        ("mpipp.1", "NAS: > 93 % ahead, median 1.415, mean 1.446, 1 to 2.352"), ("mpipp.5", ""),
        ("packed", ""),
    ):  # fmt: skip
        for kind in ("synthetic", "fitting"):
            found = by_case(records, kind).values()
            ratio = np.array([case[rival]["comm_cost"] / case[OURS]["comm_cost"] for case in found])
            ours = (
                f"{100 * np.mean(ratio > 1):.0f} % ahead, median {np.median(ratio):.3f}, mean "
                f"{ratio.mean():.3f}, {ratio.min():.3f} to {ratio.max():.3f}"
            )
            report.row("Fig. 3", f"{kind}, {rival}", paper, ours)
    report.row("Fig. 3", "histograms and ECDF", "pictures", "below")
    report.row("Fig. 1, 2", "mapping of the example", "0,2,4,6,1,3,5,7", "the same (tests/papers)")
    report.missing("Fig. 3(a)", "recordings of NAS programs are samples of the developers: --cases recorded")
    report.missing("Fig. 4, 5", "run times on Bertha, 96 cores, which is not at hand")
    print(distributions(records))
    return report


def optimal(records: list[Record]) -> str:
    """On how many matrices that fit their machine TreeMatch finds the hidden tree, and what is below it."""
    found = by_case(records, "fitting").values()
    least = [min(record["comm_cost"] for record in case.values()) for case in found]
    hits = sum(case[OURS]["comm_cost"] == case[HIDDEN]["comm_cost"] for case in found)
    best = sum(case[OURS]["comm_cost"] == low for case, low in zip(found, least, strict=True))
    count = len(least)
    return f"fitting: hidden tree found in {hits} of {count}, least J of all rows in {best} of {count}"


def left_out() -> list[str]:
    """Which rows cannot be made here, and why."""
    reasons = []
    try:
        scotch_gmap.program()
    except scotch_gmap.AbsentError as error:
        reasons.append(f"scotch_gmap left out: {error}")
    why = ompi_treematch.why_not(16)
    return [*reasons, *([f"Open MPI's treematch left out: {why}"] if why else [])]


def main() -> None:
    """Measure what is missing, print the table."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--quick", action="store_true", help="a small part in a minute, beside the paper")
    parser.add_argument("--cases", choices=("all", *KINDS), default="all")
    options = parser.parse_args()
    if options.quick:
        print(quick().text())
        return
    if options.out is None:
        parser.error("--out or --quick is needed")
    folder = shared_folder()
    samples = folder.parent / "samples" if folder else Path()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    text = options.out.read_text() if options.out.exists() else ""
    records = [json.loads(line) for line in text.splitlines()]
    done = {(each["pattern"], each["machine"]) for each in records}
    with options.out.open("a") as out:
        for record in measure(samples, options.cases, done):
            records.append(record)
            out.write(json.dumps(record) + "\n")
            out.flush()
    print(table(records))
    print(table([record for record in records if record["kind"] in SAMPLED], SHAPES))
    print("\n".join([distributions(records), optimal(records), *left_out()]))


if __name__ == "__main__":
    main()
