"""Cells of a grid that heavy particles cross, divided anew every few steps where the arrays are.

    python examples/repartition_on_device.py                     # NumPy, on the CPU
    python examples/repartition_on_device.py --library torch     # PyTorch, on its GPU where there is one
    python examples/repartition_on_device.py --library cupy

A cloud of particles moves through a grid of cells. The load of a cell is 1 and its particles, and each cell
exchanges data with its four neighbours, more where particles cross. Every few steps hopbytes improves the
mapping of the cells to the cores of two nodes. The rows of the graph, the loads and the mapping stay in the
arrays of the library; nothing but a coarse graph leaves the GPU.
"""

from __future__ import annotations

import argparse
import importlib

import numpy as np

import hopbytes as hb

MACHINE = "node:2@10 core:4@1"


def main() -> None:
    """Move the cloud, and print J, the imbalance and the cells that migrate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", choices=("numpy", "torch", "cupy"), default="numpy")
    parser.add_argument("--side", type=int, default=200)
    parser.add_argument("--steps", type=int, default=30)
    args = parser.parse_args()
    library = importlib.import_module(args.library)
    on = {}
    if args.library == "torch":
        on["device"] = "cuda" if library.cuda.is_available() else "cpu"

    side = args.side
    graph = hb.read_pattern(f"stencil:{side}x{side}")
    indptr, targets = (library.asarray(np.array(array), **on) for array in (graph.indptr, graph.targets))
    cell = library.arange(side * side, **on)
    row, column = cell // side, cell % side
    place = None
    for step in range(0, args.steps, 5):
        centre = side * step // args.steps
        near = (row - centre) ** 2 + (column - centre) ** 2 < (side // 6) ** 2
        loads = 1 + 4 * near
        volumes = 1 + 9 * near[targets]
        found = hb.map_arrays(indptr, targets, MACHINE, volumes=volumes, loads=loads, initial=place)
        moved = 0 if place is None else int((found.pe != place).sum())
        place = found.pe
        mean = int(loads.sum()) / 8
        uneven = found.largest_load / mean - 1
        print(f"step {step}: J {found.comm_cost}, imbalance {uneven:.3f}, {moved} cells move")
    print(f"the mapping is a {type(place).__module__}.{type(place).__name__} on {found.device}")


if __name__ == "__main__":
    main()
