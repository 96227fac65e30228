"""What recorded programs gain: presets beside the launcher's own order, in J and in simulated time.

    python -m bench.studies.recorded_gains --out gains.jsonl          # 15 minutes; goes on where it ended
    python -m bench.studies.recorded_gains --out gains.jsonl --table

Every recording of 16 to 1152 ranks, on a cluster with one switch, a fat tree whose leaf switches send a
quarter of what their nodes could (half for 16 ranks), and a torus, all with hdr100 speeds. The launcher's
order is block by node. Times are of a round in which all messages start at once (`simulate`, grade flows). A
gain below 1 % counts as none.
Recordings are samples of the developers' shared folder; needs smpirun.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import hopbytes as hb
from bench.instances.graphs import shared_folder
from bench.rivals.needed import need
from bench.studies.mpi_patterns import RECORDINGS, cost
from hopbytes.machines.allocate.launcher_order import launcher_placement

#: Ranks → what is behind `fattree:` and `torus:`, nodes and cores of a node.
SHAPES = {
    16: ("2x2:up=1x1", "4", 4, 4), 32: ("4x2:up=1x1", "2x2x2", 8, 4), 64: ("4x4:up=1x1", "4x2x2", 16, 4),
    1000: ("16x8:up=1x4", "8x4x4", 128, 8), 1024: ("16x8:up=1x4", "8x4x4", 128, 8),
    1152: ("12x12:up=1x3", "6x6x4", 144, 8),
}  # fmt: skip
CONTENDERS = ("strong", "routed", "eco, objective comm_cost", "eco, objective max_congestion")
NOTHING = 0.99

Row = dict[str, Any]


def machines(ranks: int) -> dict[str, str]:
    """Return the specs of the three machines for a number of ranks."""
    tree, torus, nodes, cores = SHAPES[ranks]
    return {
        "cluster": f"node:{nodes} core:{cores}", "fat tree 4:1": f"fattree:{tree} / core:{cores}",
        "torus": f"torus:{torus} / core:{cores}",
    }  # fmt: skip


def mapped(graph: hb.CommGraph, where: hb.Allocation, contender: str) -> hb.Mapping | None:
    """Return the mapping of a contender; None where it needs links and there are none."""
    linked = contender == "routed" or contender.endswith("max_congestion")
    if linked and where.machine.network() is None:
        return None
    preset, _, objective = contender.partition(", objective ")
    return hb.map_tasks(graph, where, preset, objective=objective or "comm_cost", partition=False)


def measure(folder: Path, done: set[tuple[str, str]]) -> Iterator[Row]:
    """Yield a row per recording and machine."""
    read = {name: hb.read(str(folder / name), holds="pattern") for name in RECORDINGS}
    for name, graph in sorted(read.items(), key=lambda pair: pair[1].n):
        for machine, spec in machines(graph.n).items():
            if (name, machine) in done:
                continue
            where = hb.allocate(spec)
            usual = launcher_placement(where, graph.n, "fill")
            base = cost(graph, where, usual.pe), seconds(graph, usual)
            row: Row = {"recording": name, "ranks": graph.n, "machine": machine, "seconds": base[1]}
            for contender in CONTENDERS:
                found = mapped(graph, where, contender)
                if found is not None:
                    row[contender] = [cost(graph, where, found.pe) / base[0], seconds(graph, found) / base[1]]
            yield row


def seconds(graph: hb.CommGraph, mapping: hb.Mapping) -> float:
    """Return the simulated time of one round."""
    return hb.simulate(graph, mapping, grade="flows", iterations=1).seconds


def table(rows: Sequence[Row]) -> str:
    """Return the means by machine and contender, then every recording."""
    heads = ("machine", "preset", "recordings", "J", "no gain in J", "time (from, to)", "no gain in time")
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    kinds = list(dict.fromkeys(row["machine"] for row in rows))
    for machine in [*kinds, "all"]:
        for contender in CONTENDERS:
            held = np.array([
                row[contender] for row in rows if contender in row and machine in ("all", row["machine"])
            ])
            if not len(held):
                continue
            j, time = np.exp(np.log(held).mean(axis=0))
            none = (held > NOTHING).mean(axis=0)
            ends = f"{held[:, 1].min():.2f}, {held[:, 1].max():.2f}"
            cells = f"{j:.3f} | {none[0]:.0%} | {time:.3f} ({ends}) | {none[1]:.0%}"
            lines.append(f"| {machine} | `{contender}` | {len(held)} | {cells} |")
    lines += ["", f"| recording | ranks | {' | '.join(kinds)} |", f"|---|---|{'---|' * len(kinds)}"]
    for name in dict.fromkeys(row["recording"] for row in rows):
        here = {row["machine"]: row for row in rows if row["recording"] == name}
        cells = [
            " / ".join(f"{row[each][1]:.2f}" if each in row else "-" for each in CONTENDERS)
            for row in (here[kind] for kind in kinds if kind in here)
        ]
        ranks = next(iter(here.values()))["ranks"]
        lines.append(f"| {Path(name).name.split('.')[0]} | {ranks} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure what is missing, and print the tables."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--out", type=Path, default=Path("gains.jsonl"))
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.out.read_text().splitlines()] if given.out.exists() else []
    folder = shared_folder()
    if not given.table:
        need("smpirun")
        if folder is None:
            raise SystemExit("no folder of developers' samples (HOPBYTES_SHARED)")
        for row in measure(folder.parent, {(row["recording"], row["machine"]) for row in rows}):
            rows.append(row)
            with given.out.open("a") as stream:
                stream.write(json.dumps(row) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
