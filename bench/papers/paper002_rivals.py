"""What ``paper002.py`` sets beside each other: how every algorithm places one case."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import hopbytes as hb
import hopbytes_laboratory
from bench.rivals import ompi_treematch, scotch_gmap

#: The algorithm as the paper prints it. Its authors' program also credits ranks in order with 0.1 %.
OURS = "treematch"
#: Mappers and presets, and whether nodes are filled, by names of rows.
#: MPIPP of the paper exchanges the cores of two processes and starts
#: at random: anywhere on the machine, or on the densest cores; ours may also move to free cores. Passes are
#: those of the original, which go through losses.
MAPPED: dict[str, tuple[str, bool]] = {
    OURS: ("treematch:credit=0", False),
    "treematch, credit": ("treematch", False),
    "treematch, shapes": ("treematch:credit=0,shapes=16", False),
    "mpipp.1": ("mpipp:starts=1,free=no", False),
    "mpipp.5": ("mpipp:starts=5,free=no", False),
    "mpipp.1, passes": ("mpipp:starts=1,free=no,passes=yes", False),
    "mpipp.5, passes": ("mpipp:starts=5,free=no,passes=yes", False),
    "mpipp.1, free cores too": ("mpipp:starts=1", False),
    "mpipp.5, free cores too": ("mpipp:starts=5", False),
    "mpipp.1, packed cores": ("mpipp:starts=1", True),
    "mpipp.5, packed cores": ("mpipp:starts=5", True),
    "packed": ("identity", True),
    "eco": ("eco", True),
    "strong": ("strong", True),
    "strong, spread": ("strong", False),
}
SHAPES = "treematch, shapes"
STRONG_THERE = {OURS: "strong, treematch's cores", SHAPES: "strong, cores of shapes"}
BY_CORE, BY_NODE = "round robin by core", "round robin by node"
SCOTCH, SCOTCH_PACKED = "scotch_gmap", "scotch_gmap, packed cores"
#: Kinds of cases on machines of the samples.
SAMPLED = ("recorded", "elsewhere", "synthetic")
HIDDEN = "hidden tree"
OPEN_MPI = "Open MPI treematch"


@dataclass(frozen=True)
class Case:
    """One pattern on one machine; `kind` says which rows it gets."""

    kind: str
    pattern: str
    machine: str


@dataclass(frozen=True)
class Row:
    """What an algorithm did: its J, CPU seconds of one thread, and counters."""

    algorithm: str
    comm_cost: int
    seconds: float
    work: dict[str, int]


def rows(case: Case, graph: hb.CommGraph, where: hb.Allocation, samples: Path) -> Iterator[Row]:
    """Place one case by everything there is for it."""
    hopbytes_laboratory.register()
    chosen: dict[str, hb.Mapping] = {}
    for name, (method, pack) in MAPPED.items():
        yield _timed(name, graph, lambda: chosen.setdefault(name, _mapped(graph, where, method, pack)))  # noqa: B023
    for mapper, name in STRONG_THERE.items():
        slots = np.sort(chosen[mapper].pe).astype(np.int64)
        yield _timed(name, graph, lambda: _within(graph, where, slots))  # noqa: B023
    if case.kind in SAMPLED:
        yield _timed(BY_CORE, graph, lambda: by_core(graph, where))
        yield _timed(BY_NODE, graph, lambda: by_node(graph, where))
    packed = None if graph.n == where.k else np.arange(graph.n)
    yield from _scotch(graph, where, packed)
    if case.kind == "published":
        for path in published(case, samples):
            yield _timed(f"MapLib {path.stem.rpartition('_')[2]}", graph, lambda: read_maplib(path, where))  # noqa: B023
    if case.kind == "fitting":
        plain = hb.read(f"{case.pattern}:shuffle=no")
        yield _timed(HIDDEN, plain, lambda: _mapped(plain, where, "identity"))
    if case.kind == "host":
        yield _timed(OPEN_MPI, graph, lambda: _placed(ompi_treematch.place(graph), where))


def mapped_row(name: str, graph: hb.CommGraph, where: hb.Allocation) -> Row:
    """Place one case by one of :data:`MAPPED`."""
    return _timed(name, graph, lambda: _mapped(graph, where, *MAPPED[name]))


def _timed(name: str, graph: hb.CommGraph, place: Callable[[], hb.Mapping]) -> Row:
    began = time.process_time()
    mapping = place()
    seconds = time.process_time() - began
    return Row(name, cost(graph, mapping), seconds, mapping.info.get("work", {}))


def cost(graph: hb.CommGraph, mapping: hb.Mapping) -> int:
    """J of a placement: simulated run time, sum of volume x distance."""
    return int(hb.evaluate(graph, mapping, baselines=False).mapping.comm_cost)


def _mapped(graph: hb.CommGraph, where: hb.Allocation, method: str, pack: bool = False) -> hb.Mapping:
    return hb.map_tasks(graph, hb.allocate(where, pack=pack), method, threads=1)


def _placed(pe: np.ndarray, where: hb.Allocation) -> hb.Mapping:
    return hb.Mapping(pe.astype(np.int32), where, {})


def _within(graph: hb.CommGraph, where: hb.Allocation, slots: np.ndarray) -> hb.Mapping:
    inner = hb.map_tasks(graph, where.select(slots), "strong", threads=1)
    return hb.Mapping(slots[inner.pe].astype(np.int32), where, inner.info)


def by_core(graph: hb.CommGraph, where: hb.Allocation) -> hb.Mapping:
    """Process i on the core that the operating system numbers i."""
    first = [min(where.os_pus(pe) or (pe,)) for pe in range(where.k)]
    return _placed(np.argsort(first, kind="stable")[: graph.n], where)


def by_node(graph: hb.CommGraph, where: hb.Allocation) -> hb.Mapping:
    """Process i on the next free core of the outermost unit i mod units: package or NUMA node."""
    unit = where.groups()[0]
    start = np.searchsorted(unit, unit)  # units are consecutive
    turn = np.arange(where.k) - start
    return _placed(np.lexsort((unit, turn))[: graph.n], where)


def _scotch(graph: hb.CommGraph, where: hb.Allocation, packed: np.ndarray | None) -> Iterator[Row]:
    try:
        scotch_gmap.program()
    except scotch_gmap.AbsentError:
        return
    wanted = {SCOTCH: None} if packed is None else {SCOTCH: None, SCOTCH_PACKED: packed}
    for name, terminals in wanted.items():
        answers = scotch_gmap.both_ways(graph, where, terminals)
        best = scotch_gmap.better_balanced(graph, where, answers)
        yield Row(name, cost(graph, _placed(best.pe, where)), best.cpu_seconds, {"fullest": best.most})


def published(case: Case, samples: Path) -> list[Path]:
    """Return the published mappings of a pattern on a grid such as ``torus:4x4x4``."""
    program = Path(case.pattern).name.partition("_")[0]
    shape = case.machine.replace(":", "_")
    return sorted((samples / "maplib" / "mappings").glob(f"{program}_{shape}_*.csv"))


def read_maplib(path: Path, where: hb.Allocation) -> hb.Mapping:
    """Read a mapping of MapLib onto a grid of single cores: x, y, z, number of processes, their numbers."""
    with path.open(newline="") as file:
        next(file)  # the name of the algorithm
        lines = csv.reader(file, delimiter=" ")
        next(lines)
        found = [[int(word) for word in line if word] for line in lines if line]
    sizes = tuple(int(word) for word in where.machine.spec().partition("@")[0].partition(":")[2].split("x"))
    pe = np.full(sum(line[3] for line in found), -1, np.int64)
    for line in found:
        pe[line[4 : 4 + line[3]]] = np.ravel_multi_index(tuple(line[:3]), sizes)
    if len(pe) != where.k or sorted(pe.tolist()) != list(range(where.k)):
        raise ValueError(f"{path}: not one process on each of {where.k} places")
    return _placed(pe, where)
