"""Small versions of Table I of paper 003 (UMPA) and Fig. 7 of paper 004 (PTRAM): 32 processes, measured.

The patterns are those of `bench.papers`, which simulates both for 4096 processes: products of a sparse matrix
in 32 parts and a vector, on the torus, and three micro-benchmarks over sizes of messages, on the fat tree.
"""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np

import hopbytes as hb
from bench.instances.graphs import shared_folder
from bench.lab.programs import Program
from bench.lab.table import Result
from bench.papers import ptram
from bench.papers.paper_times_table import CHAINS, PUBLISHED, STEPS, geometric

RANKS = 32
MATRICES = ("copter2", "delaunay_n16", "pump_n", "wing")
#: Bytes of a value and steps: large values (32 KiB in the paper, whose links are faster); the product itself.
VALUES = {"communication": (128, 8), "product": (8, 100)}
#: Pattern -> bytes of a message and steps.
SIZES = {
    "2-D 5-point": {1024: 320, 8192: 56, 65536: 7},
    "3-D 15-point": {1024: 160, 8192: 24, 65536: 3},
    "all-to-all": {1024: 80, 8192: 12, 65536: 2},
}
NAMES = [
    *(f"umpa {what} {name}" for what in VALUES for name in MATRICES),
    *(f"ptram {size} {name}" for name, sizes in SIZES.items() for size in sizes),
]
#: The orders of each paper, after those of the laboratory.
ORDERS: dict[str, dict[str, Any]] = {
    "UG": {"method": ["ug"]},
    "UWH": {"method": ["ug", "uwh"]},
    "UMC": {"method": ["ug", "umc"]},
    "UMMC": {"method": ["ug", "ummc"]},
    "congestion": {"method": ["ug", "uwh:delta=8", "congestion"]},
    **{chain: {"method": list(ptram.CHAINS[chain])} for chain in CHAINS},
}


def program(name: str) -> Program:
    """Return the program of one of `NAMES`."""
    paper, first, rest = name.split(" ", 2)
    if paper == "ptram":
        graph, size, steps = ptram.patterns(RANKS)[rest], int(first), SIZES[rest][int(first)]
    else:
        (size, steps), graph = VALUES[first], product(rest)
    units = np.ones(graph.m, np.int64) if graph.volumes is None else graph.volumes
    lines = zip(graph.sources().tolist(), graph.targets.tolist(), units.tolist(), strict=True)
    text = "".join(f"{source} {target} {count}\n" for source, target, count in lines)
    return Program(("programs", "file", str(size), str(steps)), files={"messages": text})


def product(matrix: str) -> hb.CommGraph:
    """Return what parts of a matrix send, as in figures 4 and 5 of the paper."""
    from bench.papers.paper003 import bisected, product_pattern

    folder = shared_folder()
    if folder is None:
        raise OSError("no folder of developers' graphs: set HOPBYTES_SHARED")
    return product_pattern(*bisected(folder / f"{matrix}.graph.xz", RANKS), RANKS)


def tables(found: list[Result]) -> list[str]:
    """Return both tables: measured times over those of DEF, predicted and published ones beside them."""
    of_umpa = [each for each in found if each.case[2].startswith("umpa")]
    if not of_umpa:
        return []
    lines = [f"| Table I | over DEF | {' | '.join(STEPS)} |", f"|---|---|{'---|' * len(STEPS)}"]
    for what, published in PUBLISHED.items():
        held = [each for each in of_umpa if each.case[2].split()[1] == what]
        for kind in ("measured", "flows"):
            means = [geometric([_ratio(each, kind) for each in _of(held, step)]) for step in STEPS]
            lines.append(f"| {what} | {kind} | {' | '.join(f'{mean:.2f}' for mean in means)} |")
        said = (published.get(step, "-") for step in STEPS)
        lines.append(f"| {what} | published | {' | '.join(said)} |")
    lines += ["", f"| Fig. 7 | bytes | DEF s | {' | '.join(f'{chain}, flows' for chain in CHAINS)} |"]
    lines.append(f"|---|---|---|{'---|' * len(CHAINS)}")
    for pattern, sizes in SIZES.items():
        for size in sizes:
            held = [each for each in found if each.case[2] == f"ptram {size} {pattern}"]
            usual = [statistics.median(each.seconds) for each in _of(held, "launcher")]
            cells = [
                f"{_ratio(each, 'measured') - 1:+.0%}, {_ratio(each, 'flows') - 1:+.0%}".replace("%", " %")
                for chain in CHAINS
                for each in _of(held, chain)
            ]
            lines += [f"| {pattern} | {size} | {seconds:.2f} | {' | '.join(cells)} |" for seconds in usual]
    return lines


def _of(found: list[Result], order: str) -> list[Result]:
    return [each for each in found if order in each.order.split(",")]


def _ratio(result: Result, kind: str) -> float:
    return result.ratio if kind == "measured" else result.predicted_ratio[kind]
