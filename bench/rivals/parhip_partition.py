"""ParHIP as a rival of map-distributed: its blocks are PEs, or islands that our own engine finishes.

    python -m bench.rivals.parhip_partition g.parhip --ranks 4 --way islands --seed 1 --program deploy/parhip

With `flat` every block of ParHIP is a PE, numbered as ParHIP numbers it, since it knows no machine; with
`mapped` our own `map_tasks` then gives every block a PE. With `islands` ParHIP makes a block per unit of the
outermost level, and `map_tasks` maps every block on the PEs of its unit, one after another with one thread.
The bound of a PE is that of the whole graph. An island that is as full as it may be leaves its PEs no room
above their mean, so --parhip-imbalance can give ParHIP less than the PEs.

ParHIP is given the graph as a METIS file, which is made of any other. Nothing that it answers is repaired. J,
the loads and the cut are computed from its partition; seconds are those that it says (without starting and
reading), those of the whole mpirun, and those of our part. Peak memory is that of the largest process below
mpirun. Prints a line of JSON. ParHIP ends the same way every time only if it was built with
-DDETERMINISTIC_PARHIP=On, which also takes the time limit out of its eco settings.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import hopbytes as hb
from bench.rivals.needed import need
from bench.studies.distributed import AS_ROOT, LAUNCHER, LIMIT, MACHINE
from hopbytes import kernels
from hopbytes._arrays import Int32

WAYS = ("flat", "mapped", "islands")
#: Where ParHIP writes its partition, in the folder that it is started in.
OUTPUT = "tmppartition.txtp"
SECONDS = re.compile(r"total partitioning time elapsed ([0-9.e+-]+)")
CUT = re.compile(r"final edge cut ([0-9]+)")


class Blocks(NamedTuple):
    """What ParHIP made: the block of every vertex, its own count of the cut, and what it cost."""

    block: Int32
    cut: int
    seconds: float
    wall_seconds: float
    peak_bytes: int


def partition(graph: hb.CommGraph, count: int, imbalance: int, options: argparse.Namespace) -> Blocks:
    """Return the partition into `count` blocks; RuntimeError with what ParHIP said where there is none."""
    with tempfile.TemporaryDirectory() as folder:
        hb.write(graph, Path(folder) / "task.graph")
        # A process that Python starts counts Python's memory as its own; what `time` starts does not.
        words = ["time", "--format", "%M", "--output", "peak", *LAUNCHER, "-n", str(options.ranks)]
        words += [options.program, "task.graph", f"--k={count}", f"--seed={options.seed}", "--save_partition"]
        words += [f"--preconfiguration={options.preconfiguration}", f"--imbalance={imbalance}"]
        words += shlex.split(options.more)
        began = time.perf_counter()
        done = subprocess.run(
            words, cwd=folder, env={**os.environ, **AS_ROOT}, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=LIMIT, check=False,
        )  # fmt: skip
        wall = time.perf_counter() - began
        found, seconds, cut = Path(folder) / OUTPUT, SECONDS.search(done.stdout), CUT.search(done.stdout)
        if done.returncode or not found.exists() or seconds is None or cut is None:
            raise RuntimeError(f"ParHIP made no partition: {(done.stdout + done.stderr)[-500:]}")
        block = np.loadtxt(found, dtype=np.int32, ndmin=1)
        peak = int((Path(folder) / "peak").read_text().split()[-1]) * 1024
    if len(block) != graph.n or not 0 <= int(block.min()) <= int(block.max()) < count:
        raise RuntimeError(f"ParHIP placed {len(block)} vertices in blocks {block.min()} to {block.max()}")
    return Blocks(block, int(cut[1]), float(seconds[1]), wall, peak)


def load_bound(graph: hb.CommGraph, where: hb.Allocation, imbalance: Fraction) -> int:
    """Return the largest load that a PE may hold, rounded down; ParHIP's first partition rounds it up."""
    return int((1 + imbalance) * graph.total_load / where.k)


def permuted(graph: hb.CommGraph, where: hb.Allocation, block: Int32, preset: str) -> hb.Mapping:
    """Map the blocks, as many as there are PEs, one on every PE."""
    sources, targets = block[graph.sources()], block[graph.targets]
    between = sources != targets
    pattern = np.zeros((where.k, where.k), np.int64)
    np.add.at(pattern, (sources[between], targets[between]), graph.arc_volumes()[between])
    found = hb.map_tasks(pattern, where, preset, partition=False, seed=0, threads=1)
    return hb.Mapping(found.pe[block], where)


def finish(graph: hb.CommGraph, where: hb.Allocation, unit: Int32, bound: int, preset: str) -> hb.Mapping:
    """Map the vertices of every unit of the outermost level on its PEs, each of which holds at most `bound`.

    `unit` (int32[n]) is the unit of every vertex. A unit with more load than its PEs may hold is mapped as
    evenly as possible.
    """
    unit_of_pe, arcs, loads = where.groups()[0], graph.arcs(graph.volumes), graph.task_loads()
    pe = np.empty(graph.n, np.int32)
    for number in range(int(unit_of_pe.max()) + 1):
        members = np.flatnonzero(unit == number).astype(np.int32)
        if not len(members):
            continue
        place = np.full(graph.n, -1, np.int32)
        place[members] = np.arange(len(members), dtype=np.int32)
        part = kernels.induced_csr(arcs, members, place)
        own = None if graph.loads is None else graph.loads[members]
        inside = hb.CommGraph(*part, loads=own, undirected=True)
        pes = np.flatnonzero(unit_of_pe == number)
        room = max(Fraction(0), Fraction(bound * len(pes), int(loads[members].sum())) - 1)
        found = hb.map_tasks(
            inside, where.select(pes), preset, partition=True, imbalance=room, seed=0, threads=1
        )
        pe[members] = pes[found.pe]
    return hb.Mapping(pe, where)


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """Return what is printed."""
    graph, where = hb.read(options.graph), hb.allocate(options.on)
    bound = load_bound(graph, where, Fraction(options.imbalance, 100))
    count = int(where.groups()[0].max()) + 1 if options.way == "islands" else where.k
    allowed = options.imbalance if options.parhip_imbalance is None else options.parhip_imbalance
    blocks = partition(graph, count, allowed, options)
    began = time.perf_counter()
    if options.way == "flat":
        mapping = hb.Mapping(blocks.block, where)
    elif options.way == "mapped":
        mapping = permuted(graph, where, blocks.block, options.preset)
    else:
        mapping = finish(graph, where, blocks.block, bound, options.preset)
    own_seconds = time.perf_counter() - began
    judged = hb.evaluate(graph, mapping, baselines=False).mapping
    sources, volumes = graph.sources(), graph.arc_volumes()
    cut = int(volumes[blocks.block[sources] != blocks.block[graph.targets]].sum()) // 2
    if cut != blocks.cut:
        raise RuntimeError(f"ParHIP counts a cut of {blocks.cut}, its partition has {cut}")
    block_loads = np.bincount(blocks.block, graph.task_loads(), minlength=count)
    return {
        "graph": Path(options.graph).name, "way": options.way, "preconfiguration": options.preconfiguration,
        "more": options.more, "ranks": options.ranks, "seed": options.seed, "parhip_imbalance": allowed,
        "J": judged.comm_cost, "imbalance": judged.imbalance, "largest_load": judged.max_load, "bound": bound,
        "kept": judged.max_load <= bound, "used_pes": judged.used_pes, "edge_cut": judged.edge_cut // 2,
        "blocks_cut": cut, "blocks_imbalance": float(block_loads.max() / block_loads.mean() - 1),
        "parhip_seconds": blocks.seconds, "mpirun_seconds": blocks.wall_seconds, "own_seconds": own_seconds,
        "peak_bytes": blocks.peak_bytes,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graph", help="a ParHIP or METIS file, or any other that hopbytes reads")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--on", default=MACHINE, help="the machine (default: %(default)s)")
    parser.add_argument("--way", choices=WAYS, default="flat")
    parser.add_argument("--preconfiguration", default="fastmesh", help="such as ecomesh or fastsocial")
    parser.add_argument("--seed", type=int, default=1, help="of ParHIP; our part always has 0")
    parser.add_argument("--imbalance", type=int, default=3, help="of PEs, in per cent")
    parser.add_argument("--parhip-imbalance", type=int, help="of blocks, by default that of PEs")
    parser.add_argument("--preset", default="eco", help="of our part")
    parser.add_argument("--more", default="", help="other options of ParHIP, in one word: --more=--help")
    parser.add_argument("--program", help="path of the program parhip, if it is not on PATH")
    options = parser.parse_args()
    need("time")
    if options.program is None:
        need("parhip")
        options.program = "parhip"
    elif os.path.sep in options.program:
        options.program = os.path.abspath(options.program)
    print(json.dumps(measured(options)))


if __name__ == "__main__":
    main()
