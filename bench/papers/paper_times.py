"""Figures 4, 5 and Table I of UMPA, figures 7 and 9 of PTRAM, in simulated time (`simulate`, grade flows).

    python -m bench.papers.paper_times umpa --out times.jsonl      # 4096 parts on the sparse torus
    python -m bench.papers.paper_times ptram --out times.jsonl     # 4096 processes on the blocking fat tree
    python -m bench.papers.paper_times table --out times.jsonl     # tables of what is there, and pictures

Both go on where they were stopped; a case takes up to a minute. UMPA (Deveci et al., 2015): patterns of
sparse matrix-vector products, all messages at once, with values of 32 KiB (figure 4: messages scaled by 4096)
and of 8 bytes (figure 5: the messages of the product itself, without its computation). The paper's matrices
are not at hand; these are eight others, cut by one partitioner. PTRAM (Mirsadeghi and Afsahi, 2016): figure 7
over message sizes; figure 9 has a recording of Gadget-3, in whose place stand three recorded applications.
Bandwidths and latencies are those that `simulate` assumes (hdr100), and flows are solved by hopbytes itself,
whatever their number, in steps of 0.1 % of the time. Needs the developers' graphs, and smpirun.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import hopbytes as hb
from bench.instances.graphs import shared_folder
from bench.papers import paper003, ptram
from bench.papers.paper_times_table import CHAINS, STEPS, rows_of, tables

PARTS = 4096
VALUE, SCALE = 8, 4096
DRAWS = (101, 102)
#: Bytes of a message.
SIZES = {"2-D 5-point": (64, 1024, 4096, 16384, 65536, 262144), "all-to-all": (1024, 16384, 262144)}
SIZES["3-D 15-point"] = SIZES["2-D 5-point"]
RECORDED = ("mpi_CloverLeaf_1152", "mpi_cg_1024", "mpi_lulesh_1000")


def seconds(graph: hb.CommGraph, where: hb.Allocation, pe: np.ndarray, factor: float) -> float:
    """Return the simulated time of all messages at once."""
    mapping = hb.Mapping(np.asarray(pe, np.int32), where)
    return hb.simulate(graph, mapping, grade="flows", iterations=1, bytes_scale=factor).seconds


def umpa(folder: Path, done: set[str]) -> Iterator[dict[str, Any]]:
    """Yield rows of figures 4 and 5 and of Table I: every step of UMPA on two sparse allocations."""
    for name in paper003.GRAPHS:
        for draw in DRAWS:
            case = f"umpa|{name}|{draw}"
            if case in done:
                continue
            where = paper003.sparse_nodes(hb.allocate(paper003.MACHINE), PARTS // paper003.SLOTS, draw)
            whole, part = paper003.bisected(folder / f"{name}.graph.xz", PARTS)
            graph = paper003.product_pattern(whole, part, PARTS)
            for step, pe, _ in paper003.placements(graph, where, draw):
                if step not in ("DEF", *STEPS):
                    continue
                yield {
                    "case": case, "graph": name, "draw": draw, "step": step,
                    "communication": seconds(graph, where, pe, VALUE * SCALE),
                    "product": seconds(graph, where, pe, VALUE), **paper003.metrics(graph, where, pe),
                }  # fmt: skip


def ptram_times(folder: Path, done: set[str]) -> Iterator[dict[str, Any]]:
    """Yield rows of figures 7 and 9."""
    for draw in (0, 1):
        for name, sizes in SIZES.items():
            case = f"ptram|{name}|{draw}"
            if case not in done:
                graph = ptram.patterns(PARTS)[name]
                yield from on_fat_tree(case, name, draw, graph, sizes)
        for name in RECORDED:
            case = f"ptram|{name}|{draw}"
            if case not in done:
                yield from on_fat_tree(case, name, draw, recording(folder, name), (1,))


@cache
def recording(folder: Path, name: str) -> hb.CommGraph:
    """Return a recorded pattern; the graph has both directions added up."""
    return hb.read(folder / f"{name}.graph.xz")


def on_fat_tree(
    case: str, name: str, draw: int, graph: hb.CommGraph, sizes: tuple[int, ...]
) -> Iterator[dict[str, Any]]:
    """Yield a row per mapping: metrics, and the time for every size of messages."""
    where = ptram.allocation(-(-graph.n // ptram.CORES), draw)
    places = {"DEF": np.arange(graph.n)}
    for chain in CHAINS:
        mapper, *refine = ptram.CHAINS[chain]
        places[chain] = hb.map_tasks(graph, where, [mapper, *refine], threads=1).pe
    for step, pe in places.items():
        times = {str(size): seconds(graph, where, pe, size) for size in sizes}
        about = {"case": case, "pattern": name, "draw": draw, "step": step, "times": times}
        yield about | ptram.measured(graph, where, pe)


def main() -> None:
    """Simulate what is missing, or print the tables."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("what", choices=("umpa", "ptram", "table"))
    parser.add_argument("--out", type=Path, default=Path("times.jsonl"))
    given = parser.parse_args()
    if given.what != "table":
        folder = shared_folder()
        if folder is None:
            raise SystemExit("no folder of developers' graphs: set HOPBYTES_SHARED")
        done = {row["case"] for row in rows_of(given.out)}
        found: list[dict[str, Any]] = []
        for row in (umpa if given.what == "umpa" else ptram_times)(folder, done):
            if found and row["case"] != found[0]["case"]:
                keep(given.out, found)
                found = []
            found.append(row)
        keep(given.out, found)
    print(tables(rows_of(given.out), given.out))


def keep(path: Path, rows: list[dict[str, Any]]) -> None:
    """Append the rows of a whole case, so that a run that is stopped leaves no half of one."""
    with path.open("a") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)


if __name__ == "__main__":
    main()
