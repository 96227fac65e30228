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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import hopbytes as hb
from bench.rivals.needed import missing
from hopbytes._arrays import Int64
from hopbytes.algorithms.base import Effort
from hopbytes.algorithms.two_level.groups import cut, finish, settings_of
from hopbytes.algorithms.two_level.neighbourhood import levels_between
from hopbytes.machines.kinds.table import Table
from hopbytes.solve.formulate import formulate
from hopbytes.solve.problem import Request

#: What is asked of it: its own default, and the same with no imbalance allowed.
WAYS = {"plain": (), "-b0": ("-b0",)}
TIME_LIMIT = 600.0



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
        raise AbsentError(missing("scotch_gmap"))
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


def table_text(distance: Int64) -> str:
    """Target known by distances alone (``deco 0``).

    Places are halved by number, so their order should mean something.

    `distance` is int64[P, P], symmetric, >= 1 off the diagonal.
    """
    count = len(distance)
    # Of the domain a place is in: the halves of domain d are 2 d and 2 d + 1.
    number = np.ones(count, np.int64)
    ranges = [(0, count)]
    while ranges:
        start, end = ranges.pop()
        if end - start > 1:
            middle = (start + end + 1) // 2
            number[start:middle] = 2 * number[start:middle]
            number[middle:end] = 2 * number[middle:end] + 1
            ranges += [(start, middle), (middle, end)]
    lines = ["deco", "0", f"{count} {int(number.max())}"]
    lines += [f"{place} 1 {domain}" for place, domain in enumerate(number.tolist())]
    lines += [" ".join(map(str, distance[place, :place].tolist())) for place in range(1, count)]
    return "\n".join(lines) + "\n"


def place(
    graph: hb.CommGraph, where: hb.Allocation, way: str, terminals: Int64 | None = None,
    target: str | None = None, options: Sequence[str] = (),
) -> Answer:
    """Run the program once; with `terminals` it may use these PEs only, with `target` on that machine.

    `options` follow those of the way.
    """
    gmap, target = program(), target or target_text(where, terminals)
    weights = graph.symmetric_positive()[2]
    total = int(weights.sum()) if weights is not None else graph.m
    divisor = -(-total * max(1, where.distance.largest) // gmap.largest)
    with tempfile.TemporaryDirectory() as folder:
        source, shape, out = (Path(folder) / name for name in ("task.grf", "machine.tgt", "found.map"))
        source.write_text(source_text(graph, max(1, divisor)))
        shape.write_text(target)
        command = [gmap.path, *map(str, (source, shape, out)), "-vt", *WAYS[way], *options]
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


def on_nodes(
    graph: hb.CommGraph, where: hb.Allocation, whole: hb.Allocation | None = None
) -> tuple[hb.Mapping, float]:
    """Groups of tasks onto the nodes of a network by Scotch, as LibTopoMap uses it.

    Tasks are cut into groups and, afterwards, placed inside their nodes by us.

    Parameters
    ----------
    whole : Allocation or None
        The network with one PE per node, of which the nodes in use are a part: a ``tleaf`` or grid target.
        None: a target of distances alone, from the hops between the nodes.

    Returns
    -------
    Mapping, float
        CPU seconds the program took, the mean of its runs.
    """
    problem, effort = formulate(graph, where, Request(partition=False)), Effort()
    grouped = cut(problem.graph, problem.where, problem.bounds, effort, settings_of(1, 4))
    used = np.unique(where.node_of_pe).astype(np.int64)
    if len(used) < 2:
        answers, place_of = [], grouped.start
    elif whole is not None:
        answers = both_ways(grouped.graph, whole, used)
        place_of = np.searchsorted(used, better_balanced(grouped.graph, whole, answers).pe)
    else:
        hops = np.maximum(levels_between(grouped.nodes).astype(np.int64), 1)
        target, nodes = table_text(hops), hb.Allocation.whole(Table(hops - np.diag(np.diag(hops))))
        answers = [place(grouped.graph, nodes, way, target=target) for way in WAYS]
        place_of = better_balanced(grouped.graph, nodes, answers).pe
    place_of = np.array(place_of, np.int64)
    # What it put twice on a node goes to the empty nodes in their order.
    _, first = np.unique(place_of, return_index=True)
    extra = np.setdiff1d(np.arange(len(place_of)), first)
    place_of[extra] = np.setdiff1d(np.arange(len(used)), place_of)[: len(extra)]
    pe = finish(problem.graph, grouped, place_of.astype(np.int32), problem.bounds, effort)
    outside = sum(each.cpu_seconds for each in answers) / max(1, len(answers))
    return hb.Mapping(problem.pes[pe].astype(np.int32), where), outside
