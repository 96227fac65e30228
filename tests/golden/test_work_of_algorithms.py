"""J and work of every algorithm on small problems, exact for a fixed seed on every computer.

Why golden: no other test notices a search that became weaker, or scans more, and still keeps its promises.
After a deliberate change: ``HOPBYTES_WRITE_GOLDEN=1 pytest tests/golden``, then read whether J or work rose.
"""

import warnings
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

import hopbytes as hb
from helpers.golden import compare
from helpers.machines import allocated
from hopbytes.algorithms.base import mappers, refiners
from hopbytes.cost.objectives.comm_cost import objectives
from hopbytes.kernels.base import USE_REFERENCE
from hopbytes.machines.kinds.table import Table
from hopbytes.solve.consecutive_ranks import map_for
from hopbytes.util.random_numbers import RandomNumbers

pytestmark = pytest.mark.skipif(USE_REFERENCE, reason="reference implementations count no work")
#: A line for each algorithm, with its answers in all cases, and for each call.
KNOWN = "algorithms.txt"
#: Machine, nodes of the job, tasks of a random pattern or the spec of one, and options.
CASES = {
    "tree": ("node:4@100 package:2@10 core:4@2", "", 32, {}),
    "uneven": ("node:3@20 core:[3,5,2]@1", "", 8, {}),
    "torus": ("torus:4x4x2@4:nodes=2 / core:2@1", "sfc:nodes=12:holes=0.3", "stencil:6x4", {}),
    "paths": ("fattree:4x3:up=1x2:route=spread@3 / core:2@1", "", 20, {}),
    "speeds": ("dragonfly:3x2x2:bw=1x4x2@2 / core:2@1", "", "butterfly:16", {}),
    "rails": ("rails:4x4:domain=2", "", "ml:tp=4,pp=2,dp=2,hidden=64,layers=4,seq=64,micro=2", {}),
    "loads": ("node:3@20 core:4@2", "", 150, {"partition": True, "imbalance": 0.1}),
    "capacities": ("node:2@9:cap=[1,2] core:3@1", "", 90, {"partition": True}),
    "placed": ("node:4@10 core:4@1", "", 16, {"constraints": {
        "fixed": {0: 5, 3: 1}, "forbidden": [(1, 0), (2, 9)], "initial": np.arange(16)[::-1],
        "migration_price": 30,
    }}),
    "moved": ("node:4@10 core:3@1", "", 100, {"partition": True, "constraints": {
        "initial": np.arange(100) % 12, "migration_price": 5, "forbidden": [(7, 0)],
    }}),
    "shared": ("mesh:3x3@4 / core:2@1", "", 25, {"partition": False, "oversubscribe": True}),
}  # fmt: skip
METHODS = [
    *mappers, "multisection:repetitions=3,recombinations=2,schedule=queue", "top_down:initial_partitions=1",
    "treematch:shapes=4", "treematch:virtual=true,list_up_to=10", "curve:order=snake",
    "multi_jagged:cuts=two", *(["random", name] for name in refiners), ["random", "tabu:descending=4"],
    ["random", "swap:chains=2,starts=3"],
    ["random", "routed:second_start=true,anneal=true,set_moves=true"], ["random", "umc:rule=paper"],
    ["random", "congestion:hop_percent=10"], ["random", "routed:hop_percent=10"],
    ["random", "routed:hop_percent=none,second_start=true"],
    ["random", "n_cd:d=2,order=pairs"], ["random", "evolve:steps=3"], "turbo", "fast", "eco",
]


def told(mapping):
    """Return J and what was counted."""
    info = mapping.info
    value = "" if info["objective_value"] == info["comm_cost"] else f" {info['objective_value']:.9g}"
    balance = "" if info["balance"] == "met" else ", relaxed"
    slots = f", {info['slots']} of {info.get('alternatives', {})}" if "slots" in info else ""
    work = ", ".join(f"{name} {count}" for name, count in info["work"].items() if name != "span")
    return f"J {info['comm_cost']}{value}{balance}{slots}{'; ' * bool(work)}{work}"


def attempted(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hb.HopbytesWarning)
        try:
            return told(function(*arguments, seed=3, threads=1, **options))
        except hb.HopbytesError as error:
            return type(error).__name__


def drawn(n, *, loads):
    """A random pattern, the same with every version of NumPy; half of its tasks have no load, one much."""
    rng = RandomNumbers(n)
    u, v, volumes, messages = (rng.words(3 * n) % np.uint64(most) for most in (n, n, 99, 4))
    chosen = (rng.words(n) % np.uint64(2) * (rng.words(n) % np.uint64(9) + np.uint64(1))).astype(int)
    chosen[n // 2] = 60
    return hb.CommGraph.from_edges(
        u.astype(int), v.astype(int), volumes.astype(int) + 1, messages.astype(int) + 1, n=n,
        loads=chosen if loads else None,
    )


def sides(name):
    machine, hosts, tasks, options = CASES[name]
    options = dict(options)
    where = allocated(machine, hosts, oversubscribe=options.pop("oversubscribe", False))
    graph = hb.read(tasks) if isinstance(tasks, str) else drawn(tasks, loads=name == "loads")
    if "constraints" in options:
        options["constraints"] = hb.Constraints(**options["constraints"])
    return graph, where, options


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_an_algorithm_finds_and_scans_what_it_did(method):
    found = []
    for name in CASES:
        graph, where, options = sides(name)
        found.append(f"{name} {attempted(hb.map_tasks, graph, where, method, **options)}")
    compare(KNOWN, {method if isinstance(method, str) else " ".join(method): " | ".join(found)})


def goals():
    for name in ("paths", "speeds", "torus"):
        graph, where, options = sides(name)
        preset = "fast" if name == "paths" else "eco"
        for goal in (*objectives, "auto"):
            found = attempted(hb.map_tasks, graph, where, preset, objective=goal, **options)
            yield f"{name} {goal}", found
        options = {"objective": "hybrid", "limits": hb.Limits(work=200_000)}
        yield f"{name} strong", attempted(hb.map_tasks, graph, where, "strong", **options)


def tables():
    """Distances that differ by direction, and their sums; volumes that do, and an undirected pattern."""
    pes = np.arange(12)
    apart = ((pes[:, None] * 7 + pes * 3) % 11 + 1) * (pes[:, None] != pes)
    for table, tasks in product((apart, apart + apart.T), (12, 60)):
        graph, where = drawn(tasks, loads=False), hb.Allocation.whole(Table(table))
        call = partial(attempted, hb.map_tasks, partition=tasks > 12)
        for method in ("multisection", "random swap", "random vcycle", "random tabu", "greedy_all_c", "eco"):
            yield f"{table.max()} {tasks} {method}", call(graph, where, method.split())
        csr = graph.symmetric()
        both = hb.CommGraph(csr.indptr, csr.targets, csr.weights, undirected=True)
        yield f"{table.max()} {tasks} undirected", call(both, where, "fast")
        priced = hb.Constraints(initial=np.arange(tasks)[::-1] % 12, migration_price=7, forbidden=[(0, 4)])
        yield f"{table.max()} {tasks} priced", call(graph, where, "fast", constraints=priced)


def networks():
    """Partitions: tasks with loads, and ten equal ones on every PE."""
    specs = ("torus:4x3@5 / core:2@1", "dragonfly:3x2x2:bw=1x4x2@2 / core:2@1")
    several = ("place_blocks:chains=1", "vcycle:annealing_sweeps=40", "evolve:steps=2")
    for spec, loads in product(specs, (False, True)):
        where, options = hb.allocate(spec), {"partition": True, "imbalance": 0.1 if loads else 0}
        graph = drawn(10 * where.k, loads=loads)
        for method in (*(["random", each] for each in several), "eco"):
            yield f"{spec} {loads} {method}", attempted(hb.map_tasks, graph, where, method, **options)


def weights():
    tree = "node:4@9:lat=1e-6:bw=1e9 core:4@1:lat=1e-7:bw=1e10"
    for spec in (tree, "torus:4x2:lat=1e-6:bw=1e9 / core:2@1:lat=1e-7:bw=9e9"):
        call = partial(attempted, hb.map_tasks, drawn(16, loads=False), spec)
        for weight in ("messages", "unit", "time"):
            yield f"{spec} {weight}", call("eco", weight=weight)
        for preset, work in (("eco", 0), ("strong", 30_000), ("best", 400_000), ("routed", 300_000)):
            yield f"{spec} {preset}", call(preset, limits=hb.Limits(work=work))


def launchers():
    for name in ("tree", "uneven", "rails"):
        graph, where, _ = sides(name)
        for form, block in (("hosts", None), ("hydra", None), ("torchrun", None), ("openmpi", 2)):
            yield f"{name} {form}", attempted(map_for, graph, where, form, block=block, method="fast")


def phases():
    graphs = [drawn(16, loads=False), hb.read("stencil:4x4:bytes=70"), hb.read("transpose:4x4:bytes=90")]
    call = partial(attempted, hb.map_phases, graphs, "node:4@100 package:2@10 core:2@2", "fast")
    for goal in ("sum", "max"):
        for limits in (None, hb.Limits(work=9000)):
            yield f"{goal} {limits is None}", call(weights=[3, 0.5, 1], goal=goal, limits=limits)


def streams():
    with TemporaryDirectory() as folder:
        yield from streamed(Path(folder) / "a.parhip")


def streamed(path):
    for machine in ("node:3@20 core:4@2", "island:2@50 node:2@20 core:[2,3,1,2]@2"):
        graph = drawn(400, loads="island" not in machine)
        csr = graph.symmetric()
        both = hb.CommGraph(csr.indptr, csr.targets, csr.weights, loads=graph.loads, undirected=True)
        hb.write(both, path)
        for buffer, passes in ((0, 1), (0, 3), (150, 2), (5000, 1)):
            found = attempted(hb.map_stream, path, machine, buffer=buffer, passes=passes)
            yield f"{machine} {buffer} {passes}", found


def changes():
    graph, start = drawn(120, loads=True), np.arange(120) % 12
    much = {"work_per_change": 20, "saved_per_change": 60_000}
    for options in ({}, {"most_moves": 2}, {"migration_price": 40}, much):
        remapper = hb.Remapper(graph, "node:3@20 core:4@2", start, imbalance="20%", seed=3, **options)
        for step in range(5):
            near = [(task, (task * 7 + step) % 120, task % 50) for task in range(step, 120, 3)]
            report = remapper.apply(
                edges=[edge for edge in near if edge[0] != edge[1]], loads={step: 5, step + 9: 0},
                arrived=[120 + step], lost=[step], restored=[step - 1] if step else [],
            )
            yield f"{options} {step}", f"{report!r}, {report.forced} forced, {report.repair_work} for repairs"


def arrays():
    for loads, preset in product((False, True), ("turbo", "fast")):
        graph = drawn(300, loads=loads)
        for machine in ("node:3@20 core:4@2", "torus:3x2 / core:2"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", hb.HopbytesWarning)
                found = hb.map_arrays(
                    graph.indptr, graph.targets, machine, volumes=graph.volumes, loads=graph.loads,
                    preset=preset, threads=1, seed=3,
                )
            yield f"{machine} {preset} {loads}", f"J {found.comm_cost}, {found.largest_load} of {found.bound}"


CALLS = (goals, tables, networks, weights, launchers, phases, streams, changes, arrays)


@pytest.mark.parametrize("calls", CALLS)
def test_calls_find_and_scan_what_they_did(calls):
    compare(KNOWN, {f"{calls.__name__} {name}": line for name, line in calls()})
