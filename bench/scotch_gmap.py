"""Scotch's ``scotch_gmap`` as a rival for one task per slot: its files, its run, the better balanced answer.

Debian's package ``scotch`` has it in two widths; the one with 64-bit integers is taken where it is there, for
volumes in bytes and their sums pass 2^31.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import hopbytes as hb

#: What is asked of it: its own default, and the same with no imbalance allowed.
WAYS = {"plain": (), "-b0": ("-b0",)}
TIME_LIMIT = 600.0

Int64 = NDArray[np.int64]


class AbsentError(Exception):
    """The program is not installed; says how to get it."""


@dataclass(frozen=True)
class Program:
    """Where the program is, the libraries it needs, and the largest sum of weights it can hold."""

    path: str
    environment: dict[str, str]
    largest: int


@dataclass(frozen=True)
class Answer:
    """A placement by Scotch.

    Parameters
    ----------
    pe : int64[n]
    way : str
        Key of :data:`WAYS`.
    most : int
        Tasks on the fullest PE; 1 is one task per slot.
    cpu_seconds : float
        Of the whole process.
    map_seconds : float
        Of mapping alone, as the program says (wall time, without reading and writing).
    """

    pe: Int64
    way: str
    most: int
    cpu_seconds: float
    map_seconds: float


def program() -> Program:
    """Find the program. AbsentError when there is none."""
    wide = shutil.which("scotch_gmap-int64")
    for folder in sorted(Path("/usr/lib").glob("*/scotch-int64")) if wide else ():
        assert wide is not None
        return Program(wide, {"LD_LIBRARY_PATH": str(folder)}, 2**63 - 1)
    narrow = shutil.which("scotch_gmap")
    if narrow is None:
        raise AbsentError("scotch_gmap is not installed (Debian package scotch)")
    return Program(narrow, {}, 2**31 - 1)


def source_text(graph: hb.CommGraph, divisor: int = 1) -> str:
    """Source graph: both directions of a pair carry their sum, divided by `divisor` (never below 1)."""
    indptr, targets, weights = graph.symmetric_positive()
    carried = np.ones(len(targets), np.int64) if weights is None else np.maximum(1, weights // divisor)
    lines = ["0", f"{graph.n} {len(targets)}", "0 010"]
    for v in range(graph.n):
        row = slice(indptr[v], indptr[v + 1])
        pairs = np.stack([carried[row], targets[row]], axis=1).ravel().tolist()
        lines.append(" ".join(map(str, [len(pairs) // 2, *pairs])))
    return "\n".join(lines) + "\n"


def target_text(where: hb.Allocation, terminals: Int64 | None = None) -> str:
    """Target of an even tree, or a 2-D or 3-D torus or mesh of single PEs; `terminals` are the PEs in use.

    Scotch adds up the costs of all levels from that where two leaves part to the innermost one, so each level
    gets what its distance has over the next one inside. Levels of equal distance are merged.
    """
    whole = _grid_text(where) or _tree_text(where)
    if terminals is None:
        return whole + "\n"
    return f"sub\n{len(terminals)} {' '.join(map(str, terminals.tolist()))}\n{whole}\n"


def _tree_text(where: hb.Allocation) -> str:
    levels: list[list[int]] = []  # children and distance, outermost first
    above = 1
    for grouping in where.groups():
        sizes = np.bincount(grouping)
        if len(set(sizes.tolist())) > 1:
            raise ValueError("Scotch's tleaf is an even tree, this one is not")
        first = np.flatnonzero(grouping == 0)[0]
        other = np.flatnonzero(grouping == 1)[0]
        distance = int(where.distance.between(int(first), int(other)))
        if levels and levels[-1][1] == distance:
            levels[-1][0] *= len(sizes) // above
        else:
            levels.append([len(sizes) // above, distance])
        above = len(sizes)
    if not np.array_equal(where.groups()[-1], np.arange(where.k)):
        raise ValueError("PEs of this machine are not numbered along its tree")
    inner = [distance for _, distance in levels[1:]] + [0]
    costs = [distance - below for (_, distance), below in zip(levels, inner, strict=True)]
    if min(costs) < 1:
        raise ValueError("Scotch needs distances of 1 or more that grow outwards")
    words = [word for (count, _), cost in zip(levels, costs, strict=True) for word in (count, cost)]
    return f"tleaf {len(levels)} {' '.join(map(str, words))}"


def _grid_text(where: hb.Allocation) -> str | None:
    found = re.fullmatch(r"(torus|mesh):([0-9x]+)@[0-9]+", where.machine.spec())
    if found is None:
        return None
    sizes = found[2].split("x")
    if len(sizes) not in (2, 3) or where.k != where.machine.n_cores:
        raise ValueError(f"Scotch's grids have two or three dimensions, this is {where.machine.spec()}")
    return f"{found[1]}{len(sizes)}D {' '.join(reversed(sizes))}"  # its first dimension runs fastest


def place(graph: hb.CommGraph, where: hb.Allocation, way: str, terminals: Int64 | None = None) -> Answer:
    """Run the program once; with `terminals` it may use these PEs only."""
    gmap, target = program(), target_text(where, terminals)
    weights = graph.symmetric_positive()[2]
    total = int(weights.sum()) if weights is not None else graph.m
    divisor = -(-total * max(1, where.distance.largest) // gmap.largest)
    with tempfile.TemporaryDirectory() as folder:
        source, shape, out = (Path(folder) / name for name in ("task.grf", "machine.tgt", "found.map"))
        source.write_text(source_text(graph, max(1, divisor)))
        shape.write_text(target)
        command = [gmap.path, *map(str, (source, shape, out)), "-vt", *WAYS[way]]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        ended = subprocess.run(
            command, env={**os.environ, **gmap.environment}, capture_output=True, text=True,
            timeout=TIME_LIMIT, check=False,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if ended.returncode or not out.exists():
            raise RuntimeError(f"{' '.join(command)}: {ended.stderr.strip()[:200]}")
        rows = np.loadtxt(out, dtype=np.int64, skiprows=1, ndmin=2)
    pe = np.full(graph.n, -1, np.int64)
    pe[rows[:, 0]] = rows[:, 1] if terminals is None else terminals[rows[:, 1]]
    timed = re.search(r"Mapping\s+([0-9.e+-]+)", ended.stdout)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    seconds = float(timed[1]) if timed else float("nan")
    return Answer(pe, way, int(np.bincount(pe).max()), spent, seconds)


def both_ways(graph: hb.CommGraph, where: hb.Allocation, terminals: Int64 | None = None) -> list[Answer]:
    """Run it plain and with ``-b0``."""
    return [place(graph, where, way, terminals) for way in WAYS]


def better_balanced(graph: hb.CommGraph, where: hb.Allocation, answers: list[Answer]) -> Answer:
    """Return the answer with fewest tasks on its fullest PE, of equals that of least J."""

    def rank(answer: Answer) -> tuple[int, int]:
        mapping = hb.Mapping(answer.pe.astype(np.int32), where, {})
        return answer.most, int(hb.evaluate(graph, mapping, baselines=False).mapping.comm_cost)

    return min(answers, key=rank)
